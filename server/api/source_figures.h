// The signals of each source, and how reliable they are, for metrics and people.
#ifndef FRESHET_SERVER_API_SOURCE_FIGURES_H_
#define FRESHET_SERVER_API_SOURCE_FIGURES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/estimate/trust.h"
#include "server/engine/sources.h"

namespace freshet {

// One source over all hosts and burst classes. Value type, thread-compatible.
struct SourceFigures {
  std::string name;
  uint64_t signals = 0;  // well-formed signals since the start
  // The number of signals from which the last epoch computed the figures below; old signals count
  // less. 0 = there are no figures yet.
  double evidence = 0;
  double precision = 0;      // probability that a signal stands for a change
  double precision_low = 0;  // the lower end of the 95% interval
  double precision_high = 0;
  double recall = 0;  // share of all changes that the source signals
};

using TrustByClass = std::map<std::pair<uint8_t, BurstClass>, SourceTrust>;

// Adds the trust of one shard. Every shard learns from the pages of all shards, but at different
// times. So for each class, the trust from the most signals is kept.
void AddTrust(const SourceTrust& trust, TrustByClass* all);

// The figures of all sources that are not retired, by name: limits::kMaxSources at most.
[[nodiscard]] std::vector<SourceFigures> FiguresOf(const Sources& sources,
                                                   const TrustByClass& trust);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_SOURCE_FIGURES_H_
