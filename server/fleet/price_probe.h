// What the pages of this server are worth, as the fleet asks: gathered from all shards beside their
// work.
#ifndef FRESHET_SERVER_FLEET_PRICE_PROBE_H_
#define FRESHET_SERVER_FLEET_PRICE_PROBE_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "core/fleet/fleet_rate.h"
#include "server/base/system_clock.h"
#include "server/engine/router.h"

namespace freshet {

// Thread-safe.
class PriceProbe {
 public:
  // Value type, thread-compatible.
  struct Figures {
    double price = 0;                   // RateReport::price
    std::optional<PriceDemand> demand;  // at that price
    uint64_t pages = 0;                 // that are not out
  };

  // Both outlive this; what shards have still to answer does not need it.
  PriceProbe(Router& router, Clock& clock);

  // Asks all shards anew, unless some have not answered yet: about once a second. Under a rate
  // policy there is no price, and pages alone count.
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
