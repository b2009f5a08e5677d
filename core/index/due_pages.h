// Pages that wheels have handed out ahead of time; each pick files a few.
#ifndef FRESHET_CORE_INDEX_DUE_PAGES_H_
#define FRESHET_CORE_INDEX_DUE_PAGES_H_

#include <cstddef>
#include <limits>
#include <vector>

#include "core/index/wake_chunks.h"

namespace freshet {

// The entries of one bucket; those from `next` on are still to be filed. Value type,
// thread-compatible.
struct DueBatch {
  std::vector<WakeEntry> entries;
  size_t next = 0;
  size_t fetched = 0;  // records up to here are being fetched to the cache
  double by = std::numeric_limits<double>::infinity();  // when the entries have to be filed
  double slow_high = 0;                                 // as in OpenedBucket
};

// The batches, the earliest `by` first: a bucket of slowly climbing pages may hold hundreds, and a
// bucket opened later may be due long before it. No call allocates once vectors have their size.
// Owner thread only.
class DuePages {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // When the first batch has to be filed; infinite = no batch.
  [[nodiscard]] double by() const {
    return empty() ? std::numeric_limits<double>::infinity() : batches_[first_].by;
  }
  // Room to empty a bucket into, before Add.
  [[nodiscard]] std::vector<WakeEntry>* Room();
  // Precondition: both are finite.
  void Add(double by, double slow_high);
  // ln(threshold) has fallen by d >= 0, so all batches are due sooner.
  void ThresholdFell(double d);
  // Precondition of both: not empty. References are valid until Room is called.
  [[nodiscard]] DueBatch& First() { return batches_[first_]; }
  void DropFirst();

 private:
  void FindFirst();
  std::vector<DueBatch> batches_;  // the first size_ are in use, the others keep their memory
  size_t size_ = 0;
  size_t first_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_DUE_PAGES_H_
