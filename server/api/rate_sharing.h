// The interface by which services reach the crawl rate of a fleet. Operators set the rate, and each
// division gets a part of it.
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
  bool shared = false;             // the rate is shared in a fleet; if not, no other field is set
  bool leads = false;              // this server divides the rate
  std::optional<uint32_t> leader;  // division whose server divides the rate; unset = not known
  Rate total;                      // the crawl rate of the fleet, as far as known
  Rate granted;                    // the present part of this division
  uint64_t grants = 0;             // grants received
  uint64_t unheard = 0;            // reports that got no grant
  Duration ungranted;              // time without a valid grant; 0 = a grant is valid
  bool cut_off = false;            // without a grant for too long: nothing is handed out
  double price = 0;                // the price of this division; 0 = not known
  double price_gap = 0;            // only on the leader: see FleetRateFigures
};

// Shares the rate. Thread-safe.
class RateSharing {
 public:
  using Answered = std::function<void(StatusOr<v1::ShareRateResponse>)>;

  RateSharing() = default;
  virtual ~RateSharing() = default;
  RateSharing(const RateSharing&) = delete;
  RateSharing& operator=(const RateSharing&) = delete;

  // The fleet's rate, as far as this server knows. SetTotal returns the previous rate, and is only
  // called on the server of SlotDivision::kKeeper.
  [[nodiscard]] virtual Rate total() const = 0;
  virtual Rate SetTotal(Rate rate) = 0;
  // Handles a report from another server of the fleet. `answered` is called once, on any thread,
  // with the errors of FleetService.ShareRate.
  virtual void Hear(const v1::ShareRateRequest& report, Answered answered) = 0;
  [[nodiscard]] virtual RateSharingStatus status() const = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_RATE_SHARING_H_
