// The verdict on a source of signals, in words that an operator can act on.
#ifndef FRESHET_SERVER_OPS_SOURCE_VERDICT_H_
#define FRESHET_SERVER_OPS_SOURCE_VERDICT_H_

#include <string>
#include <vector>

#include "freshet/v1/admin.pb.h"

namespace freshet {

// The verdict on one source, across its burst classes. Value type, thread-compatible.
struct SourceVerdict {
  std::string source;
  // One word: unproven, reliable, useful, weak or noise.
  std::string grade;
  // A few sentences.
  std::string words;
  double signals = 0;  // number of signals behind the verdict; older ones count less
  // The share of the source's signals that indicate a real change, with a 95% interval. These are
  // averages over the classes, weighted by their signals.
  double precision = 0;
  double precision_low = 0;
  double precision_high = 0;
  double recall = 0;          // share of all changes that it signals; 0 = unknown, or none
  int quarantined_hosts = 0;  // number among the hosts in the report
};

// Makes one verdict for each source of the report, in the report's order. If every host has a
// separate model, sources occur only in the report's list of hosts. A verdict then has the average
// precision over these hosts, and the highest recall of any of them. Thread-safe.
[[nodiscard]] std::vector<SourceVerdict> VerdictsOf(const v1::GetTrustReportResponse& report);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_SOURCE_VERDICT_H_
