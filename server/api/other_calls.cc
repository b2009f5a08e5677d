#include "server/api/other_calls.h"

#include "server/api/caller.h"

namespace freshet {

grpc::ServerGenericBidiReactor* OtherCalls::CreateReactor(
    grpc::GenericCallbackServerContext* call) {
  using Reactor = grpc::ServerGenericBidiReactor;
  if (auto* away = TurnAway<Reactor>(authoriser_, call->method(), *call)) return away;
  if (elsewhere_ != nullptr) return elsewhere_->CreateReactor(call);
  return new EndedCall<Reactor>({grpc::StatusCode::UNIMPLEMENTED, ""});
}

}  // namespace freshet
