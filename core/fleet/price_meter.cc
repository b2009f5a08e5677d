#include "core/fleet/price_meter.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/model/crawl_value.h"
#include "core/model/crossing.h"
#include "core/model/ncis_value.h"
#include "core/model/policy.h"

namespace freshet {
namespace {

// If all pages are fresh, the price is 0. This minimum keeps its logarithm finite.
constexpr double kLeastPrice = 1e-30;
// The slope is measured between price/kStep and price*kStep.
constexpr double kStep = 1.1;

// The crawl rate, per second, of all pages in the sample if each page is crawled whenever its value
// reaches the price.
double RateAt(std::span<const PricedPage> sample, double price) {
  double rate = 0;
  for (const PricedPage& page : sample) {
    const ValueParameters value = MakeValueParameters(Policy(), page.importance, page.rates);
    const double s = ExponentReaching(value, price);
    if (std::isfinite(s) && s > 0) rate += EvaluateThreshold(page.rates, s).crawl_rate;
  }
  return rate;
}

}  // namespace

PriceMeter::PriceMeter(Duration memory) : memory_(memory) { CHECK(memory > Duration()); }

void PriceMeter::Add(double value, Instant now) {
  if (!std::isfinite(value)) return;
  const double log_price = std::log(std::max(value, kLeastPrice));
  const double passed = last_.is_none() ? HUGE_VAL : (now - last_).seconds() / memory_.seconds();
  log_price_ += (log_price - log_price_) * -std::expm1(-std::max(0.0, passed));
  last_ = now;
}

double PriceMeter::price() const { return last_.is_none() ? 0 : std::exp(log_price_); }

std::optional<PriceDemand> DemandAt(std::span<const PricedPage> sample, uint64_t all,
                                    double price) {
  if (!(price > 0) || !std::isfinite(price)) return std::nullopt;
  const double more = RateAt(sample, price / kStep);
  const double less = RateAt(sample, price * kStep);
  if (!(less > 0 && more > less)) return std::nullopt;
  const double scale = static_cast<double>(all) / static_cast<double>(sample.size());
  const double rate = std::sqrt(more * less) * scale;
  const double elasticity = -2 * std::log(kStep) / std::log(more / less);
  if (!std::isfinite(elasticity) || !(elasticity < 0) ||
      !(rate > 0 && rate <= limits::kMaxCrawlsPerSecond)) {
    return std::nullopt;
  }
  return PriceDemand{Rate::PerSecond(rate), elasticity};
}

PriceDemand DemandMoved(const PriceDemand& demand, double from, double to) {
  const double factor = std::clamp(std::pow(to / from, 1 / demand.elasticity), 0.1, 10.0);
  const double rate = std::min(demand.rate.per_second() * factor, limits::kMaxCrawlsPerSecond);
  return {Rate::PerSecond(rate), demand.elasticity};
}

}  // namespace freshet
