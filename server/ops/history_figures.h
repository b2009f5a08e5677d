// Computes the plotted figures of a second from the counters before and after it.
#ifndef FRESHET_SERVER_OPS_HISTORY_FIGURES_H_
#define FRESHET_SERVER_OPS_HISTORY_FIGURES_H_

#include <map>
#include <string>

#include "server/api/status.h"
#include "server/ops/history_rings.h"

namespace freshet {

// The name prefix of figures that were posted to the server.
inline constexpr char kNotePrefix[] = "note:";

// Makes the figures. Owner thread only.
class FigureMaker {
 public:
  // The figures for the time between the last status and this one; empty for the first status.
  // Rates are per second. A share whose denominator is zero is NaN.
  [[nodiscard]] Figures Make(const ServerStatus& status);

 private:
  // The counters of the last status by series.
  struct Counts {
    Instant at;
    std::map<std::string, double> counters;
  };
  Counts before_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_HISTORY_FIGURES_H_
