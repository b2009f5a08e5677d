// The verdict on a source of signals, in words that an operator can act on.
#ifndef FRESHET_SERVER_OPS_SOURCE_VERDICT_H_
#define FRESHET_SERVER_OPS_SOURCE_VERDICT_H_

#include <string>
#include <vector>

#include "freshet/v1/admin.pb.h"

namespace freshet {

// The verdict on one source, over its burst classes. Value type, thread-compatible.
struct SourceVerdict {
  std::string source;
  // One word: unproven, reliable, useful, weak or noise.
  std::string grade;
  // Some sentences.
  std::string words;
  double signals = 0;  // behind the verdict; older ones fade
  // The share of its signals that stand for a change, with its 95% interval: means over the
  // classes, weighted by their signals.
  double precision = 0;
  double precision_low = 0;
  double precision_high = 0;
  double recall = 0;          // share of all changes that it signals; 0 = unknown, or none
  int quarantined_hosts = 0;  // among those in the report
};

// Makes one verdict for each source of the report, in its order. If the report has a source only in
// its list of hosts, as when every host has a model of its own, the verdict has means over these
// hosts. Thread-safe.
[[nodiscard]] std::vector<SourceVerdict> VerdictsOf(const v1::GetTrustReportResponse& report);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_SOURCE_VERDICT_H_
