#include "storage/internal/watched_env.h"

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "rocksdb/file_system.h"

namespace freshet::storage {
namespace {

using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// RocksDB recognizes only ENOSPC as a lack of space. An exceeded quota has a different error
// number.
IOStatus NamedFull(IOStatus status) {
  if (!status.IsIOError() || status.IsNoSpace()) return status;
  const std::string text = status.ToString();
  if (text.find(std::generic_category().message(EDQUOT)) == std::string::npos) return status;
  IOStatus full = IOStatus::NoSpace(text);
  full.SetRetryable(status.GetRetryable());
  return full;
}

// Thread-compatible, as RocksDB uses it.
class WatchedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WatchedFile(std::unique_ptr<FSWritableFile> file, std::shared_ptr<WriteCounts> counts)
      : FSWritableFileOwnerWrapper(std::move(file)), counts_(std::move(counts)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* dbg) override {
    return Count([&] { return target()->Append(data, options, dbg); });
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& verification, IODebugContext* dbg) override {
    return Count([&] { return target()->Append(data, options, verification, dbg); });
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override {
    return Count([&] { return target()->Sync(options, dbg); });
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    return Count([&] { return target()->Fsync(options, dbg); });
  }
  IOStatus RangeSync(uint64_t offset, uint64_t size, const IOOptions& options,
                     IODebugContext* dbg) override {
    return Count([&] { return target()->RangeSync(offset, size, options, dbg); });
  }

 private:
  template <typename Operation>
  IOStatus Count(Operation operation) {
    ++counts_->begun;
    IOStatus status = operation();
    ++counts_->ended;
    return NamedFull(std::move(status));
  }

  const std::shared_ptr<WriteCounts> counts_;
};

class WatchedFiles final : public rocksdb::FileSystemWrapper {
 public:
  WatchedFiles(const std::shared_ptr<rocksdb::FileSystem>& base,
               std::shared_ptr<WriteCounts> counts)
      : FileSystemWrapper(base), counts_(std::move(counts)) {}
  [[nodiscard]] const char* Name() const override { return "FreshetWatchedFiles"; }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file, IODebugContext* dbg) override {
    return Watch(target()->NewWritableFile(path, options, file, dbg), file);
  }
  IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                              std::unique_ptr<FSWritableFile>* file, IODebugContext* dbg) override {
    return Watch(target()->ReopenWritableFile(path, options, file, dbg), file);
  }
  IOStatus ReuseWritableFile(const std::string& path, const std::string& old,
                             const rocksdb::FileOptions& options,
                             std::unique_ptr<FSWritableFile>* file, IODebugContext* dbg) override {
    return Watch(target()->ReuseWritableFile(path, old, options, file, dbg), file);
  }

 private:
  IOStatus Watch(IOStatus status, std::unique_ptr<FSWritableFile>* file) const {
    if (status.ok()) *file = std::make_unique<WatchedFile>(std::move(*file), counts_);
    return NamedFull(std::move(status));
  }

  const std::shared_ptr<WriteCounts> counts_;
};

class WatchedEnv final : public rocksdb::EnvWrapper {
 public:
  WatchedEnv(rocksdb::Env* base, std::shared_ptr<WriteCounts> counts) : EnvWrapper(base) {
    file_system_ = std::make_shared<WatchedFiles>(base->GetFileSystem(), std::move(counts));
    system_clock_ = base->GetSystemClock();
  }
  [[nodiscard]] const char* Name() const override { return "FreshetWatchedEnv"; }
};

}  // namespace

std::unique_ptr<rocksdb::Env> WatchWrites(rocksdb::Env* base, std::shared_ptr<WriteCounts> counts) {
  return std::make_unique<WatchedEnv>(base, std::move(counts));
}

}  // namespace freshet::storage
