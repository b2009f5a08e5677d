// The progress of opening a store, and whether the caller has cancelled it.
#ifndef FRESHET_STORAGE_OPEN_PROGRESS_H_
#define FRESHET_STORAGE_OPEN_PROGRESS_H_

#include <atomic>
#include <cstdint>

#include "core/base/status.h"

namespace freshet {

// The stages, in order; a stage with nothing to do is skipped.
enum class OpenStage : uint8_t {
  kOpening,        // no progress to count
  kCheckingLogs,   // examines the write-ahead logs that a crash left behind
  kReplayingLogs,  // reads their rows into memory
  kMigrating,      // upgrades pages to the format of this release
  kCatchingUp,     // reads the log of a cluster
  kFollowing,      // has read all of the log; a standby follows the log until it takes over
  kOpen,
};

// Written by Store::Open, except for `cancelled`, and read by other threads meanwhile. Thread-safe.
struct OpenProgress {
  std::atomic<OpenStage> stage = OpenStage::kOpening;
  std::atomic<uint64_t> log_bytes = 0;  // bytes of all write-ahead logs
  std::atomic<uint64_t> checked_log_bytes = 0;
  std::atomic<uint64_t> replayed_log_bytes = 0;
  std::atomic<uint64_t> rows_taken_in = 0;   // rows read from the log of a cluster
  std::atomic<uint64_t> at_end_seconds = 0;  // Unix time as of which the whole log has been read
  // Set by other threads to make Store::Open return Cancelled. The next opening repeats the work.
  std::atomic<bool> cancelled = false;
};

namespace storage {

// Not OK: Cancelled if `progress->cancelled` is set. `progress`: nullptr = cannot be cancelled.
// Thread-safe.
[[nodiscard]] inline Status GoOn(const OpenProgress* progress) {
  return progress != nullptr && progress->cancelled
             ? MakeStatus(absl::StatusCode::kCancelled, "opening was cancelled")
             : absl::OkStatus();
}

}  // namespace storage
}  // namespace freshet

#endif  // FRESHET_STORAGE_OPEN_PROGRESS_H_
