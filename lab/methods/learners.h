// Plans for pages with unknown change rates: explore and commit, epsilon greedy, and the epochs of
// LambdaLearn. Deterministic, without clock and randomness: a driver reports the results of crawls.
#ifndef FRESHET_LAB_METHODS_LEARNERS_H_
#define FRESHET_LAB_METHODS_LEARNERS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/estimate/cho_gm.h"
#include "core/estimate/observation.h"
#include "core/plan/parallel.h"
#include "core/plan/plan.h"
#include "lab/methods/moment.h"

namespace freshet {

enum class LearnerKind : uint8_t {
  // "explore_commit" (ETC, "Learning to Crawl"): the first epoch crawls every page at equal
  // intervals; from then on blc on moment estimates.
  kExploreCommit,
  // "eps_greedy" (ibid.): each epoch (1 - epsilon) blc on moment estimates + epsilon uniform; the
  // first epoch, without estimates, uniform. The epsilon keeps every page observed.
  kEpsGreedy,
  // "lambda_learn" (LLC, LambdaLearn): each epoch lambda_crawl on smoothed estimates: cho_gm for
  // polled pages, (U + 0.5)/(T + 0.5) for those with complete signals.
  kLambdaLearn,
  kLambdaLearnApprox,  // "lambda_learn_approx" (LLCA): the same with lambda_crawl_approx
  // "binary_learn" (BLLC): the same with blc_eps, and every page polled. The floor keeps every page
  // observed: blc would never again see a page that it starves after a wrong estimate.
  kBinaryLearn,
};

[[nodiscard]] std::string_view LearnerName(LearnerKind kind);
// The names of all learners. Thread-safe.
[[nodiscard]] std::vector<std::string_view> LearnerNames();
// Finds a learner by name. NotFound: there is no learner with this name.
[[nodiscard]] StatusOr<LearnerKind> ParseLearner(std::string_view name);

struct LearnerOptions {
  LearnerKind kind = LearnerKind::kLambdaLearn;
  double crawl_rate = 0;               // crawls per unit of time
  double epsilon = 0.1;                // kEpsGreedy: share of uniform crawls, 0..1
  double floor = 0.2;                  // kBinaryLearn: smallest rate as a share of R/m, 0..1
  RateBounds bounds{1e-9, 25};         // bounds for moment estimates
  double smoothing = kChoGmSmoothing;  // cho_gm's imaginary interval, > 0; also the prior
  ParallelFor parallel = SerialFor;
};

// One run of a learner on a set of pages that can grow. The driver crawls by plan() for an epoch of
// any length, reports its observations, and calls EndEpoch. All observations are kept for the
// estimators, with 17 bytes a crawl. Thread-compatible.
class Learner {
 public:
  // Creates a learner. InvalidArgument unless the pages and the crawl rate are valid for a plan,
  // epsilon and floor lie in 0..1, smoothing is finite and > 0, and 0 < bounds.min <= bounds.max
  // within the limits of plans. `complete` may be empty: no page has complete signals.
  static StatusOr<Learner> Create(std::vector<double> importance, std::vector<uint8_t> complete,
                                  LearnerOptions options);

  // Returns the rates of this epoch, and how to execute them.
  [[nodiscard]] const RatePlan& plan() const { return plan_; }
  [[nodiscard]] CrawlTimes crawl_times() const;

  // Adds a page, with the next number. Without estimates the page joins a uniform plan at once, at
  // the cost of a plan. Otherwise its rate is 0 until EndEpoch, and for ever if explore_commit has
  // committed. InvalidArgument: the importance is not valid for a plan; nothing was changed.
  [[nodiscard]] Status AddPage(double importance, bool complete);

  // Records a crawl of a polled page, `elapsed` after the previous one. InvalidArgument: the page
  // is unknown, or the elapsed time is not finite and > 0.
  [[nodiscard]] Status ObserveCrawl(size_t page, double elapsed, bool changed);
  // Records `signals` of a page with complete signals during `elapsed`. Errors: those of
  // ObserveCrawl; also InvalidArgument for a page without complete signals.
  [[nodiscard]] Status ObserveSignals(size_t page, double elapsed, double signals);

  // Estimates the rate of every page that was observed in the epoch again, from all its
  // observations, and makes the plan of the next epoch. explore_commit does so once and then keeps
  // its plan.
  void EndEpoch();

  // Returns the number of ended epochs.
  [[nodiscard]] int epochs() const { return epochs_; }
  // Returns the estimates on which plan() is based; empty = there are none (explore_commit and
  // eps_greedy in their first epoch).
  [[nodiscard]] const std::vector<double>& change_rates() const { return change_rates_; }

 private:
  Learner(std::vector<double> importance, std::vector<uint8_t> complete, LearnerOptions options);
  [[nodiscard]] double EstimatePage(size_t page) const;
  void Estimate();
  void Plan();

  std::vector<double> importance_;
  std::vector<uint8_t> complete_;
  LearnerOptions options_;
  std::vector<Observations> observations_;
  std::vector<size_t> estimated_from_;  // number of observations in each change rate
  std::vector<double> change_rates_;
  RatePlan plan_;
  int epochs_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_LAB_METHODS_LEARNERS_H_
