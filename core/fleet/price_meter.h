// The price of a node, and the rate that its pages ask for at that price.
#ifndef FRESHET_CORE_FLEET_PRICE_METER_H_
#define FRESHET_CORE_FLEET_PRICE_METER_H_

#include <cstdint>
#include <optional>
#include <span>

#include "core/base/units.h"
#include "core/fleet/fleet_rate.h"
#include "core/model/page_rates.h"

namespace freshet {

// Smooths the price of a node: the geometric mean over `memory`. Owner thread only.
//
// Feed it the value of the best page left (ShardState::Peek) at even intervals. The value of the
// next crawl is known without any crawl, so also at rate 0. A burst of signals counts until its
// pages are crawled, not once for each crawl.
class PriceMeter {
 public:
  // Precondition: memory > 0.
  explicit PriceMeter(Duration memory);

  // Infinite values, of forced pages, say nothing about the price and are ignored.
  void Add(double value, Instant now);
  // 0 = not known.
  [[nodiscard]] double price() const;

 private:
  Duration memory_;
  Instant last_;  // none = no value yet
  double log_price_ = 0;
};

// The fields of a page that decide the rate that a price asks for. Value type, thread-compatible.
struct PricedPage {
  double importance = 0;
  PageRates rates;
};

// The demand of `all` pages, estimated from a sample, if each is crawled whenever it is worth
// `price` by greedy_ncis. The demand follows from the believed rates of the pages, not from
// measured rates and prices: while rates follow prices, their relation shows the leader and not the
// pages. Unset = no page of the sample is ever worth the price. Cost: two thresholds for each page
// of the sample, up to a microsecond each.
[[nodiscard]] std::optional<PriceDemand> DemandAt(std::span<const PricedPage> sample, uint64_t all,
                                                  double price);

// The demand at the price `to`, from the demand at `from`: along the slope there, and at most ten
// times as much or a tenth. Preconditions: both prices > 0.
[[nodiscard]] PriceDemand DemandMoved(const PriceDemand& demand, double from, double to);

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_PRICE_METER_H_
