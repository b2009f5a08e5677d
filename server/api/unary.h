// Unary calls. Requests are received as bytes, like the messages of streams. The generated code
// would answer an unreadable request with UNIMPLEMENTED. Here the answer is INVALID_ARGUMENT with a
// reason that names the field.
#ifndef FRESHET_SERVER_API_UNARY_H_
#define FRESHET_SERVER_API_UNARY_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/api/audit_request.h"
#include "server/api/audited.h"
#include "server/api/batch.h"
#include "server/api/call_method.h"
#include "server/api/call_reactor.h"
#include "server/api/caller.h"
#include "server/api/context.h"
#include "server/api/divisions.h"
#include "server/api/fleet_sums.h"
#include "server/api/wire.h"
#include "server/base/places.h"

namespace freshet {

// Logs at `debug` that a stream was opened. Called before anything is sent on the stream. Returns
// its request id.
std::string NoteStream(std::string_view path, const CallParts& parts,
                       grpc::CallbackServerContext& info);

// How a call is charged. kFree = not at all; kFreeOfCaller = not at all, but the handler learns who
// the caller is; kAsAnItem = like an item.
enum class Payment { kFree, kFreeOfCaller, kAsAnItem };

// One call with messages of any type. It lives until gRPC is done with it, which is after Answer.
// Thread-compatible.
class UnaryReactor : public CallReactor {
 public:
  // `most_bytes` is MostBytesOf for the type of the request.
  UnaryReactor(const ServerContext& context, std::string_view path, Payment payment,
               size_t (*most_bytes)(size_t), grpc::CallbackServerContext* info);
  ~UnaryReactor() override { HoldOnly(0); }

  // Sets the state before the call. `of` makes the message that describes the state, and is called
  // only if the call is audited.
  template <typename Of>
  void SetBefore(const Of& of) {
    if (audit_) audit_->SetBefore(AuditText(of(), true));
  }
  // Sets the state after the call, if the response does not show it.
  template <typename Of>
  void SetAfter(const Of& of) {
    if (audit_) audit_->SetAfter(AuditText(of(), true));
  }
  // Notes that the call has changed something, even if it fails.
  void NoteChange() {
    if (audit_) audit_->NoteChange();
  }
  // Notes that the call has changed nothing, even if it succeeds.
  void NoteNoChange() {
    if (audit_) audit_->NoteNoChange();
  }
  // Sets the target of the change. The audit log limits repeated changes of one target to a few
  // entries a minute, so set it only for changes that programs can make all the time.
  void SetTarget(std::string target) {
    if (audit_) audit_->SetTarget(std::move(target));
  }
  [[nodiscard]] bool audited() const { return audit_.has_value(); }
  [[nodiscard]] const Credentials& credentials() { return auth().credentials(); }
  // The caller. With Payment::kFree, a caller without limits.
  [[nodiscard]] const Caller& caller() const { return caller_; }
  // Whether the client no longer waits for the answer, or may no longer get it.
  [[nodiscard]] bool cancelled() const { return !stopped().ok(); }
  // The client's credentials, for calls to the servers of other divisions.
  [[nodiscard]] const ShownByClient& shown() const { return shown_; }
  [[nodiscard]] std::string_view path() const { return rule_.path; }
  [[nodiscard]] const MethodRule& rule() const { return rule_; }
  // The messages of the call, of any type.
  [[nodiscard]] virtual google::protobuf::Message& AnyRequest() = 0;
  [[nodiscard]] virtual google::protobuf::Message& AnyResponse() = 0;
  // Adds the answer of another division's server to the response. Not OK: the answer was an error,
  // or cannot be parsed.
  [[nodiscard]] virtual Status AddAnswer(const StatusOr<grpc::ByteBuffer>& answer) = 0;
  // Handles the call on this server, and answers it at once or later.
  virtual void Handle() = 0;
  // Takes a place in context.listings until the call ends, unless the call already has one. Returns
  // true if it has a place now.
  [[nodiscard]] bool TakePlace();
  // The request's texts that are not UTF-8, in the order of their items.
  [[nodiscard]] const std::vector<TextFault>& text_faults() const { return faults_.texts; }

  // Sets a function that replaces the first call of Answer. It gets the status, and must call
  // Answer itself.
  void SetLast(std::function<void(const grpc::Status&)> last) { last_ = std::move(last); }

