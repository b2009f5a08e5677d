// Unary calls, taken as bytes like the messages of streams. The generated code answers
// UNIMPLEMENTED to a request that it cannot read; here it is INVALID_ARGUMENT with a reason that
// names the field.
#ifndef FRESHET_SERVER_API_UNARY_H_
#define FRESHET_SERVER_API_UNARY_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/api/audited.h"
#include "server/api/batch.h"
#include "server/api/call_stats.h"
#include "server/api/caller.h"
#include "server/api/context.h"
#include "server/api/faults.h"
#include "server/api/request_id.h"
#include "server/api/wire.h"
#include "server/base/client_network.h"
#include "server/logs/loggers.h"

namespace freshet {

// A line of the log, at `debug`, for a call that is answered.
inline void LogCall(std::string_view path, std::string_view request_id,
                    const grpc::Status& status) {
  if (!Logger(LogModule::kApi).should_log(spdlog::level::debug)) return;
  const ScopedRequestId id(request_id);
  LogWith(LogModule::kApi, spdlog::level::debug, "call",
          {{"method", std::string(path)}, {"outcome", AuditOutcome(status)}});
}

// Likewise for a stream that is opened. Before anything is sent on it. Returns its request id.
inline std::string NoteStream(std::string_view path, const ServerContext& context,
                              grpc::CallbackServerContext& info) {
  std::string id = TakeRequestId(context.request_ids, info);
  if (!Logger(LogModule::kApi).should_log(spdlog::level::debug)) return id;
  const ScopedRequestId scope(id);
  LogWith(LogModule::kApi, spdlog::level::debug, "stream opened",
          {{"method", std::string(path)}, {"from", NetworkText(NetworkOfPeer(info.peer()))}});
  return id;
}

// One call with its messages. It lives until gRPC is done with it, which is after Answer.
// Thread-compatible.
template <typename Request, typename Response>
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  // `path` is that of its MethodRule; `reply` is gRPC's and outlives the call.
  UnaryCall(std::string_view path, std::string request_id, grpc::ByteBuffer* reply)
      : path_(path), request_id_(std::move(request_id)), reply_(reply) {}

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
    if (audit_) audit_->SetRequest(request_);
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
  // What becomes of the call is to be written to the audit log.
  void SetAudit(CallAudit audit) { audit_.emplace(std::move(audit)); }
  // What held before the call changed it; `of` makes a message of it, if it is wanted.
  template <typename Of>
  void SetBefore(const Of& of) {
    if (audit_) audit_->SetBefore(AuditText(of(), true));
  }
  // What holds after it, where the response does not say.
  template <typename Of>
  void SetAfter(const Of& of) {
    if (audit_) audit_->SetAfter(AuditText(of(), true));
  }
  // Something is changed, however the call ends.
  void NoteChange() {
    if (audit_) audit_->NoteChange();
  }
  // This one changes what is everybody's: it is written down however many there are.
  void NoteEach() {
    if (audit_) audit_->NoteEach();
  }
  [[nodiscard]] bool audited() const { return audit_.has_value(); }
  [[nodiscard]] const std::string& request_id() const { return request_id_; }
  [[nodiscard]] const Credentials& credentials() const { return credentials_; }
  [[nodiscard]] const Caller& caller() const { return caller_; }
  // Outlives this.
  void SetContext(const grpc::CallbackServerContext& context) { info_ = &context; }
  // Whether nobody waits for the answer any more.
  [[nodiscard]] bool cancelled() const { return info_ != nullptr && info_->IsCancelled(); }
  // For servers of other divisions that are asked for it.
  void SetShown(ShownByClient shown) { shown_ = std::move(shown); }
  [[nodiscard]] const ShownByClient& shown() const { return shown_; }
  [[nodiscard]] std::string_view path() const { return path_; }
  [[nodiscard]] const Request& request() const { return request_; }
  // By rising item.
  [[nodiscard]] const std::vector<TextFault>& text_faults() const { return faults_.texts; }
  [[nodiscard]] Response* response() { return &response_; }

  // What is done before the call ends, once: it is given how it would end, and Answers instead.
  void SetLast(std::function<void(const grpc::Status&)> last) { last_ = std::move(last); }

  // Ends the call, with the response if the status is OK. The last use of this object.
  void Answer(const grpc::Status& status) {
    if (last_) return std::exchange(last_, nullptr)(status);
    CHECK(!std::exchange(answered_, true), "answered twice");
    if (status.ok()) *reply_ = SerialiseMessage(response_);
    if (watch_) watch_->End(status.error_code());
    LogCall(path_, request_id_, status);
    if (!audit_) return Finish(status);
    // Nobody hears of a change that is not written down.
    audit_->Finish(status, response_, [this, status] { Finish(status); });
  }
  void OnDone() override { delete this; }

