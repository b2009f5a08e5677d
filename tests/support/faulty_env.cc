#include "tests/support/faulty_env.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/random.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/system_clock.h"
#include "sync/mutex.h"

namespace freshet {

using rocksdb::FileOptions;
using rocksdb::FSDirectory;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

constexpr uint64_t kNever = 0;
constexpr uint64_t kUnlimited = UINT64_MAX;

bool IsLog(const std::string& path) { return path.ends_with(".log"); }
bool IsOptions(const std::string& path) { return path.find("/OPTIONS-") != std::string::npos; }

std::string ParentOf(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

std::string Contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// After a failed flush, RocksDB sleeps for a second. This clock does not, because waiting does not
// help here.
class ImpatientClock : public rocksdb::SystemClockWrapper {
 public:
  ImpatientClock() : SystemClockWrapper(rocksdb::SystemClock::Default()) {}
  [[nodiscard]] const char* Name() const override { return "ImpatientClock"; }
  void SleepForMicroseconds(int) override {}
};

// Combines RocksDB's default threads with our file system and clock.
class ComposedEnv : public rocksdb::EnvWrapper {
 public:
  explicit ComposedEnv(const std::shared_ptr<rocksdb::FileSystem>& file_system)
      : EnvWrapper(rocksdb::NewCompositeEnv(file_system)) {
    system_clock_ = std::make_shared<ImpatientClock>();
  }
};

// A fault at the n-th event of its kind. Value type, thread-compatible.
class Countdown {
 public:
  void Set(uint64_t n) { left_ = n; }
  // Counts one event. Returns true at the n-th.
  bool Strike() { return left_ != kNever && --left_ == 0; }

 private:
  uint64_t left_ = kNever;
};

}  // namespace

// All files and faults. Thread-safe.
class FaultyEnv::Disk : public rocksdb::FileSystemWrapper {
 public:
  explicit Disk(uint64_t seed) : FileSystemWrapper(rocksdb::FileSystem::Default()), random_(seed) {}
  [[nodiscard]] const char* Name() const override { return "FaultyEnv"; }

  // --- Faults ---
  template <typename Function>
  auto Locked(Function function) const {
    const MutexLock lock(mutex_);
    return function();
  }
  void ClearFaults() {
    die_ = fail_ = run_out_ = fail_log_sync_ = fail_log_append_ = Countdown();
    free_bytes_ = kUnlimited;
    free_hidden_ = says_quota_ = false;
    dead_ = fired_ = false;
  }
  void Crash();

  // --- What files do ---
  IOStatus Append(const std::string& path, FSWritableFile* file, const Slice& data,
                  const IOOptions& options, IODebugContext* dbg);
  IOStatus Sync(const std::string& path);
  IOStatus SyncDirectory(const std::string& dir);
  // A truncation is durable at once. To undo it in a crash would test nothing more, because the
  // store would only repeat it.
  IOStatus Truncate(const std::string& path, FSWritableFile* file, uint64_t size,
                    const IOOptions& options, IODebugContext* dbg);

