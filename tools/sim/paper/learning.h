// Worlds for the learners of core/plan/learners.h: what crawls at the times of a plan would see.
#ifndef FRESHET_TOOLS_SIM_PAPER_LEARNING_H_
#define FRESHET_TOOLS_SIM_PAPER_LEARNING_H_

#include <vector>

#include "core/base/random.h"
#include "core/base/status.h"
#include "core/plan/learners.h"
#include "core/plan/rate_columns.h"
#include "tools/sim/slot_policies.h"

namespace freshet {

// Pages with known change rates that are all crawled at 0. Whether a page changed in an interval
// depends on the length of the interval alone, so there are no events but crawls.
// Thread-compatible.
class LearningWorld {
 public:
  // `pages` is not owned.
  LearningWorld(const RateColumns& pages, Random random);

  // Crawls by the plan of `learner` for `length` > 0 and tells it what that showed: polled pages at
  // the plan's times, those with complete signals through their signals. Errors of the learner.
  [[nodiscard]] Status Crawl(Learner& learner, double length);

 private:
  [[nodiscard]] Status Poll(Learner& learner, size_t page, double end);

  const RateColumns& pages_;
  Random random_;
  double now_ = 0;
  std::vector<double> crawled_;  // when each page was crawled last
};

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_PAPER_LEARNING_H_
