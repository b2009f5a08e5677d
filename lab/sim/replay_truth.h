// The truth about the pages of a replay. It is known for a world, and is estimated from the whole
// history for a history.
#ifndef FRESHET_LAB_SIM_REPLAY_TRUTH_H_
#define FRESHET_LAB_SIM_REPLAY_TRUTH_H_

#include <vector>

#include "lab/sim/worlds.h"

namespace freshet {

// Rates and bursts as in World. Value type, thread-compatible.
struct ReplayTruth {
  std::vector<std::vector<TrueRates>> rates;  // at least one for each page
  std::vector<TrueBurst> bursts;
};

// Returns the world's own truth. A history has no truth of its own, so the truth is computed from
// its whole course. The rates of a page are the numbers of its events, divided by the time from its
// first_seen to the end of the history, and its recall is `signal_recall`. A poll that names
// kHindsightBurst pages of a host or more is a burst with a known share of changes. Minor touches
// of bursts are not false signals of the page.
[[nodiscard]] ReplayTruth TruthOf(const World& world, double signal_recall);

// The minimum number of pages in a burst. The share of a smaller poll has no meaning: for a single
// page, it would reveal whether the page changed.
inline constexpr size_t kHindsightBurst = 10;

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_REPLAY_TRUTH_H_
