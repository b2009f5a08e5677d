// Leases that are given back by workers, to this server or to that of another division.
#ifndef FRESHET_SERVER_API_LEASE_RETURNS_H_
#define FRESHET_SERVER_API_LEASE_RETURNS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "freshet/v1/scheduler.pb.h"
#include "google/protobuf/repeated_field.h"
#include "server/api/batch.h"
#include "server/api/context.h"
#include "server/auth/authoriser.h"
#include "server/auth/on_behalf.h"

namespace freshet {

inline constexpr std::string_view kReturnLeasesPath = "/freshet.v1.FleetService/ReturnLeases";

// The returns of one message; there are as many as CheckItemCount allows. A lease that is not open
// any more needs none. `caller` outlives the call. Thread-safe.
[[nodiscard]] Batch ConvertReturns(uint64_t sequence,
                                   const google::protobuf::RepeatedField<uint64_t>& lease_ids,
                                   const Caller& caller);

// Those of assignments. Thread-safe.
[[nodiscard]] std::vector<LeaseId> LeasesOf(const std::vector<Assignment>& assignments);
// Those of assignments that another division has answered with. Thread-safe.
[[nodiscard]] std::vector<LeaseId> LeasesIn(const v1::NextResponse& response);

// Has the server of another division take leases back that reached nobody. What cannot be told runs
// out. Thread-safe.
void ReturnElsewhere(const ServerContext& context, uint32_t division, const ShownByClient& client,
                     const std::vector<LeaseId>& leases);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_LEASE_RETURNS_H_
