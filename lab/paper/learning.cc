#include "lab/paper/learning.h"

#include <cmath>

#include "core/base/check.h"

namespace freshet {

LearningWorld::LearningWorld(const RateColumns& pages, Random random)
    : pages_(pages), random_(random), crawled_(pages.importance.size(), 0.0) {}

Status LearningWorld::Crawl(Learner& learner, double length) {
  CHECK(length > 0, "an epoch of {}", length);
  const double end = now_ + length;
  const bool heeds_signals = !learner.plan().probability.empty();
  for (size_t page = 0; page < crawled_.size(); ++page) {
    if (heeds_signals && pages_.complete[page] != 0) {
      const int signals = random_.Poisson(pages_.change_rate[page] * length);
      RETURN_IF_ERROR(learner.ObserveSignals(page, length, signals));
    } else {
      RETURN_IF_ERROR(Poll(learner, page, end));
    }
  }
  now_ = end;
  return {};
}

Status LearningWorld::Poll(Learner& learner, size_t page, double end) {
  const double rate = learner.plan().rate[page];
  if (rate == 0) return {};
  const bool even = learner.crawl_times() == CrawlTimes::kEqualIntervals;
  double time = even ? crawled_[page] + 1 / rate : now_ + random_.Exponential(rate);
  while (time <= end) {
    const double elapsed = time - crawled_[page];
    if (elapsed > 0) {
      const bool changed = random_.Uniform() < -std::expm1(-pages_.change_rate[page] * elapsed);
      RETURN_IF_ERROR(learner.ObserveCrawl(page, elapsed, changed));
      crawled_[page] = time;
    }
    time += even ? 1 / rate : random_.Exponential(rate);
  }
  return {};
}

}  // namespace freshet
