// The default estimator's view of one page: what its crawls and signals showed, weighed against
// what its site teaches.
#ifndef FRESHET_CORE_ESTIMATE_PAGE_ESTIMATOR_H_
#define FRESHET_CORE_ESTIMATE_PAGE_ESTIMATOR_H_

#include "core/base/units.h"
#include "core/estimate/site.h"
#include "core/model/page.h"
#include "core/model/page_statistics.h"

namespace freshet {

// Half-lives, in days, after which an observation counts half. Pages drift slowly, and crawls are
// too scarce to be forgotten soon; signals come by themselves, so that a page that was busy once
// and is quiet now can be told from a busy one without a crawl.
inline constexpr double kCrawlHalfLifeDays = 2000;
inline constexpr double kSignalHalfLifeDays = 200;

// Posterior of the change rate of one page, per operational day. Value type, thread-compatible.
struct PagePosterior {
  double mean = 0;   // the mode of ln Delta, which for a gamma distribution is its mean
  double shape = 0;  // information about ln Delta; of the gamma with the same mean and information
  double changes = 0;       // expected changes behind it, without the prior
  double exposure = 0;      // operational days behind it, without the prior
  double observations = 0;  // effective number of crawl intervals
};

// The maximum over ln Delta of
//
//   a ln Delta - (a/m) Delta                                       gamma prior of the site
//   + S ln Delta - recall X_s Delta                                signals: S = sum of precisions
//   + sum_{z=1} f ln(1 - e^-(c Delta + k)) - sum_{z=0} f c Delta   crawl intervals
//   + U ln Delta - (1 - recall) X_old Delta                        older intervals, as sums
//
// with c = (1 - recall) x exposure and k = sum kappa n of an interval, f = its fading. Signals
// stand for the signalled changes and intervals for the unsignalled ones, so nothing counts twice.
// The function is concave; Newton in ln Delta. About 20 ns an interval and step.
[[nodiscard]] PagePosterior EstimatePage(const SiteModel& site, const PageStatistics& statistics,
                                         const PageState& state, Instant now, Duration day);

// What an interval that ended in a change proves of the rate, as the pair of a Poisson count and
// its expectation that has the same first and second derivative in ln Delta:
//   l = ln(1 - e^-s),  s = own + offset,  own = c Delta:
//   l' = own/(e^s - 1) = changes - expected,  -l'' = l' (own/(1 - e^-s) - 1) = expected,
// cut off at 0. Short and unexplained: one change, expected own/2. Explained by signals (offset
// large) or long: next to nothing, so that it does not count as evidence for whatever was assumed.
struct IntervalEvidence {
  double changes = 0;
  double expected = 0;
};
[[nodiscard]] IntervalEvidence ChangedEvidence(double own, double offset);

// sum_k kappa_k n_k.
[[nodiscard]] double SignalStaleness(const SiteModel& site, const SignalCounts& signals);

// 0.5^(elapsed/half-life); 1 for elapsed <= 0.
[[nodiscard]] double Fading(Duration elapsed, double half_life_days, Duration day);

// The Wilson-Hilferty approximation of the gamma quantile at `deviations` standard deviations of
// the normal distribution; >= 0.
[[nodiscard]] double GammaQuantile(double mean, double shape, double deviations);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_PAGE_ESTIMATOR_H_
