// Forecasts a page from its explanation, if nobody crawls it and no signal comes.
#ifndef FRESHET_PROTO_FORECAST_H_
#define FRESHET_PROTO_FORECAST_H_

#include <limits>
#include <vector>

#include "freshet/v1/pages.pb.h"

namespace freshet {

// The forecast for a page at some time after its explanation. Value type, thread-compatible.
struct ForecastPoint {
  double seconds = 0;            // after `as_of`
  double probability_fresh = 0;  // 0 to 1
  // In importance x seconds; NaN if the explanation lacks the data.
  double value = std::numeric_limits<double>::quiet_NaN();
};

// Returns `points` >= 2 instants at equal distances, from the explanation's to the next expected
// crawl. If no crawl is expected or it is due, the last one is when the staleness exponent has
// grown by three, within an hour and 366 days.
//   The staleness exponent s grows by staleness_rate_per_day; the page is fresh with probability
//   exp(-s).
//   The value follows V = c G(s)^p, with G(s) = 1 - (1 + s) exp(-s), the value of a page without
//   signals, or s - 1 + exp(-s) under the harmonic policies. c and p are chosen so that V has the
//   present value and, if the page waits for the price, the price at the next expected crawl;
//   otherwise p is 1. A page without value or without price (under a rate policy) has no future
//   values.
[[nodiscard]] std::vector<ForecastPoint> Forecast(const v1::Explanation& why, int points);

}  // namespace freshet

#endif  // FRESHET_PROTO_FORECAST_H_
