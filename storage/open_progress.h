// How far opening a store has come, for those who wait for it, and whether they still do.
#ifndef FRESHET_STORAGE_OPEN_PROGRESS_H_
#define FRESHET_STORAGE_OPEN_PROGRESS_H_

#include <atomic>
#include <cstdint>

#include "core/base/status.h"

namespace freshet {

// In this order; stages with nothing to do are passed over.
enum class OpenStage : uint8_t {
  kOpening,        // nothing that could be counted
  kCheckingLogs,   // the write-ahead logs that a crash left behind are examined
  kReplayingLogs,  // what they hold goes into memory
  kMigrating,      // pages are brought to the format of this release
  kCatchingUp,     // takes in what the log of a cluster has
  kFollowing,      // has been at its end, and takes in what is appended until its turn comes
  kOpen,
};

// Thread-safe: written by Store::Open, but for `cancelled`, and read by others while it runs.
struct OpenProgress {
  std::atomic<OpenStage> stage = OpenStage::kOpening;
  std::atomic<uint64_t> log_bytes = 0;  // of all write-ahead logs
  std::atomic<uint64_t> checked_log_bytes = 0;
  std::atomic<uint64_t> replayed_log_bytes = 0;
  std::atomic<uint64_t> rows_taken_in = 0;   // of the log of a cluster
  std::atomic<uint64_t> at_end_seconds = 0;  // when those were all that there are, since 1970
  // Set by others: opening is to end with Cancelled. Until the store is open nothing depends on
  // what was done so far, and the next opening does it again.
  std::atomic<bool> cancelled = false;
};

namespace storage {

// Cancelled once `progress`, which may be null, says so. Thread-safe.
[[nodiscard]] inline Status GoOn(const OpenProgress* progress) {
  return progress != nullptr && progress->cancelled
             ? MakeStatus(absl::StatusCode::kCancelled, "opening was cancelled")
             : absl::OkStatus();
}

}  // namespace storage
}  // namespace freshet

#endif  // FRESHET_STORAGE_OPEN_PROGRESS_H_
