#include "storage/internal/rocksdb_status.h"

#include <cerrno>
#include <string>
#include <system_error>

namespace freshet::storage {
namespace {

absl::StatusCode CodeOf(const rocksdb::Status& status) {
  if (status.IsNotFound()) return absl::StatusCode::kNotFound;
  if (status.IsCorruption()) return absl::StatusCode::kDataLoss;
  if (status.IsNoSpace()) return absl::StatusCode::kResourceExhausted;
  if (status.IsIOError()) {
    // Only these messages reveal that RocksDB's LOCK file is taken.
    const std::string text = status.ToString();
    const bool locked = text.find("lock hold by current process") != std::string::npos ||
                        (text.find("While lock file") != std::string::npos &&
                         text.find(std::generic_category().message(EAGAIN)) != std::string::npos);
    return locked ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kUnavailable;
  }
  if (status.IsBusy() || status.IsTryAgain() || status.IsAborted() ||
      status.IsShutdownInProgress() || status.IsIncomplete() || status.IsTimedOut()) {
    return absl::StatusCode::kUnavailable;
  }
  return absl::StatusCode::kInternal;
}

}  // namespace

Status FromRocksDb(const rocksdb::Status& status, std::string_view what) {
  if (status.ok()) return absl::OkStatus();
  return MakeStatus(CodeOf(status), "{}: {}", what, status.ToString());
}

}  // namespace freshet::storage
