// Pages that wheels have handed out ahead of time and that are filed a few at every pick.
#ifndef FRESHET_CORE_INDEX_DUE_PAGES_H_
#define FRESHET_CORE_INDEX_DUE_PAGES_H_

#include <cstddef>
#include <limits>
#include <vector>

#include "core/index/wake_chunks.h"

namespace freshet {

// What one bucket held, from `next` on still to be filed. Value type, thread-compatible.
struct DueBatch {
  std::vector<WakeEntry> entries;
  size_t next = 0;
  size_t fetched = 0;  // up to here records are on their way to the cache
  double by = std::numeric_limits<double>::infinity();  // when they have to be filed
  double slow_high = 0;                                 // as in OpenedBucket
};

// Owner thread only. The batch that has to be filed first comes first: a bucket of pages that climb
// slowly may hold hundreds, and one that is opened after it may be due long before it. No call
// allocates once vectors have their size.
class DuePages {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // When the first batch has to be filed; infinite: there is none.
  [[nodiscard]] double by() const {
    return empty() ? std::numeric_limits<double>::infinity() : batches_[first_].by;
  }
  // Where a bucket is to be emptied into before it is added.
  [[nodiscard]] std::vector<WakeEntry>* Room();
  // Precondition: both are finite.
  void Add(double by, double slow_high);
  // ln(threshold) has fallen by d >= 0: all have to be filed sooner.
  void ThresholdFell(double d);
  // Precondition of both: not empty. References are valid until Room is called.
  [[nodiscard]] DueBatch& First() { return batches_[first_]; }
  void DropFirst();

 private:
  void FindFirst();
  std::vector<DueBatch> batches_;  // the first size_ count, the others keep their memory
  size_t size_ = 0;
  size_t first_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_DUE_PAGES_H_
