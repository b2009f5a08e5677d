// Observes failures outside of commits, and resumes writing after the device was full. Internal to
// storage/.
#ifndef FRESHET_STORAGE_INTERNAL_WRITE_LISTENER_H_
#define FRESHET_STORAGE_INTERNAL_WRITE_LISTENER_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/listener.h"

namespace freshet::storage {

// Remembers failures in RocksDB outside of commits. Thread-safe.
class WriteListener final : public rocksdb::EventListener {
 public:
  // Returns true if a sync of a log failed. If so, the content of the device is unknown, even if
  // the device was only full.
  [[nodiscard]] bool sync_failed() const { return sync_failed_; }
  // Returns true if a failure occurred that free space cannot fix.
  [[nodiscard]] bool background_failed() const { return background_failed_; }

  bool ShouldBeNotifiedOnFileIO() override { return true; }
  void OnIOError(const rocksdb::IOErrorInfo& info) override {
    using rocksdb::FileOperationType;
    const bool sync = info.operation == FileOperationType::kSync ||
                      info.operation == FileOperationType::kFsync ||
                      info.operation == FileOperationType::kRangeSync;
    if (sync && info.file_path.ends_with(".log")) sync_failed_ = true;
  }
  // Prevents RocksDB's automatic recovery, because RocksDB refuses Resume during that recovery.
  // Commits call Resume when needed.
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }
  // Lowers the severity of errors that RocksDB calls fatal although it can recover from them.
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* status) override {
    const bool passes = status->IsNoSpace() || resumes_;
    if (!resumes_) (passes ? ran_out_ : background_failed_) = true;
    if (passes && status->severity() > rocksdb::Status::kHardError) {
      *status = rocksdb::Status(*status, rocksdb::Status::kHardError);
    }
  }
  // `resumes`: true during a resume. Errors during a resume are ignored, because they come from the
  // old log, which has run out of space.
  void SetResumes(bool resumes) { resumes_ = resumes; }
  // Returns true if RocksDB has run out of space outside of commits since the last call of
  // TakeRanOut.
  [[nodiscard]] bool ran_out() const { return ran_out_; }
  [[nodiscard]] bool TakeRanOut() { return ran_out_.exchange(false); }

 private:
  std::atomic<bool> resumes_ = false;
  std::atomic<bool> ran_out_ = false;
  std::atomic<bool> sync_failed_ = false;
  std::atomic<bool> background_failed_ = false;
};

// Counts a write as in progress while this object exists. Thread-compatible; the counter is shared.
class Writing {
 public:
  explicit Writing(std::atomic<int>* writing) : writing_(writing) { ++*writing_; }
  ~Writing() {
    if (--*writing_ == 0) writing_->notify_all();
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

 private:
  std::atomic<int>* const writing_;
};

// Writes `bytes` bytes into a new file in `dir` and removes the file, because a device can have
// less space than it reports. Thread-compatible.
[[nodiscard]] rocksdb::Status ProbeSpace(rocksdb::Env& env, const std::string& dir, uint64_t bytes);
// Removes the file of a probe that was interrupted by a kill, if any. Thread-compatible.
void RemoveProbe(rocksdb::Env& env, const std::string& dir);

// Makes RocksDB write again after it ran out of space. If `has_log`, also begins a new log, by
// rewriting an existing row. No other thread may write meanwhile. Not OK: the database must be
// reopened, because RocksDB 7.8 can wait forever in a second attempt.
[[nodiscard]] rocksdb::Status ResumeWriting(rocksdb::DB& db, WriteListener& listener, bool has_log,
                                            rocksdb::ColumnFamilyHandle* family,
                                            const std::string& key);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_WRITE_LISTENER_H_
