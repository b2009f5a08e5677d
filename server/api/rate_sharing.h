// The one crawl rate of a fleet, of which each division has a part, as the services reach it.
#ifndef FRESHET_SERVER_API_RATE_SHARING_H_
#define FRESHET_SERVER_API_RATE_SHARING_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/status.h"
#include "core/base/units.h"
#include "freshet/v1/fleet.pb.h"

namespace freshet {

// For metrics and people. Value type, thread-compatible.
struct RateSharingStatus {
  bool shared = false;             // the crawl rate is a fleet's; nothing else is set otherwise
  bool leads = false;              // this server splits it
  std::optional<uint32_t> leader;  // the division of whose server does; unset: not known
  Rate total;                      // of the fleet, as far as it is known
  Rate granted;                    // to this division, now
  uint64_t grants = 0;             // that came
  uint64_t unheard = 0;            // reports that nobody answered with one
  Duration ungranted;              // for how long none has been in force; zero: one is
  bool cut_off = false;            // that is too long: nothing is handed out
  double price = 0;                // of this division; 0: not known
  double price_gap = 0;            // FleetRateFigures, where this server leads
};

// Thread-safe.
class RateSharing {
 public:
  using Answered = std::function<void(StatusOr<v1::ShareRateResponse>)>;

  RateSharing() = default;
  virtual ~RateSharing() = default;
  RateSharing(const RateSharing&) = delete;
  RateSharing& operator=(const RateSharing&) = delete;

  // The division whose server keeps the fleet's rate: it is set and asked for there.
  static constexpr uint32_t kKeeper = 0;

  // The fleet's rate, as far as this server knows. Precondition of the other: it is the keeper's.
  // Returns the rate before.
  [[nodiscard]] virtual Rate total() const = 0;
  virtual Rate SetTotal(Rate rate) = 0;
  // Takes a report of a server of the fleet. `answered` is called once, on any thread, errors as
  // FleetService.ShareRate has them.
  virtual void Hear(const v1::ShareRateRequest& report, Answered answered) = 0;
  [[nodiscard]] virtual RateSharingStatus status() const = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_RATE_SHARING_H_
