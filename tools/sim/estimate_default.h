// freshet-sim estimate --method default: the estimator that freshetd uses when nothing is
// configured. It learns over all rows as the pages of one site, so it needs the whole table before
// the first answer.
#ifndef FRESHET_TOOLS_SIM_ESTIMATE_DEFAULT_H_
#define FRESHET_TOOLS_SIM_ESTIMATE_DEFAULT_H_

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/estimate/estimator.h"
#include "core/estimate/observation.h"
#include "core/estimate/page_estimate.h"

namespace freshet {

// One row of the table. Value type, thread-compatible.
struct SitePage {
  std::string id;
  Observations observations;  // elapsed in days
};

// Plays the observations of every page to a shard in memory, each page's last one ending now and
// its signals spread evenly over their interval, and re-estimates until what is learned is settled.
// Estimates in the order of the pages, rates per day. InvalidArgument, naming the page, for more
// than limits::kMaxSources sources or fractions of a signal.
[[nodiscard]] StatusOr<std::vector<PageEstimate>> EstimateSite(const std::vector<SitePage>& pages);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_ESTIMATE_DEFAULT_H_
