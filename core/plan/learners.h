// Plans for pages whose change rates are not known at the start: explore and commit, epsilon
// greedy, and the epochs of LambdaLearn. Deterministic parts that a driver feeds with what crawls
// found; there is no clock and no randomness in here.
#ifndef FRESHET_CORE_PLAN_LEARNERS_H_
#define FRESHET_CORE_PLAN_LEARNERS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/estimate/cho_gm.h"
#include "core/estimate/moment.h"
#include "core/estimate/observation.h"
#include "core/plan/parallel.h"
#include "core/plan/plan.h"

namespace freshet {

enum class LearnerKind : uint8_t {
  // "explore_commit" (ETC, "Learning to Crawl"): the first epoch crawls every page at the same
  // equal intervals, then blc on moment estimates for good.
  kExploreCommit,
  // "eps_greedy" (ibid.): each epoch (1 - epsilon) blc on moment estimates + epsilon uniform; the
  // first, without estimates, uniform. The epsilon keeps every page observed.
  kEpsGreedy,
  // "lambda_learn" (LLC, LambdaLearn): each epoch lambda_crawl on smoothed estimates: cho_gm for
  // polled pages, (U + 0.5)/(T + 0.5) for those with complete signals.
  kLambdaLearn,
  kLambdaLearnApprox,  // "lambda_learn_approx" (LLCA): the same with lambda_crawl_approx
  // "binary_learn" (BLLC): the same with blc_eps, every page polled. The floor keeps every page
  // observed: what blc starves on a wrong estimate it would never see again.
  kBinaryLearn,
};

[[nodiscard]] std::string_view LearnerName(LearnerKind kind);
// The names of all learners. Thread-safe.
[[nodiscard]] std::vector<std::string_view> LearnerNames();
// NotFound for any other name.
[[nodiscard]] StatusOr<LearnerKind> ParseLearner(std::string_view name);

struct LearnerOptions {
  LearnerKind kind = LearnerKind::kLambdaLearn;
  double crawl_rate = 0;               // crawls per unit of time
  double epsilon = 0.1;                // kEpsGreedy: share of uniform crawls, 0..1
  double floor = 0.2;                  // kBinaryLearn: smallest rate, as a part of R/m, 0..1
  RateBounds bounds{1e-9, 25};         // moment estimates are clipped to it
  double smoothing = kChoGmSmoothing;  // cho_gm's imaginary interval, > 0: also the prior
  ParallelFor parallel = SerialFor;
};

// One run of a learner over a set of pages that may grow. The driver crawls by plan() for an epoch
// of any length, reports what it saw, and calls EndEpoch. Keeps every observation (the estimators
// need them): 17 bytes a crawl. Thread-compatible.
class Learner {
 public:
  // InvalidArgument unless the pages and the crawl rate are valid for a plan, epsilon and floor lie
  // in 0..1, smoothing is finite and > 0, and 0 < bounds.min <= bounds.max within what plans allow.
  // `complete` may be empty: no page has complete signals.
  static StatusOr<Learner> Create(std::vector<double> importance, std::vector<uint8_t> complete,
                                  LearnerOptions options);

  // The rates in force in this epoch, and how they are meant to be executed.
  [[nodiscard]] const RatePlan& plan() const { return plan_; }
  [[nodiscard]] CrawlTimes crawl_times() const;

  // One more page, with the next number. While there are no estimates it takes part in a uniform
  // plan at once, at the cost of a plan; later it has rate 0 until EndEpoch, and for good where
  // explore_commit has committed.
  // InvalidArgument, with nothing changed, for an importance that is not valid for a plan.
  [[nodiscard]] Status AddPage(double importance, bool complete);

  // A polled page was crawled `elapsed` after the crawl before it and had changed or not.
  // InvalidArgument for an unknown page or an elapsed time that is not finite and > 0.
  [[nodiscard]] Status ObserveCrawl(size_t page, double elapsed, bool changed);
  // A page with complete signals was watched for `elapsed` and `signals` came. Errors likewise, and
  // for a page without complete signals.
  [[nodiscard]] Status ObserveSignals(size_t page, double elapsed, double signals);

  // Re-estimates every page of which something was observed in the epoch, from all that was, and
  // makes the next epoch's plan. explore_commit does so once and then keeps its plan.
  void EndEpoch();

  // Epochs ended so far.
  [[nodiscard]] int epochs() const { return epochs_; }
  // The estimates behind plan(); empty while there are none (explore_commit and eps_greedy in their
  // first epoch).
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
  std::vector<size_t> estimated_from_;  // how many observations each change rate rests on
  std::vector<double> change_rates_;
  RatePlan plan_;
  int epochs_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_LEARNERS_H_
