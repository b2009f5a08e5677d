// Whether the frontier's database is whole: checksums, and everything that is derived recomputed
// from what it is derived from. What is not can be made whole again.
//
//   lost or wrong              becomes
//   rows of due                made anew of the URLs that wait
//   counts and head of a queue likewise
//   a lease of no URL          is dropped: the URL that it was of is not there, or is completed
//   a queue that has URLs      it is there again under the key that its first URL gives it, without
//                              what was set for it; where that key is another's, URLs are lost
//   a crawl id that has queues it is there again as lost-N
//   rows that cannot be read   are lost
#ifndef FRESHET_STORAGE_FRONTIER_VERIFY_H_
#define FRESHET_STORAGE_FRONTIER_VERIFY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "storage/options.h"
#include "storage/store.h"

namespace freshet {

// Value type, thread-compatible.
struct FrontierReport {
  uint64_t crawls = 0;
  uint64_t queues = 0;
  uint64_t urls = 0;
  uint64_t in_flight = 0;
  uint64_t problem_count = 0;
  std::vector<std::string> problems;  // the first kMaxProblems of them
  // Of a repair: rows that were there and are not saved.
  uint64_t lost_rows = 0;
  std::string original;  // directory to which damaged files were moved; empty: none
  static constexpr size_t kMaxProblems = 100;
  [[nodiscard]] bool ok() const { return problem_count == 0; }
};

// Both read every row once; memory: a name for each queue, and what one queue has in flight. `dir`:
// FrontierDirectory. Where there is no database the report is empty. Not OK: it cannot be opened.
// That no server has it open is the caller's to know: it has the store beside it open.

// Changes nothing but torn ends of logs, as every opening does.
[[nodiscard]] StatusOr<FrontierReport> VerifyFrontier(const std::string& dir,
                                                      const StoreOptions& options);

// The same of the frontier that the store of a cluster's server has in it, without checksums, which
// are Store::Verify's; empty of other stores.
[[nodiscard]] StatusOr<FrontierReport> VerifyFrontierWithin(const Store& cache);

// Makes it whole, and returns what it holds then; `problems` are those that were found. Where
// checksums are wrong or it does not open, tables that cannot be read are left out and a copy of
// the damaged database is kept beside it. `key_of`: the key of a queue that has this URL.
[[nodiscard]] StatusOr<FrontierReport> RepairFrontier(
    const std::string& dir, const StoreOptions& options,
    const std::function<std::string(std::string_view url)>& key_of);

}  // namespace freshet

#endif  // FRESHET_STORAGE_FRONTIER_VERIFY_H_
