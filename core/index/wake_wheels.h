// All wheels of an index: one for each class of pages that climb at a similar pace.
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
  kFiled,  // the page was filed in a wheel
  kDue,    // the page can reach the threshold before the next bucket is opened
  kUnfit,  // no wheel can tell when it wakes
};

// A bucket that was opened. Its entries can be due from `by` on. For each unit by which
// ln(threshold) falls until then, they can be due `slow_high` seconds earlier.
// Value type, thread-compatible.
struct OpenedBucket {
  double by = 0;
  double slow_high = 0;
};

// Each octave of slowness (Slowness in core/index/wake_wheel.h) has two classes in each of several
// groups. The groups differ in the ratio of the two bounds of slowness (docs/index-proofs.md). A
// class gets a wheel when a page first needs one. Times are seconds on the clock of the index.
// Allocates nothing once every class in use has its wheel. Owner thread only.
class WakeWheels {
 public:
  // Sizes wheels for `pages`. No-op if the current wheels were made for at least a quarter of that
  // number. Otherwise each class gets a new wheel when it next needs one, and the old wheels drain.
  void Renew(size_t pages);
  // The number of narrow buckets of a new wheel. It is chosen so that each bucket of a busy wheel
  // has a few dozen pages.
  [[nodiscard]] size_t buckets() const;

  // Files a page that can reach the threshold from `at` on. `slow_low` and `slow_high` bound the
  // time in which its value grows by one unit of ln V. They are two numbers instead of a Slowness,
  // because a struct would be passed through memory, and the read would stall on the write.
  // Precondition: Renew was called.
  [[nodiscard]] Sleeping File(PageId page, uint8_t tag, double slow_low, double slow_high,
                              double at, double now);
  // `next_open`: when Open next has something to do if the threshold does not move. `next_due`: the
  // time by which Open must be called.
  [[nodiscard]] double next_open() const { return next_open_; }
  [[nodiscard]] double next_due() const { return next_due_; }
  // Appends the entries of a bucket that is due at `now` or soon; nullopt = there is no such
  // bucket.
  [[nodiscard]] std::optional<OpenedBucket> Open(double now, std::vector<WakeEntry>* due);
  // The smallest fall of ln(threshold) that makes a bucket due at `now`; infinite = no page sleeps.
  [[nodiscard]] double FallToNext(double now) const;
  // Call this when ln(threshold) has risen by `rise`; negative = it has fallen.
  void MoveThreshold(double rise, double now);

  // The number of entries in all wheels, including stale ones.
  [[nodiscard]] uint64_t entries() const { return chunks_.entries(); }
  // Call this when an entry has become stale. `asleep` is the number of valid entries. If stale
  // entries exceed an eighth of that number plus a few thousand, takes the next bucket,
  // round-robin, and drops the entries for which keep(entry) is false. First calls fetch(page) for
  // all entries of the bucket.
  template <typename Fetch, typename Keep>
  void Sweep(size_t asleep, const Fetch& fetch, const Keep& keep);

 private:
  // -1 = no wheel is made for pages of this slowness.
  [[nodiscard]] int32_t NumberFor(double slow_low, double slow_high, double now);
  // Makes a wheel for pages whose lower bound of slowness is from slow_low to slow_high, and whose
  // upper bound is at most `ratio` times the lower bound.
  [[nodiscard]] int32_t Make(double slow_low, double slow_high, double ratio, double now);
  // Call this when the next_open or next_due of a wheel might have changed.
  void Note(size_t number);
  void FindNext();

  WakeChunks chunks_;
  std::vector<WakeWheel> wheels_;
  std::vector<int32_t> number_of_;  // by class; -1 = none
  // The times of all wheels, stored together because FindNext visits all of them.
  std::vector<double> open_at_;
  std::vector<double> due_at_;
  std::vector<WakeEntry> swept_;
  double next_open_ = std::numeric_limits<double>::infinity();
  double next_due_ = std::numeric_limits<double>::infinity();
  size_t made_for_ = 0;  // the number of pages for which the wheels were sized
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
