// FleetService: what servers of a fleet tell one another.
#ifndef FRESHET_SERVER_API_FLEET_SERVICE_H_
#define FRESHET_SERVER_API_FLEET_SERVICE_H_

#include "freshet/v1/fleet.grpc.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

using FleetServiceBase =
    RawMethods<v1::FleetService::Service, v1::FleetService::WithRawCallbackMethod_ShareRate,
               v1::FleetService::WithRawCallbackMethod_GetEpochTotals,
               v1::FleetService::WithRawCallbackMethod_TakePing,
               v1::FleetService::WithRawCallbackMethod_AnswerPing,
               v1::FleetService::WithRawCallbackMethod_ReportStandby,
               v1::FleetService::WithRawCallbackMethod_ReturnLeases,
               v1::FleetService::WithRawCallbackMethod_TakeUrls,
               v1::FleetService::WithRawCallbackMethod_LeaseUrls>::Service;

// Thread-safe.
class FleetService final : public FleetServiceBase {
 public:
  explicit FleetService(const ServerContext& context) : context_(context) {}

  grpc::ServerUnaryReactor* ShareRate(grpc::CallbackServerContext* call,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* GetEpochTotals(grpc::CallbackServerContext* call,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* TakePing(grpc::CallbackServerContext* call,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* AnswerPing(grpc::CallbackServerContext* call,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* ReportStandby(grpc::CallbackServerContext* call,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* ReturnLeases(grpc::CallbackServerContext* call,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* reply) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* TakeUrls(
      grpc::CallbackServerContext* call) override;
  grpc::ServerUnaryReactor* LeaseUrls(grpc::CallbackServerContext* call,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* reply) override;

 private:
  const ServerContext& context_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FLEET_SERVICE_H_