  // --- FileSystem ---
  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) override;
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<FSWritableFile>* result,
                              IODebugContext* dbg) override;
  IOStatus NewDirectory(const std::string& name, const IOOptions& options,
                        std::unique_ptr<FSDirectory>* result, IODebugContext* dbg) override;
  IOStatus DeleteFile(const std::string& path, const IOOptions& options,
                      IODebugContext* dbg) override;
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* dbg) override;
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                    IODebugContext* dbg) override;
  IOStatus GetFreeSpace(const std::string& path, const IOOptions& options, uint64_t* bytes,
                        IODebugContext* dbg) override;

  mutable Mutex mutex_;
  // All fields below are guarded by mutex_.
  Random random_;
  uint64_t operations_ = 0;
  uint64_t log_syncs_ = 0;
  Countdown die_;
  Countdown fail_;
  Countdown run_out_;
  Countdown fail_log_sync_;
  Countdown fail_log_append_;
  uint64_t free_bytes_ = kUnlimited;
  bool free_hidden_ = false;
  bool says_quota_ = false;
  bool dead_ = false;
  bool fired_ = false;
  bool hanging_ = false;
  Condition goes_on_;   // signalled when operations no longer hang
  size_t waiting_ = 0;  // hanging operations
  std::function<void()> on_log_sync_;

 private:
  struct FileState {
    uint64_t size = 0;
    uint64_t durable = 0;
    bool sync_failed = false;  // once set, no sync makes anything durable
  };
  // A directory entry that is not durable yet, and the data that is needed to undo it.
  struct Entry {
    std::string path;                     // path at its creation
    std::string now;                      // path after later renames
    std::string renamed_from;             // "" = created or linked
    std::optional<std::string> replaced;  // previous content of a replaced file
  };

  // Counts one operation. Returns an error if the operation must fail.
  IOStatus Begin(const std::string& what) FRESHET_REQUIRES(mutex_) {
    ++waiting_;
    while (hanging_) goes_on_.Wait(mutex_);
    --waiting_;
    ++operations_;
    if (!dead_ && die_.Strike()) dead_ = fired_ = true;
    if (dead_) return IOStatus::IOError("injected: machine is dead", what);
    if (run_out_.Strike()) {
      fired_ = free_hidden_ = true;
      free_bytes_ = 0;
    }
    if (fail_.Strike()) {
      fired_ = true;
      return IOStatus::IOError("injected: operation failed", what);
    }
    return IOStatus::OK();
  }
  IOStatus Opened(const std::string& path, std::unique_ptr<FSWritableFile> file,
                  std::unique_ptr<FSWritableFile>* result);

  std::map<std::string, FileState> files_;
  std::vector<Entry> entries_;
};

// A file whose writes can fail. Thread-compatible, as RocksDB uses it.
class FaultyEnv::File : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  File(Disk* disk, std::string path, std::unique_ptr<FSWritableFile> file)
      : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk), path_(std::move(path)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* dbg) override {
    return disk_->Append(path_, target(), data, options, dbg);
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* dbg) override {
    return disk_->Append(path_, target(), data, options, dbg);
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* dbg) override {
    return disk_->Truncate(path_, target(), size, options, dbg);
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return disk_->Sync(path_); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return disk_->Sync(path_); }
  IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }
  IOStatus Allocate(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }
  void PrepareWrite(size_t, size_t, const IOOptions&, IODebugContext*) override {}

 private:
  Disk* const disk_;
  const std::string path_;
};

// A directory whose syncs can fail. Thread-compatible, as RocksDB uses it.
class FaultyEnv::Directory : public FSDirectory {
 public:
  Directory(Disk* disk, std::string path) : disk_(disk), path_(std::move(path)) {}
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return disk_->SyncDirectory(path_); }

 private:
  Disk* const disk_;
  const std::string path_;
};

IOStatus FaultyEnv::Disk::Append(const std::string& path, FSWritableFile* file, const Slice& data,
                                 const IOOptions& options, IODebugContext* dbg) {
  const MutexLock lock(mutex_);
  const bool was_dead = dead_;
  IOStatus verdict = Begin(path);
  if (verdict.ok() && IsLog(path) && fail_log_append_.Strike()) {
    fired_ = true;
    verdict = IOStatus::IOError("injected: append failed", path);
  }
  size_t part = verdict.ok() ? data.size() : was_dead ? 0 : random_.Below(data.size() + 1);
  if (verdict.ok() && part > free_bytes_) {
    part = free_bytes_;
    verdict = says_quota_ ? IOStatus::IOError(path, std::generic_category().message(EDQUOT))
                          : IOStatus::NoSpace("injected: device is full", path);
  }
  if (free_bytes_ != kUnlimited) free_bytes_ -= std::min<uint64_t>(part, free_bytes_);
  const IOStatus written = file->Append(Slice(data.data(), part), options, dbg);
  if (!written.ok()) return written;
  files_[path].size += part;
  return verdict;
}

IOStatus FaultyEnv::Disk::Sync(const std::string& path) {
  std::function<void()> hook;
  if (IsLog(path)) hook = Locked([&] { return on_log_sync_; });
  if (hook) hook();
  const MutexLock lock(mutex_);
  IOStatus verdict = Begin(path);
  if (IsLog(path)) {
    ++log_syncs_;
    if (verdict.ok() && fail_log_sync_.Strike()) {
      fired_ = true;
      verdict = IOStatus::IOError("injected: sync failed", path);
    }
  }
  const auto it = files_.find(path);
  if (it == files_.end()) return verdict;  // written before the last crash, so durable as it is
  if (!verdict.ok()) it->second.sync_failed = true;
  if (!it->second.sync_failed) it->second.durable = it->second.size;
  return verdict;
}

