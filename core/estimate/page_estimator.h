// The default estimator's view of one page: its crawls and signals, weighed against the model of
// its site.
#ifndef FRESHET_CORE_ESTIMATE_PAGE_ESTIMATOR_H_
#define FRESHET_CORE_ESTIMATE_PAGE_ESTIMATOR_H_

#include "absl/container/inlined_vector.h"
#include "core/base/units.h"
#include "core/estimate/site.h"
#include "core/model/page_statistics.h"
#include "core/model/signal.h"

namespace freshet {

struct PageSpec;
struct PageState;

// Half-lives of evidence, in days. Each kind of evidence fades at its own pace. Signalled changes
// are seen without a crawl, so a page that becomes quiet is soon noticed. Silent changes are found
// only by crawls, which are rare. A source that starts to send false signals must be detected
// within weeks. docs/experiments.md measures other half-lives.
inline constexpr double kSignalledHalfLifeDays = 300;
inline constexpr double kUnsignalledHalfLifeDays = 3000;
inline constexpr double kFalseHalfLifeDays = 60;
inline constexpr double kRecallHalfLifeDays = 375;

// The estimated parameters of one class of signals at one page. Value type, thread-compatible.
struct PageClass {
  SourceClass source_class;
  double recall = 0;         // lambda_k of the site
  double false_rate = 0;     // nu_k of the page, per operational day
  RatePrior prior;           // the distribution of nu_k over the pages of the site
  double false_signals = 0;  // expected number, fading with kFalseHalfLifeDays
  // In crawled intervals, fading with kRecallHalfLifeDays:
  double signals = 0;
  double truth = 0;  // expected number of true signals
  // The page has signals of the class in the intervals of crawls that are still kept, or since the
  // last crawl.
  bool seen = false;
  // The logarithm of the factor by which a quarantine multiplies the odds of the class's signals
  // (core/estimate/quarantine.h). The owner sets it. The page's own evidence is not shifted.
  double shift = 0;

  // The odds that one signal stands for a change: e^shift lambda_k Delta/nu_k.
  [[nodiscard]] double Odds(double change_rate) const;
  // kappa of one signal: log1p of the odds.
  [[nodiscard]] double Weight(double change_rate) const;
};

// The posterior of one page, per operational day. Value type, thread-compatible.
struct PagePosterior {
  double mean = 0;   // Delta: the mode over ln Delta, which is the mean of a gamma distribution
  double shape = 0;  // of the gamma distribution with this mean and the information about ln Delta
  // The evidence of the data alone about Delta, for the fit of the site's prior: a Poisson count
  // and an exposure that have the same score and information at the mode.
  double changes = 0;
  double exposure = 0;
  double observations = 0;  // effective number of crawl intervals
  // Delta per day of wall-clock time, if changes came evenly instead of in bursts. The age counts
  // compare events with this rate (core/estimate/operational_time.h).
  double even_rate = 0;
  // Sums over the crawled intervals, fading with kRecallHalfLifeDays. told_changes: expected
  // signalled changes, each counted once for any number of sources. expected_changes: changes
  // expected without signals. untold_changes, untold_exposure: the evidence of crawls about the
  // silent share, as a count and its expectation.
  double told_changes = 0;
  double expected_changes = 0;
  double untold_changes = 0;
  double untold_exposure = 0;
  double false_exposure = 0;  // operational days in which false signals could come
  double unsignalled = 1;     // share of changes that no source signals
  bool teaches_rate = true;   // the change rate was estimated, not given
  absl::InlinedVector<PageClass, 6> classes;

  [[nodiscard]] const PageClass* Find(SourceClass source_class) const;
  // kappa of one more signal. Uses the defaults for a class that never signalled the site.
  [[nodiscard]] double Weight(SourceClass source_class) const;
};

// The posterior mode over (ln Delta, ln nu_k) of
//
//   a ln Delta - (a/m) Delta + sum_k [c_k ln nu_k - (c_k/m_k) nu_k]             priors of the site
//   + sum of intervals: sum_k n_k ln gamma_k - sum_k gamma_k x                  signals
//                       + [z = 1] ln(1 - e^-s) - [z = 0] s                      crawls
//
// where gamma_k = lambda_k Delta + nu_k, s = alpha x + sum_k kappa_k n_k, and x is operational
// time. The interval since the last crawl has signals but no crawl. Every kind of evidence fades at
// its own pace (above). The mode is found by expectation-maximisation
// (Dempster, Laird and Rubin 1977):
//  - In an interval that ended in a change, with p = 1 - e^-s, alpha x/p changes were not
//    signalled, and each signal was true with probability (1 - e^-kappa)/p.
//  - In an interval that ended without a change, every signal was false.
//  - In the open interval, each signal is true with probability 1 - e^-kappa.
//
// The information is that of the complete data minus the missing information (Louis 1982).
//
// If another rate explains the time since one of the last crawls better, by 6 in log likelihood,
// earlier evidence about the rate counts only a twentieth: a page can become active or quiet.
//
// A change rate from the page's spec is used as it is, and only nu_k is estimated. If signals are
// complete, each signal is one change, and nothing else needs to be learned. Precondition: `state`
// was carried to `now`.
[[nodiscard]] PagePosterior EstimatePage(const SiteModel& site, const PageSpec& spec,
                                         const PageState& state, const PageStatistics& statistics,
                                         Instant now, Duration day);

// The evidence of the oldest observation in a page's window, when it leaves the window: the
// expected numbers of unsignalled changes and of true signals under the posterior.
struct OldEvidence {
  double unsignalled = 0;
  double signalled = 0;
};
[[nodiscard]] OldEvidence EvidenceOf(const CrawlObservation& observation,
                                     const PagePosterior& posterior, Duration day);

// 0.5^(elapsed/half-life); 1 for elapsed <= 0.
[[nodiscard]] double Fading(Duration elapsed, double half_life_days, Duration day);

// The quantile of a gamma distribution with this mean and shape. Precondition: 0 < probability < 1.
[[nodiscard]] double GammaQuantile(double mean, double shape, double probability);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_PAGE_ESTIMATOR_H_
