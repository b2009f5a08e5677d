#include "server/forward/forwarded_pings.h"

#include <chrono>
#include <utility>

#include "freshet/v1/fleet.grpc.pb.h"
#include "server/api/inside.h"
#include "server/auth/on_behalf.h"
#include "server/config.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

// For the server that serves, which may have to ask that of another division for three seconds.
constexpr std::chrono::seconds kPatience{5};
constexpr Duration kRest = Duration::Seconds(10);
// Of a message, for all but the body.
constexpr size_t kRoom = 512;

HttpResponse ResponseOf(const v1::AnswerPingResponse& answer) {
  const auto status = static_cast<int>(answer.status());
  if (answer.retry_after_seconds() == 0) return TextResponse(status, answer.text());
  return RetryResponse(status, answer.text(), Duration::Seconds(answer.retry_after_seconds()));
}

}  // namespace

HttpResponse ForwardedPings::Answer(const HttpRequest& request) {
  if (request.body.size() + kRoom > static_cast<size_t>(config_.max_message_bytes)) {
    ++counters_.refused;
    return TextResponse(413, "is too large for a message between servers (limits.message_bytes)");
  }
  HttpResponse response;
  const char* const refused = Refused(request, &response);
  if (refused == nullptr) {
    ++counters_.forwarded;
    return response;
  }
  ++counters_.refused;
  return RetryResponse(503, refused, kRest);
}

const char* ForwardedPings::Refused(const HttpRequest& request, HttpResponse* response) {
  const std::optional<ServingPeer> peer = find_();
  if (!peer) return "this server does not serve yet";
  const bool same = peer_ == peer;
  if (same && clock_.Now() < rests_until_) return "the server that serves did not answer before";
  // The next connection shows what the files have then.
  if (!same || rests_until_ != Instant()) {
    if (!Connect(*peer)) return "the server that serves cannot be reached";
  }
  const grpc::Status status = Ask(request, response);
  if (status.ok()) return nullptr;
  if (status.error_code() == grpc::StatusCode::CANCELLED) return "this server is stopping";
  if (!IsUnanswered(status)) {
    // What this one client has sent, maybe over and over.
    spdlog::debug("a ping was refused by {}: {}", peer->address, status.error_message());
    return "the server that serves does not take it";
  }
  spdlog::warn("a ping was not answered by {}: {}", peer->address, status.error_message());
  rests_until_ = clock_.Now() + kRest;
  return "the server that serves does not answer";
}

bool ForwardedPings::Connect(const ServingPeer& peer) {
  peer_.reset();
  StatusOr<std::shared_ptr<grpc::Channel>> channel = ConnectTo(peer, config_, door_);
  if (!channel.ok()) {
    spdlog::warn("a ping cannot be sent on: {}", std::string(channel.status().message()));
    return false;
  }
  channel_ = *std::move(channel);
  peer_ = peer;
  rests_until_ = Instant();
  return true;
}

grpc::Status ForwardedPings::Ask(const HttpRequest& request, HttpResponse* response) {
  v1::AnswerPingRequest message;
  message.set_method(request.method);
  message.set_query(request.query);
  message.set_body(request.body);
  grpc::ClientContext call;
  call.set_deadline(std::chrono::system_clock::now() + kPatience);
  ShownByClient client = ShownBy(request);
  client.sent_on = true;
  for (const auto& [name, value] : OnBehalfOf(client, peer_->key)) call.AddMetadata(name, value);
  {
    const MutexLock lock(mutex_);
    if (stopped_) return {grpc::StatusCode::CANCELLED, "this server is stopping"};
    under_way_ = &call;
  }
  v1::AnswerPingResponse answer;
  const grpc::Status status =
      v1::FleetService::NewStub(channel_)->AnswerPing(&call, message, &answer);
  {
    const MutexLock lock(mutex_);
    under_way_ = nullptr;
  }
  if (status.ok()) *response = ResponseOf(answer);
  return status;
}

void ForwardedPings::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  if (under_way_ != nullptr) under_way_->TryCancel();
}

}  // namespace freshet
