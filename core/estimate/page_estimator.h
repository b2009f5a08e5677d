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

// Half-lives, in days, after which evidence counts half. Three processes are learned, each at its
// own pace. Signalled changes are seen without a crawl, so a quiet page shows soon. Only crawls,
// which are scarce, find silent changes. And a source that starts to lie must be seen through
// within weeks. docs/experiments.md measures other paces.
inline constexpr double kSignalledHalfLifeDays = 300;
inline constexpr double kUnsignalledHalfLifeDays = 3000;
inline constexpr double kFalseHalfLifeDays = 60;
inline constexpr double kRecallHalfLifeDays = 375;

// The believed parameters of one class of signals at one page. Value type, thread-compatible.
struct PageClass {
  SourceClass source_class;
  double recall = 0;         // lambda_k of the site
  double false_rate = 0;     // nu_k of the page, per operational day
  RatePrior prior;           // the distribution that nu_k was drawn from
  double false_signals = 0;  // expected number, fading with kFalseHalfLifeDays
  // In crawled intervals, fading with kRecallHalfLifeDays:
  double signals = 0;
  double truth = 0;   // expected number of true signals
  bool seen = false;  // the class signalled the page, lately at least
  // ln of the factor of a quarantine on the odds of its signals (core/estimate/quarantine.h), set
  // by the owner. The page's own evidence is not shifted.
  double shift = 0;

  // The odds that one signal stands for a change: e^shift lambda_k Delta/nu_k.
  [[nodiscard]] double Odds(double change_rate) const;
  // kappa of one signal: log1p of the odds.
  [[nodiscard]] double Weight(double change_rate) const;
};

// Posterior of one page, per operational day. Value type, thread-compatible.
struct PagePosterior {
  double mean = 0;   // Delta: the mode of ln Delta, which for a gamma distribution is its mean
  double shape = 0;  // information about ln Delta; of the gamma with the same mean and information
  // The evidence of the data alone about Delta, for the fit of the site's prior: a Poisson count
  // and its exposure with the same score and information at the mode.
  double changes = 0;
  double exposure = 0;
  double observations = 0;  // effective number of crawl intervals
  // Delta per day of wall-clock time, as if changes came evenly: what ages are counted against.
  double even_rate = 0;
  // In the crawled intervals, fading with kRecallHalfLifeDays: expected signalled changes, each
  // once for any number of sources; changes expected without signals; and the evidence of crawls
  // about the silent share, as a count and its expectation.
  double told_changes = 0;
  double expected_changes = 0;
  double untold_changes = 0;
  double untold_exposure = 0;
  double false_exposure = 0;  // operational days of the false signals
  double unsignalled = 1;     // share of changes that no source signals
  bool teaches_rate = true;   // the change rate was estimated, not given
  absl::InlinedVector<PageClass, 6> classes;

  [[nodiscard]] const PageClass* Find(SourceClass source_class) const;
  // kappa of one more signal; by the defaults for a class that never signalled the site.
  [[nodiscard]] double Weight(SourceClass source_class) const;
};

// The posterior mode over (ln Delta, ln nu_k) of
//
//   a ln Delta - (a/m) Delta + sum_k [c_k ln nu_k - (c_k/m_k) nu_k]             priors of the site
//   + sum of intervals: sum_k n_k ln gamma_k - sum_k gamma_k x                  signals
//                       + [z = 1] ln(1 - e^-s) - [z = 0] s                      crawls
//
// with gamma_k = lambda_k Delta + nu_k, s = alpha x + sum_k kappa_k n_k, x operational time; the
// interval since the last crawl has signals and no crawl. Every kind of evidence fades at its own
// pace (above). Found by expectation-maximisation (Dempster, Laird and Rubin 1977): of an interval
// that ended in a change, with p = 1 - e^-s, alpha x/p changes were not signalled and a signal was
// true with probability (1 - e^-kappa)/p; of one that did not, every signal was false; of one that
// is open, true with 1 - e^-kappa. The information is that of the data less what is missing (Louis
// 1982).
//
// If another rate explains the time since one of the last crawls better, by 6 in log likelihood,
// evidence of the rate from before counts a twentieth: pages wake up and fall asleep.
//
// A change rate from the page's spec is taken as it is; then only nu_k is estimated. If signals are
// complete, each stands for one change and there is nothing else to learn. Precondition: `state`
// was carried to `now`.
[[nodiscard]] PagePosterior EstimatePage(const SiteModel& site, const PageSpec& spec,
                                         const PageState& state, const PageStatistics& statistics,
                                         Instant now, Duration day);

// The evidence that leaves the window of a page with its oldest observation, under the posterior:
// unsignalled changes, and true signals.
struct OldEvidence {
  double unsignalled = 0;
  double signalled = 0;
};
[[nodiscard]] OldEvidence EvidenceOf(const CrawlObservation& observation,
                                     const PagePosterior& posterior, Duration day);

// 0.5^(elapsed/half-life); 1 for elapsed <= 0.
[[nodiscard]] double Fading(Duration elapsed, double half_life_days, Duration day);

// The quantile of a gamma distribution of that mean and shape. Precondition: 0 < probability < 1.
[[nodiscard]] double GammaQuantile(double mean, double shape, double probability);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_PAGE_ESTIMATOR_H_
