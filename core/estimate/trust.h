// The trust of an estimator in the sources of signals. Value types, thread-compatible.
#ifndef FRESHET_CORE_ESTIMATE_TRUST_H_
#define FRESHET_CORE_ESTIMATE_TRUST_H_

#include <bitset>
#include <cstdint>
#include <string>

#include "core/base/id_limits.h"
#include "core/estimate/quarantine.h"
#include "core/model/signal.h"

namespace freshet {

// How reliable the signals of one (source, burst class) have been.
struct SourceTrust {
  SourceClass source_class;
  double signals = 0;        // effective number of signals, after fading
  double truth = 0;          // number of true signals among them
  double precision = 0;      // probability that a signal stands for a change
  double precision_low = 0;  // 95% interval
  double precision_high = 0;
  double recall = 0;  // share of all changes that this class signals
};

// How reliable the signals of a source have been at one host. `lately` covers only the last few
// dozen crawls. The other fields come from the model of the host, and sum over all burst classes.
// If the host has no model of the source, they are computed from `lately`.
struct HostTrust {
  std::string host;
  uint8_t source = 0;
  double signals = 0;  // effective number of signals, after fading
  double precision = 0;
  double precision_low = 0;
  double precision_high = 0;
  double recall = 0;
  SourceStanding lately;
};

// Sources by index.
using SourceSet = std::bitset<limits::kMaxSources>;

// Returns true if `a` is worse. Pairs in quarantine are worse than others; then the upper end of
// the precision decides, then host and source.
[[nodiscard]] bool IsWorse(const HostTrust& a, const HostTrust& b);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_TRUST_H_
