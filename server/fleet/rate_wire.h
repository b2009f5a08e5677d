// Converts messages about the crawl rate of a fleet (core/fleet/fleet_rate.h).
#ifndef FRESHET_SERVER_FLEET_RATE_WIRE_H_
#define FRESHET_SERVER_FLEET_RATE_WIRE_H_

#include <optional>

#include "core/base/status.h"
#include "core/fleet/fleet_rate.h"
#include "freshet/v1/fleet.pb.h"

namespace freshet {

// The rate of the whole fleet, and the time at which its keeper last confirmed it. Value type,
// thread-compatible.
struct FleetTotal {
  Rate rate;
  Instant told;
};

// All functions are thread-safe. FromProto fails with InvalidArgument, which names the field. It
// does not find all faults: Validate and RateLeader find the others.

void ToProto(const RateReport& report, v1::ShareRateRequest* out);
[[nodiscard]] StatusOr<RateReport> FromProto(const v1::ShareRateRequest& request);
void ToProto(const RateGrant& grant, v1::RateGrant* out);
[[nodiscard]] StatusOr<RateGrant> FromProto(const v1::RateGrant& grant);
void ToProto(const FleetTotal& total, v1::FleetCrawlRate* out);
[[nodiscard]] StatusOr<FleetTotal> FromProto(const v1::FleetCrawlRate& total);

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_RATE_WIRE_H_
