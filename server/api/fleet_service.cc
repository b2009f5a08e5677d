#include "server/api/fleet_service.h"

#include <utility>

#include "core/base/check.h"

namespace freshet {
namespace {

void ShareRate(const ServerContext& context,
               UnaryCall<v1::ShareRateRequest, v1::ShareRateResponse>* call) {
  // Where there are others to be asked there is a rate to be shared; others have no key.
  CHECK(context.rates != nullptr, "no fleet");
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