IOStatus FaultyEnv::Disk::SyncDirectory(const std::string& dir) {
  const MutexLock lock(mutex_);
  const IOStatus verdict = Begin(dir);
  if (verdict.ok()) std::erase_if(entries_, [&](const Entry& e) { return ParentOf(e.now) == dir; });
  return verdict;
}

IOStatus FaultyEnv::Disk::Truncate(const std::string& path, FSWritableFile* file, uint64_t size,
                                   const IOOptions& options, IODebugContext* dbg) {
  const MutexLock lock(mutex_);
  IOStatus status = Begin(path);
  if (status.ok()) status = file->Truncate(size, options, dbg);
  if (!status.ok()) return status;
  const auto it = files_.find(path);
  if (it != files_.end()) {
    it->second.size = size;
    it->second.durable = std::min(it->second.durable, size);
  }
  return status;
}

IOStatus FaultyEnv::Disk::Opened(const std::string& path, std::unique_ptr<FSWritableFile> file,
                                 std::unique_ptr<FSWritableFile>* result) {
  *result = std::make_unique<File>(this, path, std::move(file));
  return IOStatus::OK();
}

IOStatus FaultyEnv::Disk::NewWritableFile(const std::string& path, const FileOptions& options,
                                          std::unique_ptr<FSWritableFile>* result,
                                          IODebugContext* dbg) {
  if (IsOptions(path)) return IOStatus::NotSupported("no option files", path);
  const MutexLock lock(mutex_);
  IOStatus status = Begin(path);
  std::unique_ptr<FSWritableFile> file;
  if (status.ok()) status = target()->NewWritableFile(path, options, &file, dbg);
  if (!status.ok()) return status;
  files_[path] = FileState();
  entries_.push_back({.path = path, .now = path, .renamed_from = {}, .replaced = {}});
  return Opened(path, std::move(file), result);
}

IOStatus FaultyEnv::Disk::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                             std::unique_ptr<FSWritableFile>* result,
                                             IODebugContext* dbg) {
  const MutexLock lock(mutex_);
  IOStatus status = Begin(path);
  std::unique_ptr<FSWritableFile> file;
  if (status.ok()) status = target()->ReopenWritableFile(path, options, &file, dbg);
  if (!status.ok()) return status;
  return Opened(path, std::move(file), result);
}

IOStatus FaultyEnv::Disk::NewDirectory(const std::string& name, const IOOptions&,
                                       std::unique_ptr<FSDirectory>* result, IODebugContext*) {
  // RocksDB names a directory with and without a slash at the end.
  std::string path = name;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  *result = std::make_unique<Directory>(this, path);
  return IOStatus::OK();
}

IOStatus FaultyEnv::Disk::DeleteFile(const std::string& path, const IOOptions& options,
                                     IODebugContext* dbg) {
  const MutexLock lock(mutex_);
  IOStatus status = Begin(path);
  if (status.ok()) status = target()->DeleteFile(path, options, dbg);
  if (!status.ok()) return status;
  files_.erase(path);
  std::erase_if(entries_, [&](const Entry& e) { return e.now == path; });
  return status;
}

IOStatus FaultyEnv::Disk::RenameFile(const std::string& from, const std::string& to,
                                     const IOOptions& options, IODebugContext* dbg) {
  const MutexLock lock(mutex_);
  IOStatus status = Begin(to);
  if (!status.ok()) return status;
  Entry entry{.path = to, .now = to, .renamed_from = from, .replaced = {}};
  if (std::filesystem::is_regular_file(to)) entry.replaced = Contents(to);
  status = target()->RenameFile(from, to, options, dbg);
  if (!status.ok()) return status;
  // Entries and files below a renamed directory move with it.
  for (Entry& e : entries_) {
    if (e.now == from || e.now.starts_with(from + "/")) e.now.replace(0, from.size(), to);
  }
  std::map<std::string, FileState> moved;
  for (auto& [path, state] : files_) {
    const bool below = path == from || path.starts_with(from + "/");
    moved[below ? to + path.substr(from.size()) : path] = state;
  }
  files_ = std::move(moved);
  entries_.push_back(std::move(entry));
  return status;
}

