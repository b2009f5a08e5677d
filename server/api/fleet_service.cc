#include "server/api/fleet_service.h"

#include <utility>

namespace freshet {
namespace {

void ShareRate(const ServerContext& context,
               UnaryCall<v1::ShareRateRequest, v1::ShareRateResponse>* call) {
  // What is sent on has the key of this process, which its servers alone are told.
  if (context.rates == nullptr || !call->shown().sent_on) {
    return call->Answer({grpc::StatusCode::PERMISSION_DENIED, "is for the servers of a fleet"});
  }
  context.rates->Hear(call->request(), [call](StatusOr<v1::ShareRateResponse> answer) {
    if (!answer.ok()) return call->Answer(GrpcStatusOf(answer.status()));
    *call->response() = *std::move(answer);
    call->Answer(grpc::Status::OK);
  });
}

}  // namespace

grpc::ServerUnaryReactor* FleetService::ShareRate(grpc::CallbackServerContext* call,
                                                  const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* reply) {
  return Handle("/freshet.v1.FleetService/ShareRate", context_, *call, *request, reply,
                freshet::ShareRate);
}

}  // namespace freshet
