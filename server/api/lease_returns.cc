#include "server/api/lease_returns.h"

#include <algorithm>

#include "freshet/v1/fleet.pb.h"
#include "server/api/divisions.h"
#include "server/api/from_proto.h"
#include "server/api/wire.h"
#include "server/config.h"

namespace freshet {

Batch ConvertReturns(uint64_t sequence, const google::protobuf::RepeatedField<uint64_t>& lease_ids,
                     const Caller& caller) {
  Batch batch(sequence, lease_ids.size());
  batch.SetCaller(&caller);
  for (int i = 0; i < lease_ids.size(); ++i) batch.Add(i, ConvertReturn(lease_ids.Get(i)));
  batch.SetReview([](Reply* reply) {
    if (reply->status.code() == absl::StatusCode::kNotFound) {
      *reply = {.disposition = Disposition::kDuplicate};
    }
  });
  return batch;
}

std::vector<LeaseId> LeasesOf(const std::vector<Assignment>& assignments) {
  std::vector<LeaseId> leases;
  leases.reserve(assignments.size());
  for (const Assignment& assignment : assignments) leases.push_back(assignment.lease);
  return leases;
}

std::vector<LeaseId> LeasesIn(const v1::NextResponse& response) {
  std::vector<LeaseId> leases;
  for (const v1::Assignment& assignment : response.assignments()) {
    leases.emplace_back(assignment.lease_id());
  }
  return leases;
}

void ReturnElsewhere(const ServerContext& context, uint32_t division, const ShownByClient& client,
                     const std::vector<LeaseId>& leases) {
  const auto most = static_cast<size_t>(context.config.max_message_items.get());
  for (size_t from = 0; from < leases.size(); from += most) {
    v1::ReturnLeasesRequest request;
    for (size_t i = from; i < std::min(leases.size(), from + most); ++i) {
      request.add_lease_ids(leases[i].value());
    }
    context.divisions->Open(division, kReturnLeasesPath, client)
        ->Send(SerialiseMessage(request), [](const StatusOr<grpc::ByteBuffer>&) {});
  }
}

}  // namespace freshet
