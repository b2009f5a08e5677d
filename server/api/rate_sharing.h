// The crawl rate that operators set, of which each division of a fleet has a part: the interface
// for the services.
#ifndef FRESHET_SERVER_API_RATE_SHARING_H_
#define FRESHET_SERVER_API_RATE_SHARING_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/status.h"
#include "core/base/units.h"
#include "freshet/v1/fleet.pb.h"

namespace freshet {

// The state for metrics and people. Value type, thread-compatible.
struct RateSharingStatus {
  bool shared = false;             // the rate is a fleet's; otherwise nothing else is set
  bool leads = false;              // this server splits it
  std::optional<uint32_t> leader;  // the division whose server splits it; unset = not known
  Rate total;                      // the crawl rate of the fleet, as far as known
  Rate granted;                    // to this division, now
  uint64_t grants = 0;             // that came
  uint64_t unheard = 0;            // reports that brought no grant
  Duration ungranted;              // time without a grant in force; 0 = one is in force
  bool cut_off = false;            // without a grant for too long: nothing is handed out
  double price = 0;                // the price of this division; 0 = not known
  double price_gap = 0;            // see FleetRateFigures; only of the leader
};

// The sharing. Thread-safe.
class RateSharing {
 public:
  using Answered = std::function<void(StatusOr<v1::ShareRateResponse>)>;

  RateSharing() = default;
  virtual ~RateSharing() = default;
  RateSharing(const RateSharing&) = delete;
  RateSharing& operator=(const RateSharing&) = delete;

  // The fleet's rate, as far as this server knows. Only the server of SlotDivision::kKeeper calls
  // SetTotal, which returns the rate before.
  [[nodiscard]] virtual Rate total() const = 0;
  virtual Rate SetTotal(Rate rate) = 0;
  // Takes a report of a server of the fleet. `answered` is called once, on any thread, with the
  // errors of FleetService.ShareRate.
  virtual void Hear(const v1::ShareRateRequest& report, Answered answered) = 0;
  [[nodiscard]] virtual RateSharingStatus status() const = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_RATE_SHARING_H_
