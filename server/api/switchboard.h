// Receives every call of the gRPC port before its first message. Checks the call against the table
// of methods, and passes it to its method.
#ifndef FRESHET_SERVER_API_SWITCHBOARD_H_
#define FRESHET_SERVER_API_SWITCHBOARD_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/check.h"
#include "grpcpp/generic/async_generic_service.h"
#include "server/api/call_method.h"
#include "server/api/caller.h"
#include "server/auth/authoriser.h"

namespace freshet {

// The table of methods. Thread-safe, except for Add and SetRest, which are called before the first
// call arrives.
class Switchboard final : public grpc::CallbackGenericService {
 public:
  // `authoriser` decides who may call, and outlives this; nullptr = all clients may call.
  explicit Switchboard(Authoriser* authoriser = nullptr) : authoriser_(authoriser) {}

  void Add(std::vector<CallMethod> methods) {
    for (CallMethod& method : methods) {
      const bool added = methods_.emplace(std::string(method.path), std::move(method.start)).second;
      CHECK(added, "{} is there twice", method.path);
    }
  }
  // Passes all other calls to `rest`, which outlives this; by default they are UNIMPLEMENTED.
  void SetRest(grpc::CallbackGenericService* rest) { rest_ = rest; }

  Reactor* CreateReactor(grpc::GenericCallbackServerContext* call) override {
    if (authoriser_ != nullptr) {
      if (auto* away = TurnAway<Reactor>(*authoriser_, call->method(), *call)) return away;
    }
    const auto it = methods_.find(call->method());
    if (it != methods_.end()) return it->second(call);
    if (rest_ != nullptr) return rest_->CreateReactor(call);
    return new EndedCall<Reactor>({grpc::StatusCode::UNIMPLEMENTED, ""});
  }

 private:
  Authoriser* const authoriser_;
  absl::flat_hash_map<std::string, std::function<Reactor*(ServerCall*)>> methods_;
  grpc::CallbackGenericService* rest_ = nullptr;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_SWITCHBOARD_H_
