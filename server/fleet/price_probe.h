// Measures for the fleet what the pages of this server are worth, from all shards beside their
// work.
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
  // The last answers. Value type, thread-compatible.
  struct Figures {
    double price = 0;                   // RateReport::price
    std::optional<PriceDemand> demand;  // the demand at `price`
    uint64_t pages = 0;                 // not leased
  };

  // Both outlive this; shards that answer later do not need it.
  PriceProbe(Router& router, Clock& clock);

  // Asks all shards, unless some have not answered yet. To be called about once a second. Under a
  // rate policy there is no price, only the number of pages.
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
