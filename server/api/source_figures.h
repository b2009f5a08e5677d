// What each source of signals has sent, and what that has proved worth: for metrics, and for
// people.
#ifndef FRESHET_SERVER_API_SOURCE_FIGURES_H_
#define FRESHET_SERVER_API_SOURCE_FIGURES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/estimate/estimator.h"
#include "server/engine/sources.h"

namespace freshet {

// A source over all hosts and burst classes. Value type, thread-compatible.
struct SourceFigures {
  std::string name;
  uint64_t signals = 0;  // that were well formed, since the start
  // Of the last epoch: an effective number of signals, after fading; 0: it has proved nothing yet,
  // and what follows means nothing.
  double evidence = 0;
  double precision = 0;      // probability that a signal stands for a change
  double precision_low = 0;  // 95% interval
  double precision_high = 0;
  double recall = 0;  // share of all changes that it signals
};

using TrustByClass = std::map<std::pair<uint8_t, BurstClass>, SourceTrust>;

// Every shard has learned from the pages of all, if not at the same instant: the one that learned
// from most signals is believed.
void AddTrust(const SourceTrust& trust, TrustByClass* all);

// Those that are not retired, by name: limits::kMaxSources at most.
[[nodiscard]] std::vector<SourceFigures> FiguresOf(const Sources& sources,
                                                   const TrustByClass& trust);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_SOURCE_FIGURES_H_
