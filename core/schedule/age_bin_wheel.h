// The age edges of pages: the times at which the rates of a page change by its age alone
// (operational time). A page has one edge at a time.
//
// A page may be looked at later than its edge: PageAging::Advance then carries the exponent through
// the edge exactly. Until then only the rates are still those of the younger age. So pages lie in
// buckets of one 64th of a day, and come out at the end of their bucket.
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

// Owner thread only. Memory: two bytes a page and four for each entry. A page whose edge moved
// leaves its old entry behind, which is void. Once most entries are void, each new entry drops the
// void ones of one bucket.
class AgeBinWheel {
 public:
  // `day` is the unit of the age edges (EstimatorOptions::day), at least 64 us.
  explicit AgeBinWheel(Duration day);

  // Sets the page's next edge; infinite = none. TakeDue takes the page at the edge or at most a
  // bucket later.
  void Set(PageId page, Instant edge);

  // Appends pages whose edge is due, at most `max`; each is then without an edge.
  void TakeDue(Instant now, size_t max, std::vector<PageId>* pages);
  // When TakeDue has something to do again.
  [[nodiscard]] Instant next() const;
  // All entries, void ones included.
  [[nodiscard]] size_t entries() const { return entries_; }

 private:
  using Bucket = int64_t;  // bucket b ends at b x width_
  // An entry is in force if the page has the tag of the entry's bucket. Tags repeat after 65,535
  // buckets (1023 days); 0 = the page has no edge.
  static uint16_t TagOf(Bucket bucket) {
    return static_cast<uint16_t>(static_cast<uint64_t>(bucket) % UINT16_MAX + 1);
  }

  // Drops the void entries of one bucket, or begins a sweep if there are too many.
  void Sweep();
  void DropVoid(Bucket bucket, std::vector<uint32_t>& entries);

  const Duration width_;
  SegmentedArray<uint16_t> tags_;  // by PageId
  absl::flat_hash_map<Bucket, std::vector<uint32_t>> buckets_;
  std::priority_queue<Bucket, std::vector<Bucket>, std::greater<>> order_;
  size_t entries_ = 0;
  size_t edges_ = 0;           // pages with an edge
  std::vector<Bucket> sweep_;  // buckets that the sweep has yet to look at
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_AGE_BIN_WHEEL_H_
