// Makes plans for pages with unknown change rates: explore and commit, epsilon greedy, and the
// epochs of LambdaLearn. The learners are deterministic, and use neither a clock nor random
// numbers. A driver executes their plans and reports the results of crawls.
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
  // intervals. All later epochs follow one blc plan, based on moment estimates from the first
  // epoch.
  kExploreCommit,
  // "eps_greedy" (ibid.): each epoch follows a mixed plan: a share 1 - epsilon of blc on moment
  // estimates, and a share epsilon of the uniform plan. The first epoch has no estimates, so its
  // plan is uniform. The uniform share keeps every page observed.
  kEpsGreedy,
  // "lambda_learn" (LLC, LambdaLearn): each epoch follows a lambda_crawl plan, based on smoothed
  // estimates: cho_gm for polled pages, (U + 0.5)/(T + 0.5) for pages with complete signals,
  // where U is the number of signals, and T the time watched.
  kLambdaLearn,
  kLambdaLearnApprox,  // "lambda_learn_approx" (LLCA): like lambda_learn, with lambda_crawl_approx
  // "binary_learn" (BLLC): like lambda_learn, but the plan is blc_eps, and every page is polled.
  // The floor of the rates keeps every page observed. Without a floor, a page that blc starves
  // after a wrong estimate would never be observed again.
  kBinaryLearn,
};

[[nodiscard]] std::string_view LearnerName(LearnerKind kind);
// The names of all learners. Thread-safe.
[[nodiscard]] std::vector<std::string_view> LearnerNames();
// Finds a learner by name. NotFound: there is no learner with this name.
[[nodiscard]] StatusOr<LearnerKind> ParseLearner(std::string_view name);

struct LearnerOptions {
  LearnerKind kind = LearnerKind::kLambdaLearn;
  double crawl_rate = 0;  // crawls per unit of time
  double epsilon = 0.1;   // kEpsGreedy: share of uniform crawls, 0..1
  // kBinaryLearn: smallest rate as a share of crawl_rate / number of pages, 0..1.
  double floor = 0.2;
  RateBounds bounds{1e-9, 25};         // bounds of moment estimates
  double smoothing = kChoGmSmoothing;  // length of cho_gm's imaginary intervals, > 0
  ParallelFor parallel = SerialFor;
};

// One run of a learner on a set of pages that can grow. The driver crawls according to plan() for
// an epoch of any length, reports its observations, and calls EndEpoch. All observations are kept
// for the estimators, at 17 bytes per crawl. Thread-compatible.
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

  // Adds a page under the next number. While there are no estimates, makes a new uniform plan that
  // includes the page, at the cost of a whole plan. Later, the page's rate is 0 until EndEpoch, or
  // for ever with explore_commit. InvalidArgument: the importance is not valid for a plan; nothing
  // was changed.
  [[nodiscard]] Status AddPage(double importance, bool complete);

  // Records a crawl of a polled page, `elapsed` after the previous one. InvalidArgument: the page
  // is unknown, or the elapsed time is not finite and > 0.
  [[nodiscard]] Status ObserveCrawl(size_t page, double elapsed, bool changed);
  // Records that a page with complete signals had this number of signals during `elapsed`. Errors:
  // those of ObserveCrawl; also InvalidArgument for a page without complete signals.
  [[nodiscard]] Status ObserveSignals(size_t page, double elapsed, double signals);

  // Ends the epoch. For each page that was observed in the epoch, makes a new estimate from all
  // observations of the page. Then makes the plan of the next epoch. explore_commit does this only
  // at the end of the first epoch, and then keeps its plan.
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
  std::vector<size_t> estimated_from_;  // by page: number of observations behind the estimate
  std::vector<double> change_rates_;
  RatePlan plan_;
  int epochs_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_LAB_METHODS_LEARNERS_H_
