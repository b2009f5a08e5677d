// Returns leases, to this server or to the server of another division.
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

// Converts the returns of one message. Precondition: CheckItemCount accepts their number. Returning
// a closed lease succeeds. `caller` outlives the call. Thread-safe.
[[nodiscard]] Batch ConvertReturns(uint64_t sequence,
                                   const google::protobuf::RepeatedField<uint64_t>& lease_ids,
                                   const Caller& caller);

// The leases of assignments. Thread-safe.
[[nodiscard]] std::vector<LeaseId> LeasesOf(const std::vector<Assignment>& assignments);
// The leases of assignments in another division's answer. Thread-safe.
[[nodiscard]] std::vector<LeaseId> LeasesIn(const v1::NextResponse& response);

// Returns leases to the server of another division, because their assignments reached no worker.
// Leases that cannot be returned expire. Thread-safe.
void ReturnElsewhere(const ServerContext& context, uint32_t division, const ShownByClient& client,
                     const std::vector<LeaseId>& leases);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_LEASE_RETURNS_H_
