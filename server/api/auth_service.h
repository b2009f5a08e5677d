// AuthService: what clients find out about themselves.
#ifndef FRESHET_SERVER_API_AUTH_SERVICE_H_
#define FRESHET_SERVER_API_AUTH_SERVICE_H_

#include "freshet/v1/auth.grpc.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

using AuthServiceBase =
    RawMethods<v1::AuthService::Service, v1::AuthService::WithRawCallbackMethod_WhoAmI>::Service;

// Thread-safe.
class AuthService final : public AuthServiceBase {
 public:
  explicit AuthService(const ServerContext& context) : context_(context) {}

  grpc::ServerUnaryReactor* WhoAmI(grpc::CallbackServerContext* call,
                                   const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* reply) override;

 private:
  const ServerContext& context_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_AUTH_SERVICE_H_
