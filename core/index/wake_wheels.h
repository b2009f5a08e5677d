// All wheels of an index: one for each class of pages that climb alike.
#ifndef FRESHET_CORE_INDEX_WAKE_WHEELS_H_
#define FRESHET_CORE_INDEX_WAKE_WHEELS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/index/wake_chunks.h"
#include "core/index/wake_wheel.h"

namespace freshet {

enum class Sleeping : uint8_t {
  kFiled,  // the page has its place
  kDue,    // it may reach the threshold before the next bucket is opened
  kUnfit,  // no wheel can tell when it wakes
};

// A bucket that was opened: its entries may be due from `by` on, and earlier by `slow_high` seconds
// for each unit by which ln(threshold) falls meanwhile. Value type, thread-compatible.
struct OpenedBucket {
  double by = 0;
  double slow_high = 0;
};

// Owner thread only. Classes are two an octave of the slowness, by groups of how far its bounds are
// apart (docs/index-proofs.md); a class has a wheel once a page needs it. Times are seconds on
// the clock of the index. No call allocates once each class that occurs has its wheel.
class WakeWheels {
 public:
  // Wheels for so many pages. No-op if those there are were made for not far fewer; else each
  // class gets a new one when it needs one next, and the old ones drain.
  void Renew(size_t pages);
  // Narrow buckets of a new wheel: so many that one that is busy has a few dozen pages in each.
  [[nodiscard]] size_t buckets() const;

  // Files a page that may reach the threshold from `at` on. `slow_low` and `slow_high` bound the
  // time in which it grows by one unit of ln V. Numbers and not a Slowness, which would go through
  // memory and be read before it has arrived there as a whole. Precondition: Renew was called.
  [[nodiscard]] Sleeping File(PageId page, uint8_t tag, double slow_low, double slow_high,
                              double at, double now);
  // When Open has something to do next if the threshold stays, and when it must have been called.
  [[nodiscard]] double next_open() const { return next_open_; }
  [[nodiscard]] double next_due() const { return next_due_; }
  // Appends the entries of a bucket that is due at `now` or soon; none: there is no such bucket.
  [[nodiscard]] std::optional<OpenedBucket> Open(double now, std::vector<WakeEntry>* due);
  // By how much ln(threshold) has to fall at least for a bucket to be due at `now`; infinite: no
  // page sleeps.
  [[nodiscard]] double FallToNext(double now) const;
  // ln(threshold) has risen by so much.
  void MoveThreshold(double rise, double now);

  // Of pages that left, too.
  [[nodiscard]] uint64_t entries() const { return chunks_.entries(); }
  // To be called when an entry has come to count no longer; `asleep` still do. Once the others are
  // an eighth, drops those of one bucket in turn for which keep(entry) is false; fetch(page) is
  // called for all of it first.
  template <typename Fetch, typename Keep>
  void Sweep(size_t asleep, const Fetch& fetch, const Keep& keep);

 private:
  // -1: there is no wheel for pages so slow.
  [[nodiscard]] int32_t NumberFor(double slow_low, double slow_high, double now);
  // Makes one for pages at least so slow and at most `ratio` times as slow.
  [[nodiscard]] int32_t Make(double slow_low, double slow_high, double ratio, double now);
  // To be called when the times of a wheel may have changed.
  void Note(size_t number);
  void FindNext();

  WakeChunks chunks_;
  std::vector<WakeWheel> wheels_;
  std::vector<int32_t> number_of_;  // by class; -1: none
  // Of each wheel, together: all are passed over to find the next.
  std::vector<double> open_at_;
  std::vector<double> due_at_;
  std::vector<WakeEntry> swept_;
  double next_open_ = std::numeric_limits<double>::infinity();
  double next_due_ = std::numeric_limits<double>::infinity();
  size_t made_for_ = 0;  // pages
  size_t sweep_next_ = 0;
};

template <typename Fetch, typename Keep>
void WakeWheels::Sweep(size_t asleep, const Fetch& fetch, const Keep& keep) {
  constexpr size_t kFew = 4096;
  if (entries() < asleep + asleep / 8 + kFew) return;
  wheels_[sweep_next_++ % wheels_.size()].SweepNext(chunks_, &swept_, fetch, keep);
}

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_WAKE_WHEELS_H_
