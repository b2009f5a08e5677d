// The default estimator's view of one page: what its crawls and signals showed, weighed against
// what its site teaches.
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

// Half-lives, in days, after which evidence counts half. Three processes are learned, each at a
// pace of its own: signalled changes are seen without a crawl, so a page that went quiet is known
// to be quiet soon; changes that nobody signals are found by crawls alone, which are scarce; and a
// source that starts to lie must be seen through within weeks. docs/experiments.md has what other
// paces cost.
inline constexpr double kSignalledHalfLifeDays = 300;
inline constexpr double kUnsignalledHalfLifeDays = 3000;
inline constexpr double kFalseHalfLifeDays = 60;
inline constexpr double kRecallHalfLifeDays = 375;

// What is believed of one class of signals at one page. Value type, thread-compatible.
struct PageClass {
  SourceClass source_class;
  double recall = 0;         // lambda_k of the site
  double false_rate = 0;     // nu_k of the page, per operational day
  RatePrior prior;           // that it was drawn from
  double false_signals = 0;  // expected number behind it, fading with kFalseHalfLifeDays
  // In crawled intervals, fading with kRecallHalfLifeDays:
  double signals = 0;
  double truth = 0;   // expected number of those that stood for a change
  bool seen = false;  // the page was signalled by it, lately at least
  // ln of what a quarantine makes of the odds of its signals (core/estimate/quarantine.h), set by
  // the owner: what the page has shown is taken for what it is.
  double shift = 0;

  // That one signal stands for a change: e^shift lambda_k Delta/nu_k.
  [[nodiscard]] double Odds(double change_rate) const;
  // kappa of one signal: log1p of its odds.
  [[nodiscard]] double Weight(double change_rate) const;
};

// Posterior of one page, per operational day. Value type, thread-compatible.
struct PagePosterior {
  double mean = 0;   // Delta: the mode of ln Delta, which for a gamma distribution is its mean
  double shape = 0;  // information about ln Delta; of the gamma with the same mean and information
  // What the data alone prove of Delta, as a Poisson count and the exposure in which it came that
  // have the same score and information at the mode: for the fit of the site's prior.
  double changes = 0;
  double exposure = 0;
  double observations = 0;  // effective number of crawl intervals
  // Delta per day of wall-clock time, as if changes came evenly: what ages are counted against.
  double even_rate = 0;
  // In the crawled intervals, fading with kRecallHalfLifeDays: expected changes that were told of,
  // each once however many sources told; changes that would be expected if nobody told of any; and
  // of the share that nobody tells of what crawls prove, as a count and the number expected of it.
  double told_changes = 0;
  double expected_changes = 0;
  double untold_changes = 0;
  double untold_exposure = 0;
  double false_exposure = 0;  // operational days of the false signals
  double unsignalled = 1;     // share of changes that nobody signals
  bool teaches_rate = true;   // the change rate was estimated, not told
  absl::InlinedVector<PageClass, 6> classes;

  [[nodiscard]] const PageClass* Find(SourceClass source_class) const;
  // kappa of one more signal; of a class that never signalled the site, by its defaults.
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
// Where what came since one of the last crawls is better explained by another rate, by 6 in log
// likelihood, evidence of the rate from before counts a twentieth: pages wake up and fall asleep.
//
// A change rate that the page's spec tells is taken as it is; then only nu_k is estimated. Where
// its signals are complete, each stands for one change and there is nothing else to learn.
// Precondition: `state` was carried to `now`.
[[nodiscard]] PagePosterior EstimatePage(const SiteModel& site, const PageSpec& spec,
                                         const PageState& state, const PageStatistics& statistics,
                                         Instant now, Duration day);

// What leaves the window of a page with its oldest observation, under the posterior: unsignalled
// changes, and signals that stood for one.
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
