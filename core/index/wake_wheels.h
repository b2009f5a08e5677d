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
// for each unit by which ln(threshold) falls until then. Value type, thread-compatible.
struct OpenedBucket {
  double by = 0;
  double slow_high = 0;
};

// Each octave of slowness has two classes, in groups by the ratio of its bounds
// (docs/index-proofs.md); a class has a wheel once a page needs it. Times are seconds on the clock
// of the index. No call allocates once each class that occurs has its wheel. Owner thread only.
class WakeWheels {
 public:
  // Sizes wheels for `pages`. No-op if the present ones were made for not far fewer; else each
  // class gets a new wheel when it next needs one, and the old ones drain.
  void Renew(size_t pages);
  // Narrow buckets of a new wheel: enough that a busy wheel has a few dozen pages in each.
  [[nodiscard]] size_t buckets() const;

  // Files a page that may reach the threshold from `at` on. `slow_low` and `slow_high` bound the
  // time in which it grows by one unit of ln V. Two numbers and not a Slowness, which would go
  // through memory and be read before it has arrived there as a whole. Precondition: Renew was
  // called.
  [[nodiscard]] Sleeping File(PageId page, uint8_t tag, double slow_low, double slow_high,
                              double at, double now);
  // When Open next has something to do if the threshold stays, and when it must have been called.
  [[nodiscard]] double next_open() const { return next_open_; }
  [[nodiscard]] double next_due() const { return next_due_; }
  // Appends the entries of a bucket that is due at `now` or soon; nullopt = there is no such
  // bucket.
  [[nodiscard]] std::optional<OpenedBucket> Open(double now, std::vector<WakeEntry>* due);
  // The least fall of ln(threshold) that makes a bucket due at `now`; infinite = no page sleeps.
  [[nodiscard]] double FallToNext(double now) const;
  // ln(threshold) has risen by `rise`.
  void MoveThreshold(double rise, double now);

  // The entries of all wheels, stale ones included.
  [[nodiscard]] uint64_t entries() const { return chunks_.entries(); }
  // Call this when an entry has become stale; `asleep` entries still count. Once the stale ones are
  // an eighth, drops the entries of one bucket in turn for which keep(entry) is false; fetch(page)
  // is called for all its entries first.
  template <typename Fetch, typename Keep>
  void Sweep(size_t asleep, const Fetch& fetch, const Keep& keep);

 private:
  // -1 = there is no wheel for pages so slow.
  [[nodiscard]] int32_t NumberFor(double slow_low, double slow_high, double now);
  // Makes a wheel for pages at least so slow and at most `ratio` times as slow.
  [[nodiscard]] int32_t Make(double slow_low, double slow_high, double ratio, double now);
  // Call this when the times of a wheel may have changed.
  void Note(size_t number);
  void FindNext();

  WakeChunks chunks_;
  std::vector<WakeWheel> wheels_;
  std::vector<int32_t> number_of_;  // by class; -1 = none
  // The times of all wheels, close together: FindNext passes over all.
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
