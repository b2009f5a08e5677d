// SchedulerService: assignments to workers, on streams and by single calls.
#ifndef FRESHET_SERVER_API_SCHEDULER_SERVICE_H_
#define FRESHET_SERVER_API_SCHEDULER_SERVICE_H_

#include <string_view>

#include "freshet/v1/scheduler.grpc.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

using SchedulerServiceBase =
    RawMethods<v1::SchedulerService::Service, v1::SchedulerService::WithRawCallbackMethod_Crawl,
               v1::SchedulerService::WithRawCallbackMethod_Next>::Service;

inline constexpr std::string_view kNextPath = "/freshet.v1.SchedulerService/Next";

// Thread-safe.
class SchedulerService final : public SchedulerServiceBase {
 public:
  explicit SchedulerService(const ServerContext& context) : context_(context) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Crawl(
      grpc::CallbackServerContext* call) override;
  grpc::ServerUnaryReactor* Next(grpc::CallbackServerContext* call, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* reply) override;

 private:
  const ServerContext& context_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_SCHEDULER_SERVICE_H_
