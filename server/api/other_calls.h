// Calls of methods that none of the server's services has.
#ifndef FRESHET_SERVER_API_OTHER_CALLS_H_
#define FRESHET_SERVER_API_OTHER_CALLS_H_

#include "grpcpp/generic/async_generic_service.h"
#include "server/auth/authoriser.h"

namespace freshet {

// Holds them against the table of methods as all others, and ends those that are let in, or has
// them answered elsewhere. Thread-safe.
class OtherCalls final : public grpc::CallbackGenericService {
 public:
  // `elsewhere` answers what is let in; null: UNIMPLEMENTED. Both outlive this.
  OtherCalls(Authoriser& authoriser, grpc::CallbackGenericService* elsewhere)
      : authoriser_(authoriser), elsewhere_(elsewhere) {}

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* call) override;

 private:
  Authoriser& authoriser_;
  grpc::CallbackGenericService* const elsewhere_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_OTHER_CALLS_H_