IOStatus FaultyEnv::Disk::LinkFile(const std::string& from, const std::string& to,
                                   const IOOptions& options, IODebugContext* dbg) {
  const MutexLock lock(mutex_);
  IOStatus status = Begin(to);
  if (status.ok()) status = target()->LinkFile(from, to, options, dbg);
  if (!status.ok()) return status;
  const auto it = files_.find(from);
  if (it != files_.end()) files_[to] = it->second;
  entries_.push_back({.path = to, .now = to, .renamed_from = {}, .replaced = {}});
  return status;
}

IOStatus FaultyEnv::Disk::GetFreeSpace(const std::string& path, const IOOptions& options,
                                       uint64_t* bytes, IODebugContext* dbg) {
  const MutexLock lock(mutex_);
  if (free_bytes_ == kUnlimited || free_hidden_)
    return target()->GetFreeSpace(path, options, bytes, dbg);
  *bytes = free_bytes_;
  return IOStatus::OK();
}

void FaultyEnv::Disk::Crash() {
  const MutexLock lock(mutex_);
  for (const auto& [path, state] : files_) {
    if (state.durable >= state.size || !std::filesystem::exists(path)) continue;
    const uint64_t kept = state.durable + random_.Below(state.size - state.durable + 1);
    std::filesystem::resize_file(path, kept);
  }
  // Undoes directory entries, the newest first.
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (!std::filesystem::exists(entry->path)) continue;
    if (entry->renamed_from.empty()) {
      std::filesystem::remove_all(entry->path);
      continue;
    }
    std::filesystem::rename(entry->path, entry->renamed_from);
    if (entry->replaced) std::ofstream(entry->path, std::ios::binary) << *entry->replaced;
  }
  files_.clear();
  entries_.clear();
  ClearFaults();
}

FaultyEnv::FaultyEnv(uint64_t seed)
    : disk_(std::make_shared<Disk>(seed)), env_(std::make_unique<ComposedEnv>(disk_)) {}
FaultyEnv::~FaultyEnv() = default;

rocksdb::Env* FaultyEnv::env() { return env_.get(); }
uint64_t FaultyEnv::operations() const {
  return disk_->Locked([&] { return disk_->operations_; });
}
uint64_t FaultyEnv::log_syncs() const {
  return disk_->Locked([&] { return disk_->log_syncs_; });
}
void FaultyEnv::DieAt(uint64_t n) {
  disk_->Locked([&] { disk_->die_.Set(n); });
}
void FaultyEnv::FailAt(uint64_t n) {
  disk_->Locked([&] { disk_->fail_.Set(n); });
}
void FaultyEnv::FailLogSyncAt(uint64_t n) {
  disk_->Locked([&] { disk_->fail_log_sync_.Set(n); });
}
void FaultyEnv::FailLogAppendAt(uint64_t n) {
  disk_->Locked([&] { disk_->fail_log_append_.Set(n); });
}
void FaultyEnv::SetFreeBytes(uint64_t bytes) {
  disk_->Locked([&] { disk_->free_bytes_ = bytes; });
}
void FaultyEnv::RunOutAt(uint64_t n) {
  disk_->Locked([&] { disk_->run_out_.Set(n); });
}
void FaultyEnv::SayQuota(bool quota) {
  disk_->Locked([&] { disk_->says_quota_ = quota; });
}
void FaultyEnv::HideFreeBytes(bool hidden) {
  disk_->Locked([&] { disk_->free_hidden_ = hidden; });
}
void FaultyEnv::SetHanging(bool hanging) {
  disk_->Locked([&] { disk_->hanging_ = hanging; });
  disk_->goes_on_.NotifyAll();
}
size_t FaultyEnv::hanging() const {
  return disk_->Locked([&] { return disk_->waiting_; });
}
void FaultyEnv::ClearFaults() {
  disk_->Locked([&] { disk_->ClearFaults(); });
}
bool FaultyEnv::fired() const {
  return disk_->Locked([&] { return disk_->fired_; });
}
void FaultyEnv::OnLogSync(std::function<void()> hook) {
  disk_->Locked([&] { disk_->on_log_sync_ = std::move(hook); });
}
void FaultyEnv::Crash() { disk_->Crash(); }

}  // namespace freshet
