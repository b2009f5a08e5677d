// When the rates of pages change by age alone: the age edges of operational time, one a page.
//
// An edge need not be met to the second: the exponent is carried through it exactly whenever the
// page is looked at next, and until then only its rates are those of the younger age. So pages are
// kept in buckets of one 64th of a day, and come out at the end of their bucket.
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
// leaves its old entry behind, which is void. Once there are more void entries than others they are
// dropped, a bucket with each entry that comes.
class AgeBinWheel {
 public:
  // `day` is the unit of the age edges (EstimatorOptions::day), at least 64 us.
  explicit AgeBinWheel(Duration day);

  // The page's next edge; infinite: none. Never taken before it, nor later than a bucket after.
  void Set(PageId page, Instant edge);

  // Appends pages whose edge is due, at most `max`; each is then without an edge.
  void TakeDue(Instant now, size_t max, std::vector<PageId>* pages);
  // When TakeDue has something to do again.
  [[nodiscard]] Instant next() const;
  // Void ones included.
  [[nodiscard]] size_t entries() const { return entries_; }

 private:
  using Bucket = int64_t;  // ends at Bucket x width_
  // Tells the entries in force from void ones, up to 1023 days: 0 is "no edge".
  static uint16_t TagOf(Bucket bucket) {
    return static_cast<uint16_t>(static_cast<uint64_t>(bucket) % UINT16_MAX + 1);
  }

  // Goes on with dropping what is void, or begins where it is time.
  void Sweep();
  void DropVoid(Bucket bucket, std::vector<uint32_t>& entries);

  const Duration width_;
  SegmentedArray<uint16_t> tags_;  // by PageId
  absl::flat_hash_map<Bucket, std::vector<uint32_t>> buckets_;
  std::priority_queue<Bucket, std::vector<Bucket>, std::greater<>> order_;
  size_t entries_ = 0;
  size_t edges_ = 0;           // pages that have one
  std::vector<Bucket> sweep_;  // still to be looked at
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_AGE_BIN_WHEEL_H_
