// Unary calls, taken as bytes like the messages of streams. The generated code answers
// UNIMPLEMENTED to a request that it cannot read; here it is INVALID_ARGUMENT with a reason that
// names the field.
#ifndef FRESHET_SERVER_API_UNARY_H_
#define FRESHET_SERVER_API_UNARY_H_

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/api/batch.h"
#include "server/api/call_stats.h"
#include "server/api/caller.h"
#include "server/api/context.h"
#include "server/api/faults.h"
#include "server/api/wire.h"

namespace freshet {

// One call with its messages. It lives until gRPC is done with it, which is after Answer.
// Thread-compatible.
template <typename Request, typename Response>
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  // `reply` is gRPC's and outlives the call.
  explicit UnaryCall(grpc::ByteBuffer* reply) : reply_(reply) {}

  // The call is counted from here to Answer as one of that method.
  void Watch(const ServerContext& context, CallStats::Method method) {
    watch_.emplace(context.calls, context.clock, method, CallKind::kUnary);
  }
  // Takes in the request, of which no more than `most` bytes are inflated. INVALID_ARGUMENT: there
  // is none, and Answer is all that may follow.
  [[nodiscard]] grpc::Status Read(const grpc::ByteBuffer& bytes, size_t most) {
    grpc::ByteBuffer shared(bytes);
    const Status status = ParseMessage(&shared, &request_, &faults_, most);
    if (!status.ok()) return GrpcStatusOf(status);
    // Those of items are for whoever answers item by item.
    const auto& texts = faults_.texts;
    if (texts.empty() || texts.front().item >= 0) return grpc::Status::OK;
    return GrpcStatusOf(StatusOf(texts.front()));
  }
  // Who calls; unless it was set, somebody who is limited in nothing.
  void SetCaller(Credentials credentials, Caller caller) {
    credentials_ = std::move(credentials);
    caller_ = std::move(caller);
  }
  [[nodiscard]] const Credentials& credentials() const { return credentials_; }
  [[nodiscard]] const Caller& caller() const { return caller_; }
  [[nodiscard]] const Request& request() const { return request_; }
  // By rising item.
  [[nodiscard]] const std::vector<TextFault>& text_faults() const { return faults_.texts; }
  [[nodiscard]] Response* response() { return &response_; }

  // Ends the call, with the response if the status is OK. The last use of this object.
  void Answer(const grpc::Status& status) {
    CHECK(!std::exchange(answered_, true), "answered twice");
    if (status.ok()) *reply_ = SerialiseMessage(response_);
    if (watch_) watch_->End(status.error_code());
    Finish(status);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer* const reply_;
  Credentials credentials_;
  Caller caller_;
  Request request_;
  Response response_;
  MessageFaults faults_;
  std::optional<CallWatch> watch_;
  bool answered_ = false;
};

// Why a shard does not take what is to be read.
inline grpc::Status UnreadStatus(PushOutcome outcome) {
  if (outcome == PushOutcome::kFull) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            "more is being read than the server keeps waiting: try again later"};
  }
  return {grpc::StatusCode::UNAVAILABLE, "the server is shutting down"};
}

// Reads the request and has `handle` answer it, at once or later. `method` is the function that
// calls this, which is named as the method that it is of.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* Handle(const ServerContext& context, const grpc::ByteBuffer& request,
                                 grpc::ByteBuffer* reply,
                                 void (*handle)(const ServerContext&,
                                                UnaryCall<Request, Response>*),
                                 std::string_view method = __builtin_FUNCTION()) {
  auto* call = new UnaryCall<Request, Response>(reply);
  call->Watch(context, context.calls.Find(Request::descriptor()->file()->package(), method));
  if (const grpc::Status status = call->Read(request, MostBytes(context)); status.ok()) {
    handle(context, call);
  } else {
    call->Answer(status);
  }
  return call;
}

// Has the caller pay for a call. RESOURCE_EXHAUSTED when it calls too early, with when to call
// again.
inline grpc::Status PayForCall(const ServerContext& context, const Caller& caller,
                               grpc::CallbackServerContext& info) {
  const Duration wait = caller.PayForCall(context.clock.Now());
  if (wait == Duration()) return grpc::Status::OK;
  ++context.counters.refused_by_client;
  // Clients that follow gRPC's rules for retries wait for so long.
  info.AddTrailingMetadata("grpc-retry-pushback-ms", std::to_string(wait.micros() / 1000 + 1));
  return GrpcStatusOf(caller.TooEarly(wait));
}

// Finds out who calls a method that looks at items, and has them pay for the call: `path` is that
// of its MethodRule. Before the request is read, which costs more.
template <typename Request, typename Response>
grpc::Status AdmitCaller(std::string_view path, const ServerContext& context,
                         grpc::CallbackServerContext& info, UnaryCall<Request, Response>* call) {
  const MethodRule* rule = FindMethod(path);
  CHECK(rule != nullptr, "{} has no rule", path);
  Credentials credentials;
  if (context.authoriser.knows_clients()) credentials = CredentialsOf(info);
  StatusOr<Caller> caller = context.authoriser.Check(*rule, credentials);
  if (!caller.ok()) return GrpcStatusOf(caller.status());
  caller->SetBudget(context.authoriser.BudgetOf(*caller, credentials, context.clock.Now()));
  grpc::Status status = PayForCall(context, *caller, info);
  call->SetCaller(std::move(credentials), *std::move(caller));
  return status;
}

// Handle for a method that looks at items.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* HandleFor(std::string_view path, const ServerContext& context,
                                    grpc::CallbackServerContext& info,
                                    const grpc::ByteBuffer& request, grpc::ByteBuffer* reply,
                                    void (*handle)(const ServerContext&,
                                                   UnaryCall<Request, Response>*)) {
  auto* call = new UnaryCall<Request, Response>(reply);
  call->Watch(context, context.calls.Find(path));
  grpc::Status status = AdmitCaller(path, context, info, call);
  if (status.ok()) status = call->Read(request, MostBytes(context));
  if (status.ok()) {
    handle(context, call);
  } else {
    call->Answer(status);
  }
  return call;
}

// A generated service some of whose methods take bytes.
template <typename Base, template <typename> class... Methods>
struct RawMethods {
  using Service = Base;
};
template <typename Base, template <typename> class First, template <typename> class... Rest>
struct RawMethods<Base, First, Rest...> {
  using Service = First<typename RawMethods<Base, Rest...>::Service>;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_UNARY_H_