  // Ends the call, with the response if the status is OK. Must be the last use of this object.
  void Answer(grpc::Status status);

 protected:
  [[nodiscard]] bool TakesTurn() const override { return rule_.expensive; }
  void OnRequest(grpc::ByteBuffer* bytes) override;
  // Admits the caller and reads the request.
  [[nodiscard]] grpc::Status Receive(const grpc::ByteBuffer& bytes);

  const ServerContext& context_;

 private:
  // Finds the caller and charges it for the call. Called before the request is read, because
  // reading is more expensive.
  [[nodiscard]] grpc::Status Admit();
  // Reads the request. INVALID_ARGUMENT: there is no request, or it is invalid, or it has more than
  // `most` bytes after inflation. RESOURCE_EXHAUSTED: the server has no room for the request. After
  // an error, only Answer may be called.
  [[nodiscard]] grpc::Status Read(const grpc::ByteBuffer& bytes, size_t most);
  // Frees the request and the bytes that are counted for it.
  void LetGo();
  // Reduces the bytes that are counted for the request to `bytes`, or to 0 if `bytes` is small.
  void HoldOnly(size_t bytes);
  // Serialises the response. RESOURCE_EXHAUSTED: it is too large.
  [[nodiscard]] grpc::Status Serialise();
  void Send(const grpc::Status& status);
  void OnWritten(bool ok) final;

  const MethodRule& rule_;
  const Payment payment_;
  size_t (*const most_bytes_)(size_t);
  std::optional<CallAudit> audit_;
  Caller caller_;
  ShownByClient shown_;
  grpc::ByteBuffer reply_;
  MessageFaults faults_;
  std::optional<Places::Place> place_;
  std::function<void(const grpc::Status&)> last_;
  size_t held_ = 0;  // bytes of the request that context.streams counts
  bool answered_ = false;
};

// One call with its messages. Thread-compatible.
template <typename Request, typename Response>
class UnaryCall : public UnaryReactor {
 public:
  // Answers the call, at once or later.
  using Handler = void (*)(const ServerContext&, UnaryCall*);

  UnaryCall(const ServerContext& context, std::string_view path, Payment payment, Handler handler,
            grpc::CallbackServerContext* info)
      : UnaryReactor(context, path, payment, MostBytesOf<Request>, info), handler_(handler) {}

  [[nodiscard]] const Request& request() const { return request_; }
  [[nodiscard]] Response* response() { return &response_; }
  [[nodiscard]] google::protobuf::Message& AnyRequest() final { return request_; }
  [[nodiscard]] google::protobuf::Message& AnyResponse() final { return response_; }
  [[nodiscard]] Status AddAnswer(const StatusOr<grpc::ByteBuffer>& answer) final {
    ASSIGN_OR_RETURN(const Response theirs, ResponseIn<Response>(answer));
    freshet::AddAnswer(request_, theirs, &response_);
    return absl::OkStatus();
  }
  void Handle() final { handler_(context_, this); }

 private:
  const Handler handler_;
  Request request_;
  Response response_;
};

// The status of a call that the server did not take on: RESOURCE_EXHAUSTED for kFull; otherwise
// UNAVAILABLE, because the server is shutting down.
[[nodiscard]] grpc::Status UnreadStatus(PushOutcome outcome);

// Charges the caller for a call. RESOURCE_EXHAUSTED: the caller has used up its budget; the error
// says when to call again.
[[nodiscard]] grpc::Status PayForCall(const ServerContext& context, const Caller& caller,
                                      grpc::CallbackServerContext& info);

// Makes a unary method whose calls are charged as `payment` says.
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
// Makes a method whose calls cost nothing.
template <typename Request, typename Response>
[[nodiscard]] CallMethod Free(std::string_view path, const ServerContext& context,
                              void (*handle)(const ServerContext&, UnaryCall<Request, Response>*)) {
  return Unary(Payment::kFree, path, context, handle);
}
// Makes a method whose calls cost as much as an item.
template <typename Request, typename Response>
[[nodiscard]] CallMethod Paid(std::string_view path, const ServerContext& context,
                              void (*handle)(const ServerContext&, UnaryCall<Request, Response>*)) {
  return Unary(Payment::kAsAnItem, path, context, handle);
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_UNARY_H_
