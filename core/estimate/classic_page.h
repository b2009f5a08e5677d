// The rates of one page by the estimators of the papers: from its own crawls alone, nothing pooled,
// in wall-clock time. They are there to compare with and to run the papers' policies as published.
#ifndef FRESHET_CORE_ESTIMATE_CLASSIC_PAGE_H_
#define FRESHET_CORE_ESTIMATE_CLASSIC_PAGE_H_

#include "core/base/units.h"
#include "core/model/page_rates.h"

namespace freshet {

struct PageState;
struct PageStatistics;

// Imaginary intervals of this length, one changed and one not, both without signals, keep every
// estimate finite (Cho and Garcia-Molina). In days; the order of the interval between two crawls of
// most pages.
inline constexpr double kImaginaryDays = 300;

// Number of changed intervals, imaginary one included: how sure an estimate is. The rates are per
// second.
struct ClassicEstimate {
  PageRates rates;
  double changed = 0;
};

// Change rate by EstimateChoGm over the page's window; signals tell nothing: unsignalled_rate =
// change_rate.
[[nodiscard]] ClassicEstimate EstimateByChoGm(const PageStatistics& statistics, Duration day);

// alpha and kappa by EstimateMle over the page's window, all source classes taken as one source;
// gamma = signals/time over the window and the interval that is open at `now`;
// Delta = alpha + gamma (1 - e^-kappa). A page whose crawls saw no signal has kappa = ln 2.
[[nodiscard]] ClassicEstimate EstimateByMle(const PageStatistics& statistics,
                                            const PageState& state, Instant now, Duration day);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_CLASSIC_PAGE_H_
