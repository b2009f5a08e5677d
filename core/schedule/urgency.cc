#include "core/schedule/urgency.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/model/crossing.h"

namespace freshet {
namespace {

// The price is the quantile kQuantile of the values of picks. Its logarithm follows them by a
// stochastic approximation (Robbins and Monro 1951), with the step kPriceStep per pick. With this
// step, the price can halve in a dozen picks.
constexpr double kQuantile = 0.3;
constexpr double kPriceStep = 0.1;
constexpr double kLeastPrice = 1e-300;
// The minimum price, as a share of the value of a pick. After a long time of plenty, when pages of
// almost no value were picked, the price could otherwise take thousands of picks to recover.
constexpr double kLeastShare = 1e-9;
// Weight of one pick in the mean change rate.
constexpr double kRateStep = 0.01;
// h, as a multiple of the mean change rate.
constexpr double kSpread = 3;

}  // namespace

void Urgency::Picked(double value, double change_rate) {
  DCHECK(std::isfinite(value) && value >= 0 && std::isfinite(change_rate));
  if (price_ == 0) {
    price_ = std::max(value, kLeastPrice);
    change_rate_ = change_rate;
    return;
  }
  price_ *= std::exp(kPriceStep * (value < price_ ? kQuantile - 1 : kQuantile));
  price_ = std::max({price_, kLeastPrice, kLeastShare * value});
  change_rate_ += kRateStep * (change_rate - change_rate_);
}

double Urgency::Share(const IndexEntry& entry) const {
  if (price_ == 0 || entry.exponent == 0) return 1;
  const ValueParameters page = ValueOf(entry);
  const double value = CrawlValue(page, entry.exponent);
  if (!(value > price_)) return 1;
  const double threshold = ExponentReaching(page, price_);
  const double importance = static_cast<double>(entry.rates.importance);
  const double change_rate = static_cast<double>(entry.rates.change_rate);
  const double lost = importance * (std::exp(-threshold) - std::exp(-entry.exponent));
  const double urgent = price_ + lost / (change_rate + kSpread * change_rate_);
  return std::min(1.0, urgent / value);
}

}  // namespace freshet
