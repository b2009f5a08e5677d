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

// The proven worth of the signals of one (source, burst class).
struct SourceTrust {
  SourceClass source_class;
  double signals = 0;        // effective number counted, after fading
  double truth = 0;          // number of true signals among them
  double precision = 0;      // probability that a signal stands for a change
  double precision_low = 0;  // 95% interval
  double precision_high = 0;
  double recall = 0;  // share of all changes that this class signals
};

// The proven worth of the signals of a source at one host, over all burst classes, and in the last
// few dozen crawls. A host without its own model has only `lately`.
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

// Sources by index.
using SourceSet = std::bitset<limits::kMaxSources>;

// Orders worse ones first: in quarantine, then by the upper end of the precision, host and source.
[[nodiscard]] bool IsWorse(const HostTrust& a, const HostTrust& b);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_TRUST_H_
