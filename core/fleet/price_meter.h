// What a node tells of its price: what it is, and which rate it asks for.
#ifndef FRESHET_CORE_FLEET_PRICE_METER_H_
#define FRESHET_CORE_FLEET_PRICE_METER_H_

#include <cstdint>
#include <optional>
#include <span>

#include "core/base/units.h"
#include "core/fleet/fleet_rate.h"
#include "core/model/page_rates.h"

namespace freshet {

// The price of a node, smoothed: its geometric mean over the last while. Owner thread only.
//
// To be fed with the value of the best page that is left (ShardState::Peek), at even times: what
// the next crawl is worth is known without any crawl, so also at a rate of zero, and a burst of
// signals counts as long as it is not worked off, not as often as it is crawled.
class PriceMeter {
 public:
  // Precondition: memory > 0.
  explicit PriceMeter(Duration memory);

  // Values that are infinite, of pages that are forced, say nothing of the price.
  void Add(double value, Instant now);
  // 0: not known.
  [[nodiscard]] double price() const;

 private:
  Duration memory_;
  Instant last_;  // none: nothing yet
  double log_price_ = 0;
};

// A page as far as it decides the rate that a price asks for. Value type, thread-compatible.
struct PricedPage {
  double importance = 0;
  PageRates rates;
};

// What `all` pages ask for, of which these are a sample, if each is crawled whenever it is worth
// `price` by greedy_ncis. It follows from what is believed of the pages, not from rates and prices
// that were measured: while rates follow prices, their relation shows the leader and not the pages.
// Unset where the sample says nothing, as none of its pages is ever worth the price. Two thresholds
// for each page of the sample, up to a microsecond each.
[[nodiscard]] std::optional<PriceDemand> DemandAt(std::span<const PricedPage> sample, uint64_t all,
                                                  double price);

// What pages ask for at the price `to`, of what they ask for at `from`: along the slope there, and
// no further than to ten times as much or a tenth. Preconditions: both prices > 0.
[[nodiscard]] PriceDemand DemandMoved(const PriceDemand& demand, double from, double to);

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_PRICE_METER_H_
