#include "server/api/unary.h"

#include <algorithm>

#include "core/base/check.h"
#include "server/api/faults.h"
#include "server/api/request_id.h"
#include "server/api/routing.h"
#include "server/base/answer_limits.h"
#include "server/base/client_network.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

// Logs at `debug` that a call was answered.
void LogCall(std::string_view path, std::string_view request_id, const grpc::Status& status) {
  if (!Logger(LogModule::kApi).should_log(spdlog::level::debug)) return;
  const ScopedRequestId id(request_id);
  LogWith(LogModule::kApi, spdlog::level::debug, "call",
          {{"method", std::string(path)}, {"outcome", AuditOutcome(status)}});
}

}  // namespace

std::string NoteStream(std::string_view path, const CallParts& parts,
                       grpc::CallbackServerContext& info) {
  std::string id = TakeRequestId(parts.request_ids, info);
  if (!Logger(LogModule::kApi).should_log(spdlog::level::debug)) return id;
  const ScopedRequestId scope(id);
  LogWith(LogModule::kApi, spdlog::level::debug, "stream opened",
          {{"method", std::string(path)}, {"from", NetworkText(NetworkOfPeer(info.peer()))}});
  return id;
}

UnaryReactor::UnaryReactor(const ServerContext& context, std::string_view path, Payment payment,
                           size_t (*most_bytes)(size_t), grpc::CallbackServerContext* info)
    : CallReactor(context, path, CallKind::kUnary, info),
      context_(context),
      rule_(*FindMethod(path)),
      payment_(payment),
      most_bytes_(most_bytes) {
  if (context.divisions != nullptr || rule_.between_servers) shown_ = ShownBy(*info);
}

grpc::Status UnaryReactor::Read(const grpc::ByteBuffer& bytes, size_t most) {
  most = most_bytes_(most);
  if (const size_t size = SizeOf(bytes); size > limits::kMaxPlainRequestBytes && size <= most) {
    if (!context_.streams.TryHold(shared_from_this(), size)) {
      return {grpc::StatusCode::RESOURCE_EXHAUSTED,
              "the server holds too many bytes of messages: try again later"};
    }
    held_ = size;
  }
  grpc::ByteBuffer shared(bytes);
  google::protobuf::Message& request = AnyRequest();
  const Status status = ParseMessage(&shared, &request, &faults_, most);
  if (!status.ok()) return GrpcStatusOf(status);
  // A call can wait long for its answer. Unknown fields should not take memory during this time.
  request.DiscardUnknownFields();
  HoldOnly(request.ByteSizeLong());
  if (audit_) audit_->SetRequest(request);
  // Handlers that answer item by item report the faults of the items.
  const auto& texts = faults_.texts;
  if (texts.empty() || texts.front().item >= 0) return grpc::Status::OK;
  return GrpcStatusOf(StatusOf(texts.front()));
}

bool UnaryReactor::TakePlace() {
  if (place_) return true;
  std::optional<Places::Place> place = context_.listings.Take(client(), auth().admin());
  if (place) place_.emplace(*std::move(place));
  return place_.has_value();
}

void UnaryReactor::Answer(grpc::Status status) {
  if (last_) return std::exchange(last_, nullptr)(status);
  CHECK(!std::exchange(answered_, true), "answered twice");
  // A client that may no longer call gets no data. But a change that was made is still reported as
  // done.
  if (const grpc::Status why = stopped(); (rule_.roles & kReader) != 0 && !why.ok()) status = why;
  if (status.ok()) status = Serialise();
  LogCall(rule_.path, request_id(), status);
  // The client can leave the answer unread for a long time, and others need the memory of the
  // request.
  LetGo();
  if (!audit_) return Send(status);
  // The answer to a change is sent only once the change is in the audit log.
  audit_->Finish(status, AnyResponse(), [this, status] { Send(status); });
}

void UnaryReactor::OnRequest(grpc::ByteBuffer* bytes) {
  // The call might end before the handler returns. `held` then keeps this object alive.
  const std::shared_ptr<CallReactor> held = shared_from_this();
  const ScopedRequestId scope(request_id());
  const grpc::Status status = Receive(*bytes);
  bytes->Clear();
  if (status.ok()) {
    HandleByRoute(context_, this);
  } else {
    Answer(status);
  }
}

void UnaryReactor::LetGo() {
  AnyRequest().Clear();
  HoldOnly(0);
}

void UnaryReactor::HoldOnly(size_t bytes) {
  const size_t kept = bytes > limits::kMaxPlainRequestBytes ? std::min(bytes, held_) : 0;
  if (const size_t less = std::exchange(held_, kept) - kept; less > 0) {
    ResumeAll(context_.streams.Release(*this, less));
  }
}

grpc::Status UnaryReactor::Receive(const grpc::ByteBuffer& bytes) {
  grpc::Status status = Admit();
  if (status.ok()) status = GrpcStatusOf(CheckServer(rule_, shown_));
  if (status.ok()) status = Read(bytes, MostBytes(context_));
  return status;
}

grpc::Status UnaryReactor::Serialise() {
  StatusOr<grpc::ByteBuffer> bytes = SerialiseAnswer(AnyResponse());
  if (!bytes.ok()) return GrpcStatusOf(bytes.status());
  reply_ = *std::move(bytes);
  return grpc::Status::OK;
}

void UnaryReactor::Send(const grpc::Status& status) {
  if (!status.ok()) {
    End(status);
  } else if (place_) {
    Write(reply_);
  } else {
    SendAnswer(reply_);
  }
}

void UnaryReactor::OnWritten(bool ok) {
  End(ok ? grpc::Status::OK
         : grpc::Status(grpc::StatusCode::UNAVAILABLE, "the answer was not taken"));
}

grpc::Status UnaryReactor::Admit() {
  const bool changes = ChangesServer(rule_);
  if (payment_ == Payment::kFree && !changes) return grpc::Status::OK;
  // Methods that change pages can also be called by ingesters. Only the calls of admins are
  // audited.
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

grpc::Status UnreadStatus(PushOutcome outcome) {
  if (outcome == PushOutcome::kFull) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            "more is being read than the server keeps waiting: try again later"};
  }
  return {grpc::StatusCode::UNAVAILABLE, "the server is shutting down"};
}

grpc::Status PayForCall(const ServerContext& context, const Caller& caller,
                        grpc::CallbackServerContext& info) {
  const Duration wait = caller.PayForCall(context.clock.Now());
  if (wait == Duration()) return grpc::Status::OK;
  ++context.counters.refused_by_client;
  // Clients that follow gRPC's retry rules wait this long.
  info.AddTrailingMetadata("grpc-retry-pushback-ms", std::to_string(wait.micros() / 1000 + 1));
  return GrpcStatusOf(caller.TooEarly(wait));
}

}  // namespace freshet
