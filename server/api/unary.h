// Unary calls, taken as bytes like the messages of streams. The generated code answers
// UNIMPLEMENTED to a request that it cannot read; here it is INVALID_ARGUMENT with a reason that
// names the field.
#ifndef FRESHET_SERVER_API_UNARY_H_
#define FRESHET_SERVER_API_UNARY_H_

#include <algorithm>
#include <functional>
#include <memory>
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
#include "server/api/call_method.h"
#include "server/api/call_reactor.h"
#include "server/api/caller.h"
#include "server/api/context.h"
#include "server/api/faults.h"
#include "server/api/request_id.h"
#include "server/api/wire.h"
#include "server/base/answer_limits.h"
#include "server/base/client_network.h"
#include "server/base/places.h"
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

// Whether a call is paid for, as items are, or costs nothing, though who makes it is known to the
// handler.
enum class Payment { kFree, kFreeOfCaller, kAsAnItem };

// One call with its messages. It lives until gRPC is done with it, which is after Answer.
// Thread-compatible.
template <typename Request, typename Response>
class UnaryCall : public CallReactor {
 public:
  // Answers the call, at once or later.
  using Handler = void (*)(const ServerContext&, UnaryCall*);

  UnaryCall(const ServerContext& context, std::string_view path, Payment payment, Handler handler,
            grpc::CallbackServerContext* info)
      : CallReactor(HostOf(context), path, CallKind::kUnary, info),
        context_(context),
        rule_(*FindMethod(path)),
        payment_(payment),
        handler_(handler) {
    if (context.divisions != nullptr || rule_.between_servers) shown_ = ShownBy(*info);
  }

  ~UnaryCall() override { LetGo(); }

  // Takes in the request. INVALID_ARGUMENT: there is none, or one of more than `most` bytes once it
  // is inflated; RESOURCE_EXHAUSTED: it does not fit what the server holds of messages. Then Answer
  // is all that may follow.
  [[nodiscard]] grpc::Status Read(const grpc::ByteBuffer& bytes, size_t most) {
    most = MostBytesOf<Request>(most);
    if (const size_t size = SizeOf(bytes); size > limits::kMaxPlainRequestBytes && size <= most) {
      if (!context_.streams.TryHold(shared_from_this(), size)) {
        return {grpc::StatusCode::RESOURCE_EXHAUSTED,
                "the server holds too many bytes of messages: try again later"};
      }
      held_ = size;
    }
    grpc::ByteBuffer shared(bytes);
    const Status status = ParseMessage(&shared, &request_, &faults_, most);
    if (!status.ok()) return GrpcStatusOf(status);
    // A call may wait for long before it is answered: what nobody reads keeps no room meanwhile.
    request_.DiscardUnknownFields();
    HoldOnly(request_.ByteSizeLong());
    if (audit_) audit_->SetRequest(request_);
    // Those of items are for whoever answers item by item.
    const auto& texts = faults_.texts;
    if (texts.empty() || texts.front().item >= 0) return grpc::Status::OK;
    return GrpcStatusOf(StatusOf(texts.front()));
  }
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
  // Nothing is.
  void NoteNoChange() {
    if (audit_) audit_->NoteNoChange();
  }
  // What is changed, where programs may change the same all the time.
  void SetTarget(std::string target) {
    if (audit_) audit_->SetTarget(std::move(target));
  }
  [[nodiscard]] bool audited() const { return audit_.has_value(); }
  [[nodiscard]] const Credentials& credentials() { return auth().credentials(); }
  // Who calls; unless that matters, somebody who is limited in nothing.
  [[nodiscard]] const Caller& caller() const { return caller_; }
  // Whether nobody waits for the answer any more, or may have it.
  [[nodiscard]] bool cancelled() const { return !stopped().ok(); }
  // For servers of other divisions that are asked for it.
  [[nodiscard]] const ShownByClient& shown() const { return shown_; }
  [[nodiscard]] std::string_view path() const { return rule_.path; }
  // Takes one of the places of context.listings until the call is over, unless it has one; whether
  // it has.
  [[nodiscard]] bool TakePlace() {
    if (place_) return true;
    std::optional<Places::Place> place = context_.listings.Take(client(), auth().admin());
    if (place) place_.emplace(*std::move(place));
    return place_.has_value();
  }
  [[nodiscard]] const Request& request() const { return request_; }
  // By rising item.
  [[nodiscard]] const std::vector<TextFault>& text_faults() const { return faults_.texts; }
  [[nodiscard]] Response* response() { return &response_; }

  // What is done before the call ends, once: it is given how it would end, and Answers instead.
  void SetLast(std::function<void(const grpc::Status&)> last) { last_ = std::move(last); }

  // Ends the call, with the response if the status is OK. The last use of this object.
  void Answer(grpc::Status status) {
    if (last_) return std::exchange(last_, nullptr)(status);
    CHECK(!std::exchange(answered_, true), "answered twice");
    // What is known is not for those who may not be here any more; what was changed is changed.
    if (const grpc::Status why = stopped(); (rule_.roles & kReader) != 0 && !why.ok()) status = why;
    if (status.ok()) status = Serialise();
    LogCall(rule_.path, request_id(), status);
    // The client may leave the answer for long: others need the room that its request has taken.
    LetGo();
    if (!audit_) return Send(status);
    // Nobody hears of a change that is not written down.
    audit_->Finish(status, response_, [this, status] { Send(status); });
  }

