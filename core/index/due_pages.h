// Pages that wheels (core/index/wake_wheels.h) have handed out early. Each pick files a few of them
// again.
#ifndef FRESHET_CORE_INDEX_DUE_PAGES_H_
#define FRESHET_CORE_INDEX_DUE_PAGES_H_

#include <cstddef>
#include <limits>
#include <vector>

#include "core/index/wake_chunks.h"

namespace freshet {

// The entries of one bucket. Entries from `next` on are not refiled yet. Value type,
// thread-compatible.
struct DueBatch {
  std::vector<WakeEntry> entries;
  size_t next = 0;
  size_t fetched = 0;  // the records of entries before this one are prefetched
  double by = std::numeric_limits<double>::infinity();  // all entries must be refiled by then
  double slow_high = 0;                                 // see OpenedBucket
};

// The batches. The batch with the earliest `by` comes first: a bucket of slowly climbing pages can
// have hundreds of entries, and a bucket that is opened later can be due long before them.
// Allocates nothing once the vectors have grown to their final size. Owner thread only.
class DuePages {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // When the first batch must be refiled; infinite = no batch.
  [[nodiscard]] double by() const {
    return empty() ? std::numeric_limits<double>::infinity() : batches_[first_].by;
  }
  // An empty vector for the entries of a bucket. Fill it, then call Add.
  [[nodiscard]] std::vector<WakeEntry>* Room();
  // Adds the entries in Room as a batch. Precondition: both numbers are finite.
  void Add(double by, double slow_high);
  // Call this when ln(threshold) has fallen by d >= 0. It makes all batches due sooner.
  void ThresholdFell(double d);
  // Precondition of both: not empty. References are valid until Room is called.
  [[nodiscard]] DueBatch& First() { return batches_[first_]; }
  void DropFirst();

 private:
  void FindFirst();
  std::vector<DueBatch> batches_;  // the first size_ are in use; the others only keep their memory
  size_t size_ = 0;
  size_t first_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_DUE_PAGES_H_