 private:
  const std::string_view path_;
  const std::string request_id_;
  grpc::ByteBuffer* const reply_;
  const grpc::CallbackServerContext* info_ = nullptr;
  std::optional<CallAudit> audit_;
  Credentials credentials_;
  Caller caller_;
  ShownByClient shown_;
  Request request_;
  Response response_;
  MessageFaults faults_;
  std::optional<CallWatch> watch_;
  std::function<void(const grpc::Status&)> last_;
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

// Whether a call is paid for, as items are, or costs nothing, though who makes it is known to the
// handler.
enum class Payment { kFree, kFreeOfCaller, kAsAnItem };

// Finds out who makes a call, and has them pay for it: before the request is read, which costs
// more.
template <typename Request, typename Response>
grpc::Status AdmitCaller(const MethodRule& rule, Payment payment, const ServerContext& context,
                         grpc::CallbackServerContext& info, UnaryCall<Request, Response>* call) {
  const bool changes = ChangesServer(rule);
  if (payment == Payment::kFree && !changes) return grpc::Status::OK;
  // Removals and rechecks are for ingesters as well, who are not written down.
  const bool pages = rule.checked != 0 && rule.roles == kIngester;
  Credentials credentials;
  const bool shared = (rule.checked & kCrawlIds) != 0;  // takes of what is shared
  if (context.authoriser.knows_clients() || changes || shared) credentials = CredentialsOf(info);
  StatusOr<Caller> caller = context.authoriser.Check(rule, credentials);
  if (!caller.ok()) return GrpcStatusOf(caller.status());
  if (changes || rule.noted || (pages && caller->is_admin())) {
    AuditEntry entry = {.request_id = call->request_id(),
                        .who = Authoriser::ClientOf(*caller, credentials),
                        .from = NetworkText(credentials.network),
                        .action = std::string(rule.path)};
    call->SetAudit(CallAudit(context.audit, std::move(entry), !changes));
  }
  if (payment == Payment::kFree) return grpc::Status::OK;
  if (shared) caller->SetClient(ClientNumber(Authoriser::ClientOf(*caller, credentials)));
  grpc::Status status;
  if (payment == Payment::kAsAnItem) {
    caller->SetBudget(context.authoriser.BudgetOf(*caller, credentials, context.clock.Now()));
    status = PayForCall(context, *caller, info);
  }
  call->SetCaller(std::move(credentials), *std::move(caller));
  return status;
}

// Admits the caller, reads the request and has `handle` answer it, at once or later. `path` is that
// of the MethodRule.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* HandleWith(
    Payment payment, std::string_view path, const ServerContext& context,
    grpc::CallbackServerContext& info, const grpc::ByteBuffer& request, grpc::ByteBuffer* reply,
    void (*handle)(const ServerContext&, UnaryCall<Request, Response>*)) {
  const MethodRule* rule = FindMethod(path);
  CHECK(rule != nullptr, "{} has no rule", path);
  if (auto* away = TurnAway<grpc::ServerUnaryReactor>(context.authoriser, path, info)) return away;
  auto* call =
      new UnaryCall<Request, Response>(rule->path, TakeRequestId(context.request_ids, info), reply);
  call->Watch(context, context.calls.Find(path));
  // The call may be over, and gone, when `handle` returns.
  const std::string id = call->request_id();
  const ScopedRequestId scope(id);
  call->SetContext(info);
  if (context.divisions != nullptr || rule->between_servers) call->SetShown(ShownBy(info));
  grpc::Status status = AdmitCaller(*rule, payment, context, info, call);
  if (status.ok()) status = GrpcStatusOf(CheckServer(*rule, call->shown()));
  if (status.ok()) status = call->Read(request, MostBytes(context));
  if (status.ok()) {
    handle(context, call);
  } else {
    call->Answer(status);
  }
  return call;
}

// For a method whose calls cost nothing.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* Handle(std::string_view path, const ServerContext& context,
                                 grpc::CallbackServerContext& info, const grpc::ByteBuffer& request,
                                 grpc::ByteBuffer* reply,
                                 void (*handle)(const ServerContext&,
                                                UnaryCall<Request, Response>*)) {
  return HandleWith(Payment::kFree, path, context, info, request, reply, handle);
}

// For a method that looks at items.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* HandleFor(std::string_view path, const ServerContext& context,
                                    grpc::CallbackServerContext& info,
                                    const grpc::ByteBuffer& request, grpc::ByteBuffer* reply,
                                    void (*handle)(const ServerContext&,
                                                   UnaryCall<Request, Response>*)) {
  return HandleWith(Payment::kAsAnItem, path, context, info, request, reply, handle);
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
