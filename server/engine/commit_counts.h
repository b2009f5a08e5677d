// Counts the commits of a shard by duration and by number of events.
#ifndef FRESHET_SERVER_ENGINE_COMMIT_COUNTS_H_
#define FRESHET_SERVER_ENGINE_COMMIT_COUNTS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace freshet {

// A histogram: each value is counted at the first bound that is not below it. The last count is for
// values above all bounds. Value type, thread-compatible.
template <const auto& kBoundsOf>
struct CountsByBound {
  static constexpr auto kBounds = kBoundsOf;
  std::array<uint64_t, kBounds.size() + 1> ended{};
  double sum = 0;

  void Add(double value) {
    ++ended[std::lower_bound(kBounds.begin(), kBounds.end(), value) - kBounds.begin()];
    sum += value;
  }
  CountsByBound& operator+=(const CountsByBound& other) {
    for (size_t i = 0; i < ended.size(); ++i) ended[i] += other.ended[i];
    sum += other.sum;
    return *this;
  }
};

inline constexpr std::array kCommitSeconds = {1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3,
                                              0.01, 0.03, 0.1,  0.3,  1.0,  3.0};
inline constexpr std::array kCommitEvents = {1.0,   3.0,    10.0,   30.0,   100.0,
                                             300.0, 1000.0, 3000.0, 10000.0};

// The counts. Value type, thread-compatible.
struct CommitCounts {
  uint64_t count = 0;
  CountsByBound<kCommitSeconds> seconds;
  CountsByBound<kCommitEvents> events;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_COMMIT_COUNTS_H_
