// Forecasts the freshness and the value of a page from its explanation, on the assumption that
// nobody crawls the page and no signal arrives.
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

// Returns the forecast at `points` >= 2 equally spaced instants. The first is the time of the
// explanation, and the last is the next expected crawl. If no crawl is expected, or one is already
// due, the last is the instant at which the staleness exponent has grown by three, but at least an
// hour and at most 366 days after the first.
//   The staleness exponent s grows by staleness_rate_per_day; the page is fresh with probability
//   exp(-s).
//   The value follows V = c G(s)^p, with G(s) = 1 - (1 + s) exp(-s), the value of a page without
//   signals, or s - 1 + exp(-s) under the harmonic policies. c is chosen so that V begins at the
//   present value. If the page waits for the price, p is chosen so that V reaches the price at the
//   next expected crawl. Otherwise, or if this p is not between 0.5 and 2, p is 1. Without a value
//   or a price (under a rate policy), all values are NaN.
[[nodiscard]] std::vector<ForecastPoint> Forecast(const v1::Explanation& why, int points);

}  // namespace freshet

#endif  // FRESHET_PROTO_FORECAST_H_
