// The plotted figures of a second, made from the counters before and after it.
#ifndef FRESHET_SERVER_OPS_HISTORY_FIGURES_H_
#define FRESHET_SERVER_OPS_HISTORY_FIGURES_H_

#include <map>
#include <string>

#include "server/api/status.h"
#include "server/ops/history_rings.h"

namespace freshet {

// The prefix of names of figures that were posted to the server.
inline constexpr char kNotePrefix[] = "note:";

// Makes the figures. Owner thread only.
class FigureMaker {
 public:
  // The figures between the last status and this one; empty for the first status. Rates are per
  // second; shares of nothing are NaN.
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
