// Measures the price of a node (core/fleet/fleet_rate.h), and the crawl rate that its pages need at
// a price.
#ifndef FRESHET_CORE_FLEET_PRICE_METER_H_
#define FRESHET_CORE_FLEET_PRICE_METER_H_

#include <cstdint>
#include <optional>
#include <span>

#include "core/base/units.h"
#include "core/fleet/fleet_rate.h"
#include "core/model/page_rates.h"

namespace freshet {

// Smooths the price of a node: a geometric mean over `memory`. Owner thread only.
//
// Add the value of the best remaining page (ShardState::Peek) at regular intervals. The value of
// the next crawl is known without a crawl, so this also works at rate 0. A burst of signals then
// affects the price for as long as its pages wait, and not once per crawl.
class PriceMeter {
 public:
  // Precondition: memory > 0.
  explicit PriceMeter(Duration memory);

  // Adds a value. Infinite values are ignored: they belong to forced pages and say nothing about
  // the price.
  void Add(double value, Instant now);
  // The smoothed price; 0 = not known.
  [[nodiscard]] double price() const;

 private:
  Duration memory_;
  Instant last_;  // none = no value yet
  double log_price_ = 0;
};

// The properties of a page that determine its crawl rate at a price. Value type, thread-compatible.
struct PricedPage {
  double importance = 0;
  PageRates rates;
};

// Estimates the demand of `all` pages from a sample, if greedy_ncis crawls each page whenever its
// value reaches `price`. The estimate uses the believed rates of the pages, not measured crawl
// rates and prices: the leader sets rates by prices, so measurements would show the leader's rule
// and not the pages. Unset = no page of the sample is ever worth the price. Cost: two thresholds
// per page of the sample, up to a microsecond each.
[[nodiscard]] std::optional<PriceDemand> DemandAt(std::span<const PricedPage> sample, uint64_t all,
                                                  double price);

// Extrapolates the demand from the price `from` to the price `to` along its slope. The rate changes
// by a factor of at most ten in either direction. Precondition: both prices > 0.
[[nodiscard]] PriceDemand DemandMoved(const PriceDemand& demand, double from, double to);

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_PRICE_METER_H_
