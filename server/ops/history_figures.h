// What is plotted over time: the figures of a second, from the counters before and after it.
#ifndef FRESHET_SERVER_OPS_HISTORY_FIGURES_H_
#define FRESHET_SERVER_OPS_HISTORY_FIGURES_H_

#include <map>
#include <optional>
#include <string>

#include "server/api/status.h"
#include "server/ops/history_rings.h"

namespace freshet {

// In front of the names of figures that were posted to the server.
inline constexpr char kNotePrefix[] = "note:";

// Owner thread only.
class FigureMaker {
 public:
  // The figures between the status before and this one; none of the first, which has none before.
  // Rates are per second; shares of nothing are NaN.
  [[nodiscard]] Figures Make(const ServerStatus& status,
                             const std::map<std::string, double>& annotations);

 private:
  // What is counted, of a status.
  struct Counts {
    Instant at;
    ShardCounters shards;
    DispatchStats dispatch;
    uint64_t commits = 0;
  };
  std::optional<Counts> before_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_HISTORY_FIGURES_H_
