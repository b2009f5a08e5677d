// What an estimator believes of the sources of signals. Value types, thread-compatible.
#ifndef FRESHET_CORE_ESTIMATE_TRUST_H_
#define FRESHET_CORE_ESTIMATE_TRUST_H_

#include <bitset>
#include <cstdint>
#include <string>

#include "core/base/id_limits.h"
#include "core/estimate/quarantine.h"
#include "core/model/signal.h"

namespace freshet {

// What the signals of one (source, burst class) have proved worth.
struct SourceTrust {
  SourceClass source_class;
  double signals = 0;        // effective number counted, after fading
  double truth = 0;          // of them, those that stood for a change
  double precision = 0;      // probability that a signal stands for a change
  double precision_low = 0;  // 95% interval
  double precision_high = 0;
  double recall = 0;  // share of all changes that this class signals
};

// What the signals of a source at one host have proved worth, over all burst classes, and in the
// last few dozen crawls. A host without a model of its own has the latter alone.
struct HostTrust {
  std::string host;
  uint8_t source = 0;
  double signals = 0;  // effective number counted, after fading
  double precision = 0;
  double precision_low = 0;
  double precision_high = 0;
  double recall = 0;
  SourceStanding lately;
};

// By index.
using SourceSet = std::bitset<limits::kMaxSources>;

// Worse ones first: in quarantine, then by the upper end of the precision, host and source.
[[nodiscard]] bool IsWorse(const HostTrust& a, const HostTrust& b);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_TRUST_H_
