// Checks whether the crawl frontier in a store is consistent: recomputes all rows that are derived
// from others. An inconsistent frontier can be repaired. Store::Verify checks checksums, and
// storage::Repair repairs damaged tables.
//
//   lost or wrong              becomes
//   rows of due URLs           rebuilt from the waiting URLs
//   counts and head of a queue counted again
//   a lease without its URL    dropped: the URL is missing or completed
//   a queue that has URLs      restored under the key that its first URL gives it, or as
//                              lost-CRAWL-QUEUE if another queue has that key, without its
//                              settings
//   a crawl id that has queues restored as lost-N
//   rows that cannot be read   lost
#ifndef FRESHET_STORAGE_FRONTIER_VERIFY_H_
#define FRESHET_STORAGE_FRONTIER_VERIFY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "storage/store.h"

namespace freshet {

// The counts of a check or a repair, and the problems found. Value type, thread-compatible.
struct FrontierReport {
  // Rows of each kind; `in_flight` counts leases.
  uint64_t crawls = 0;
  uint64_t queues = 0;
  uint64_t urls = 0;
  uint64_t in_flight = 0;
  uint64_t problem_count = 0;
  std::vector<std::string> problems;  // the first kMaxProblems of them
  // After a repair: the number of rows that existed but could not be saved.
  uint64_t lost_rows = 0;
  static constexpr size_t kMaxProblems = 100;
  [[nodiscard]] bool ok() const { return problem_count == 0; }
};

// VerifyFrontier and RepairFrontier read every row. They keep in memory a name for each queue, and
// the leases of one queue at a time. Thread-compatible.

// Checks the frontier without changing it. Not OK: the rows cannot be read.
[[nodiscard]] StatusOr<FrontierReport> VerifyFrontier(const Store& store);

// Repairs the frontier, and returns its counts after the repair. `problems` holds the problems
// found during the repair. `key_of` returns the key of a queue that has this URL. No server may use
// the store meanwhile.
[[nodiscard]] StatusOr<FrontierReport> RepairFrontier(
    Store& store, const std::function<std::string(std::string_view url)>& key_of);

}  // namespace freshet

#endif  // FRESHET_STORAGE_FRONTIER_VERIFY_H_
