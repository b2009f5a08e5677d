// Measures the price and the demand (core/fleet/fleet_rate.h) of this server's pages, which the
// server reports to the leader of the fleet. All shards are queried while they work.
#ifndef FRESHET_SERVER_FLEET_PRICE_PROBE_H_
#define FRESHET_SERVER_FLEET_PRICE_PROBE_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "core/fleet/fleet_rate.h"
#include "server/base/system_clock.h"

namespace freshet {

class Router;

// The price and demand of this server. Thread-safe.
class PriceProbe {
 public:
  // The figures from the last answers. Value type, thread-compatible.
  struct Figures {
    double price = 0;                   // RateReport::price
    std::optional<PriceDemand> demand;  // the demand at `price`
    uint64_t pages = 0;                 // pages that are not leased
  };

  // `router` and `clock` must outlive this object. Shards may answer after its destruction.
  PriceProbe(Router& router, Clock& clock);

  // Asks all shards, unless some have not answered the last call yet. Must be called about once a
  // second. Under a rate policy there is no price, only the number of pages.
  void Ask();
  [[nodiscard]] Figures figures() const;

 private:
  class Answers;
  struct Round;

  [[nodiscard]] uint64_t PagesNotOut() const;

  Router& router_;
  const std::shared_ptr<Answers> answers_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_PRICE_PROBE_H_
