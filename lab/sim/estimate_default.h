// freshet-sim estimate --method default: freshetd's estimator in its default configuration. It
// treats all rows as pages of one site and learns from all of them, so it reads the whole table
// before the first answer.
#ifndef FRESHET_LAB_SIM_ESTIMATE_DEFAULT_H_
#define FRESHET_LAB_SIM_ESTIMATE_DEFAULT_H_

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

// Plays the observations of every page to a shard in memory, and repeats the estimate until the
// models settle. The last observation of each page ends now, and signals are spread evenly over
// their interval. Returns estimates in the order of the pages, with rates per day. InvalidArgument,
// naming the page: it has more than limits::kMaxSources sources, or fractions of a signal.
[[nodiscard]] StatusOr<std::vector<PageEstimate>> EstimateSite(const std::vector<SitePage>& pages);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_ESTIMATE_DEFAULT_H_
