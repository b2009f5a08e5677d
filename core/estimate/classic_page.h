// The rates of one page by the estimators of the papers: only from the page's own crawls, without
// pooling, in wall-clock time. They serve for comparison, and for the papers' policies as
// published.
#ifndef FRESHET_CORE_ESTIMATE_CLASSIC_PAGE_H_
#define FRESHET_CORE_ESTIMATE_CLASSIC_PAGE_H_

#include "core/base/units.h"
#include "core/model/page_rates.h"

namespace freshet {

struct PageState;
struct PageStatistics;

// The length of two imaginary intervals without signals, one changed and one unchanged, which keep
// every estimate finite (Cho and Garcia-Molina). It is about the interval between crawls of most
// pages.
inline constexpr double kImaginaryDays = 300;

// An estimate. Rates are per second. `changed` is the number of changed intervals, including the
// imaginary one: a measure of how certain the estimate is.
struct ClassicEstimate {
  PageRates rates;
  double changed = 0;
};

// The change rate by EstimateChoGm over the page's window. Signals are ignored:
// unsignalled_rate = change_rate.
[[nodiscard]] ClassicEstimate EstimateByChoGm(const PageStatistics& statistics, Duration day);

// alpha and kappa by EstimateMle over the page's window, with all source classes taken as one
// source. gamma = signals/time over the window and the interval open at `now`.
// Delta = alpha + gamma (1 - e^-kappa). If no crawl of the page saw a signal, kappa is ln 2.
[[nodiscard]] ClassicEstimate EstimateByMle(const PageStatistics& statistics,
                                            const PageState& state, Instant now, Duration day);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_CLASSIC_PAGE_H_
