// What is true of the pages of a replay: known of a world, estimated from the end of a history.
#ifndef FRESHET_TOOLS_SIM_REPLAY_TRUTH_H_
#define FRESHET_TOOLS_SIM_REPLAY_TRUTH_H_

#include <vector>

#include "tools/sim/worlds.h"

namespace freshet {

// As World has them. Value type, thread-compatible.
struct ReplayTruth {
  std::vector<std::vector<TrueRates>> rates;  // of each page, at least one
  std::vector<TrueBurst> bursts;
};

// The world's own truth. A history, which has none, is judged as a whole: a page's rates are what
// happened to it over the time from its first_seen to the end of the history, with `signal_recall`,
// and a poll that names kHindsightBurst pages of a host or more is a burst of which it is known
// what share has changed. Minor touches of bursts are no false signals of the page.
[[nodiscard]] ReplayTruth TruthOf(const World& world, double signal_recall);

// Smaller polls have no share worth the name: of one page it would tell whether it changed.
inline constexpr size_t kHindsightBurst = 10;

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_REPLAY_TRUTH_H_
