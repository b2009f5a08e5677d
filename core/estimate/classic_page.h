// The rates of one page by the estimators of the papers: from its own crawls alone, nothing pooled,
// in wall-clock time. These estimators serve comparisons and the papers' policies as published.
#ifndef FRESHET_CORE_ESTIMATE_CLASSIC_PAGE_H_
#define FRESHET_CORE_ESTIMATE_CLASSIC_PAGE_H_

#include "core/base/units.h"
#include "core/model/page_rates.h"

namespace freshet {

struct PageState;
struct PageStatistics;

// The length of two imaginary intervals, one changed and one not, both without signals, that keep
// every estimate finite (Cho and Garcia-Molina). About the interval between crawls of most pages.
inline constexpr double kImaginaryDays = 300;

// An estimate, in rates per second. `changed` is the number of changed intervals, the imaginary one
// included: it says how sure the estimate is.
struct ClassicEstimate {
  PageRates rates;
  double changed = 0;
};

// Change rate by EstimateChoGm over the page's window. Signals are ignored: unsignalled_rate =
// change_rate.
[[nodiscard]] ClassicEstimate EstimateByChoGm(const PageStatistics& statistics, Duration day);

// alpha and kappa by EstimateMle over the page's window, all source classes taken as one source;
// gamma = signals/time over the window and the interval open at `now`; Delta = alpha + gamma (1 -
// e^-kappa). A page whose crawls saw no signal has kappa = ln 2.
[[nodiscard]] ClassicEstimate EstimateByMle(const PageStatistics& statistics,
                                            const PageState& state, Instant now, Duration day);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_CLASSIC_PAGE_H_
