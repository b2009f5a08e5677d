// A simulated world for the learners of lab/methods/learners.h. It crawls pages as a learner's plan
// says, and reports the results to the learner.
#ifndef FRESHET_LAB_PAPER_LEARNING_H_
#define FRESHET_LAB_PAPER_LEARNING_H_

#include <vector>

#include "core/base/random.h"
#include "core/base/status.h"
#include "core/plan/rate_columns.h"
#include "lab/methods/learners.h"
#include "lab/sim/slot_policies.h"

namespace freshet {

// Pages with known change rates, all crawled at time 0. Whether a page changed in an interval
// depends only on the interval's length, so crawls are the only events. Thread-compatible.
class LearningWorld {
 public:
  // `pages` outlives the world.
  LearningWorld(const RateColumns& pages, Random random);

  // Crawls by the plan of `learner` for `length` > 0, and reports the results to it. Polled pages
  // are crawled at the plan's times, and pages with complete signals report their signals. Errors:
  // those of the learner.
  [[nodiscard]] Status Crawl(Learner& learner, double length);

 private:
  [[nodiscard]] Status Poll(Learner& learner, size_t page, double end);

  const RateColumns& pages_;
  Random random_;
  double now_ = 0;
  std::vector<double> crawled_;  // last crawl of each page
};

}  // namespace freshet

#endif  // FRESHET_LAB_PAPER_LEARNING_H_
