#include "core/estimate/classic_page.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/estimate/cho_gm.h"
#include "core/estimate/mle.h"
#include "core/estimate/observation.h"
#include "core/model/page.h"

namespace freshet {
namespace {

Observations WindowOf(const PageStatistics& statistics) {
  Observations observations;
  for (const CrawlObservation& crawl : statistics.recent) {
    const double signals = crawl.signals.Total();
    const Status added = observations.Add(crawl.elapsed.seconds(), {&signals, 1}, crawl.changed);
    CHECK(added.ok(), "{}", std::string(added.message()));
  }
  return observations;
}

}  // namespace

ClassicEstimate EstimateByChoGm(const PageStatistics& statistics, Duration day) {
  const Observations observations = WindowOf(statistics);
  ClassicEstimate result;
  const RateEstimate estimate = EstimateChoGm(observations, kImaginaryDays * day.seconds());
  result.rates.change_rate = estimate.change_rate;
  result.rates.unsignalled_rate = result.rates.staleness_rate = estimate.change_rate;
  result.changed = static_cast<double>(observations.changed_count()) + 1;
  return result;
}

ClassicEstimate EstimateByMle(const PageStatistics& statistics, const PageState& state, Instant now,
                              Duration day) {
  Observations observations = WindowOf(statistics);
  const double open = state.crawled() ? std::max(0.0, (now - state.last_crawl).seconds()) : 0;
  const double time = observations.total_elapsed() + open;
  const double signals = observations.total_signals(0) + state.signals.Total();
  const double imaginary = kImaginaryDays * day.seconds();
  const double none = 0;
  CHECK(observations.Add(imaginary, {&none, 1}, true).ok());
  CHECK(observations.Add(imaginary, {&none, 1}, false).ok());
  const SignalEstimate estimate = EstimateMle(observations);

  ClassicEstimate result;
  PageRates& rates = result.rates;
  rates.unsignalled_rate = rates.staleness_rate = estimate.unsignalled_rate;
  rates.signal_rate = time > 0 ? signals / time : 0;
  rates.signal_weight = estimate.signal_weight[0];
  if (std::isnan(rates.signal_weight)) rates.signal_weight = M_LN2;
  rates.change_rate =
      rates.unsignalled_rate + rates.signal_rate * -std::expm1(-rates.signal_weight);
  result.changed = static_cast<double>(observations.changed_count());
  return result;
}

}  // namespace freshet
