// Counts many latencies in little memory.
#ifndef FRESHET_LAB_BENCH_LATENCIES_H_
#define FRESHET_LAB_BENCH_LATENCIES_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace freshet {

// Counts latencies in buckets that are at most 3% wide. Thread-safe.
class Latencies {
 public:
  // Negative values count as 0. They occur when the clock is set back.
  void Add(int64_t micros) {
    counts_[BucketOf(static_cast<uint64_t>(std::max<int64_t>(micros, 0)))].fetch_add(
        1, std::memory_order_relaxed);
  }
  void Clear() {
    for (auto& count : counts_) count.store(0, std::memory_order_relaxed);
  }
  // Returns the quantile `share`, from 0 to 1, in microseconds; NaN without latencies.
  [[nodiscard]] double Quantile(double share) const {
    uint64_t all = 0;
    for (const auto& count : counts_) all += count.load(std::memory_order_relaxed);
    if (all == 0) return std::numeric_limits<double>::quiet_NaN();
    const auto rank = static_cast<uint64_t>(share * static_cast<double>(all - 1));
    uint64_t below = 0;
    size_t bucket = 0;
    for (; bucket + 1 < counts_.size(); ++bucket) {
      below += counts_[bucket].load(std::memory_order_relaxed);
      if (below > rank) break;
    }
    return MiddleOf(bucket);
  }

 private:
  static constexpr size_t kHalf = 32;  // buckets between two powers of two

  // Buckets are exact below 64. Larger values share a bucket if their six highest bits are equal.
  static size_t BucketOf(uint64_t micros) {
    const auto dropped =
        static_cast<size_t>(std::max<int>(0, static_cast<int>(std::bit_width(micros)) - 6));
    return kHalf * dropped + static_cast<size_t>(micros >> dropped);
  }
  static double MiddleOf(size_t bucket) {
    const size_t dropped = bucket < 2 * kHalf ? 0 : bucket / kHalf - 1;
    const auto low = static_cast<double>((bucket - kHalf * dropped) << dropped);
    return low + (static_cast<double>(uint64_t{1} << dropped) - 1) / 2;
  }

  std::array<std::atomic<uint64_t>, kHalf * 60> counts_{};
};

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_LATENCIES_H_