 protected:
  void OnRequest(grpc::ByteBuffer* bytes) override {
    // The call may be over, and gone, when the handler returns.
    const std::shared_ptr<CallReactor> held = shared_from_this();
    const ScopedRequestId scope(request_id());
    const grpc::Status status = Receive(*bytes);
    bytes->Clear();
    if (status.ok()) {
      handler_(context_, this);
    } else {
      Answer(status);
    }
  }
  // The request is no more, and counts for nothing.
  void LetGo() {
    request_.Clear();
    HoldOnly(0);
  }
  // No more than so many bytes of the request are kept; few count for nothing.
  void HoldOnly(size_t bytes) {
    const size_t kept = bytes > limits::kMaxPlainRequestBytes ? std::min(bytes, held_) : 0;
    if (const size_t less = std::exchange(held_, kept) - kept; less > 0) {
      ResumeAll(context_.streams.Release(*this, less));
    }
  }
  // Admits the caller and takes in the request.
  [[nodiscard]] grpc::Status Receive(const grpc::ByteBuffer& bytes) {
    grpc::Status status = Admit();
    if (status.ok()) status = GrpcStatusOf(CheckServer(rule_, shown_));
    if (status.ok()) status = Read(bytes, MostBytes(context_));
    return status;
  }

  const ServerContext& context_;

 private:
  // Finds out who makes the call, and has them pay for it: before the request is read, which costs
  // more.
  [[nodiscard]] grpc::Status Admit();

  // RESOURCE_EXHAUSTED: the response is too large.
  [[nodiscard]] grpc::Status Serialise() {
    StatusOr<grpc::ByteBuffer> bytes = SerialiseAnswer(response_);
    if (!bytes.ok()) return GrpcStatusOf(bytes.status());
    reply_ = *std::move(bytes);
    return grpc::Status::OK;
  }
  void Send(const grpc::Status& status) {
    if (!status.ok()) {
      End(status);
    } else if (place_) {
      Write(reply_);
    } else {
      SendAnswer(reply_);
    }
  }
  void OnWritten(bool ok) final {
    End(ok ? grpc::Status::OK
           : grpc::Status(grpc::StatusCode::UNAVAILABLE, "the answer was not taken"));
  }

  const MethodRule& rule_;
  const Payment payment_;
  const Handler handler_;
  std::optional<CallAudit> audit_;
  Caller caller_;
  ShownByClient shown_;
  Request request_;
  Response response_;
  grpc::ByteBuffer reply_;
  MessageFaults faults_;
  std::optional<Places::Place> place_;
  std::function<void(const grpc::Status&)> last_;
  size_t held_ = 0;  // bytes of the request that context.streams counts
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

template <typename Request, typename Response>
grpc::Status UnaryCall<Request, Response>::Admit() {
  const bool changes = ChangesServer(rule_);
  if (payment_ == Payment::kFree && !changes) return grpc::Status::OK;
  // Removals and rechecks are for ingesters as well, who are not written down.
  const bool pages = rule_.checked != 0 && rule_.roles == kIngester;
  const StatusOr<const Caller*> caller = auth().Get();
  if (!caller.ok()) return GrpcStatusOf(caller.status());
  if (changes || rule_.noted || (pages && (*caller)->is_admin())) {
    AuditEntry entry = {.request_id = request_id(),
                        .who = client(),
                        .from = NetworkText(credentials().network),
                        .action = std::string(rule_.path)};
    audit_.emplace(context_.audit, std::move(entry));
  }
  if (payment_ == Payment::kFree) return grpc::Status::OK;
  caller_ = **caller;
  if (payment_ == Payment::kFreeOfCaller) return grpc::Status::OK;
  return PayForCall(context_, caller_, call());
}

// A method whose calls bring one message and get one.
template <typename Request, typename Response>
[[nodiscard]] CallMethod Unary(Payment payment, std::string_view path, const ServerContext& context,
                               void (*handle)(const ServerContext&,
                                              UnaryCall<Request, Response>*)) {
  return {path, [payment, path, &context, handle](ServerCall* info) -> Reactor* {
            const auto call = std::make_shared<UnaryCall<Request, Response>>(context, path, payment,
                                                                             handle, info);
            call->Begin();
            return call.get();
          }};
}
// One whose calls cost nothing.
template <typename Request, typename Response>
[[nodiscard]] CallMethod Free(std::string_view path, const ServerContext& context,
                              void (*handle)(const ServerContext&, UnaryCall<Request, Response>*)) {
  return Unary(Payment::kFree, path, context, handle);
}
// One that looks at items.
template <typename Request, typename Response>
[[nodiscard]] CallMethod Paid(std::string_view path, const ServerContext& context,
                              void (*handle)(const ServerContext&, UnaryCall<Request, Response>*)) {
  return Unary(Payment::kAsAnItem, path, context, handle);
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_UNARY_H_
