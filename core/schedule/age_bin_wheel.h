// The age edges of pages. An age edge is the time at which the rates of a page change because of
// its age alone (core/estimate/operational_time.h). A page has one edge at a time.
//
// A page can be processed later than its edge: PageAging::Advance then carries the exponent through
// the edge exactly. Until then, only the rates are still those of the younger age. So pages are
// kept in buckets of one 64th of a day, and are handed out at the end of their bucket.
#ifndef FRESHET_CORE_SCHEDULE_AGE_BIN_WHEEL_H_
#define FRESHET_CORE_SCHEDULE_AGE_BIN_WHEEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/segmented_array.h"
#include "core/base/units.h"

namespace freshet {

// Owner thread only. Memory: two bytes per page and four per entry. When the edge of a page moves,
// the old entry stays behind and is void. Once most entries are void, each new entry also removes
// the void entries of one bucket.
class AgeBinWheel {
 public:
  // `day` is the unit of the age edges (EstimatorOptions::day). Precondition: at least 64 us.
  explicit AgeBinWheel(Duration day);

  // Sets the page's next edge; infinite = none. TakeDue hands out the page at the edge, or at most
  // one bucket later.
  void Set(PageId page, Instant edge);

  // Appends at most `max` pages whose edges are due. Afterwards these pages have no edge.
  void TakeDue(Instant now, size_t max, std::vector<PageId>* pages);
  // The time at which TakeDue next has something to do; infinite = never.
  [[nodiscard]] Instant next() const;
  // The number of entries, including void ones.
  [[nodiscard]] size_t entries() const { return entries_; }

 private:
  using Bucket = int64_t;  // bucket b ends at b x width_
  // An entry is valid if the page's tag equals the tag of the entry's bucket. Tags repeat after
  // 65,535 buckets (1023 days); 0 = the page has no edge.
  static uint16_t TagOf(Bucket bucket) {
    return static_cast<uint16_t>(static_cast<uint64_t>(bucket) % UINT16_MAX + 1);
  }

  // Removes the void entries of one bucket of the current sweep. If no sweep is under way, starts
  // one if there are too many void entries.
  void Sweep();
  void DropVoid(Bucket bucket, std::vector<uint32_t>& entries);

  const Duration width_;
  SegmentedArray<uint16_t> tags_;  // by PageId
  absl::flat_hash_map<Bucket, std::vector<uint32_t>> buckets_;
  std::priority_queue<Bucket, std::vector<Bucket>, std::greater<>> order_;
  size_t entries_ = 0;
  size_t edges_ = 0;           // number of pages with an edge
  std::vector<Bucket> sweep_;  // buckets that the current sweep has not yet visited
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_AGE_BIN_WHEEL_H_
