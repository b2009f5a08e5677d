#include "storage/internal/rocksdb_env.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "rocksdb/file_system.h"
#include "rocksdb/system_clock.h"
#include "storage/internal/table_check.h"

namespace freshet::storage {
namespace {

int64_t NotBefore1970(int64_t time) { return std::max<int64_t>(time, 0); }

class ClockSince1970 final : public rocksdb::SystemClockWrapper {
 public:
  using SystemClockWrapper::SystemClockWrapper;
  [[nodiscard]] const char* Name() const override { return "FreshetClockSince1970"; }
  uint64_t NowMicros() override {
    return static_cast<uint64_t>(NotBefore1970(static_cast<int64_t>(target_->NowMicros())));
  }
  rocksdb::Status GetCurrentTime(int64_t* seconds) override {
    const rocksdb::Status status = target_->GetCurrentTime(seconds);
    if (status.ok()) *seconds = NotBefore1970(*seconds);
    return status;
  }
};

// Refuses to open tables that would make RocksDB end the process.
class CheckedTables final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  [[nodiscard]] const char* Name() const override { return "FreshetCheckedTables"; }
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* dbg) override {
    std::unique_ptr<rocksdb::FSRandomAccessFile> opened;
    rocksdb::IOStatus status = target()->NewRandomAccessFile(path, options, &opened, dbg);
    if (status.ok() && path.ends_with(".sst")) {
      uint64_t bytes = 0;
      status = target()->GetFileSize(path, options.io_options, &bytes, dbg);
      if (status.ok()) status = CheckTable(path, *opened, bytes);
    }
    if (status.ok()) *file = std::move(opened);
    return status;
  }
};

class EnvOfStores final : public rocksdb::EnvWrapper {
 public:
  EnvOfStores() : EnvWrapper(rocksdb::Env::Default()) {
    file_system_ = std::make_shared<CheckedTables>(rocksdb::FileSystem::Default());
    system_clock_ = std::make_shared<ClockSince1970>(rocksdb::SystemClock::Default());
  }
  [[nodiscard]] const char* Name() const override { return "FreshetEnvOfStores"; }
  uint64_t NowMicros() override { return system_clock_->NowMicros(); }
  rocksdb::Status GetCurrentTime(int64_t* seconds) override {
    return system_clock_->GetCurrentTime(seconds);
  }
};

}  // namespace

rocksdb::Env* RocksDbEnv(const StoreOptions& options) {
  static EnvOfStores env;
  return options.env != nullptr ? options.env : &env;
}

}  // namespace freshet::storage
