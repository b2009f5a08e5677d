// gRPC's reflection: tools ask what services there are, and of what messages. gRPC's own service
// for it has a thread for each call and asks nobody who calls; these calls are streams like all
// others, and count as such.
#ifndef FRESHET_SERVER_API_REFLECTION_SERVICE_H_
#define FRESHET_SERVER_API_REFLECTION_SERVICE_H_

#include <string>
#include <utility>
#include <vector>

#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

using ReflectionServiceBase = RawMethods<grpc::reflection::v1alpha::ServerReflection::Service,
                                         grpc::reflection::v1alpha::ServerReflection::
                                             WithRawCallbackMethod_ServerReflectionInfo>::Service;

// Thread-safe.
class ReflectionService final : public ReflectionServiceBase {
 public:
  explicit ReflectionService(const ServerContext& context) : context_(context) {}

  // The full names of all services, before the first call.
  void SetServices(std::vector<std::string> services) { services_ = std::move(services); }

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ServerReflectionInfo(
      grpc::CallbackServerContext* call) override;

 private:
  const ServerContext& context_;
  std::vector<std::string> services_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_REFLECTION_SERVICE_H_
