#include "server/forward/forwarded_pings.h"

#include "freshet/v1/fleet.grpc.pb.h"
#include "server/api/inside.h"
#include "server/config.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

// The wait for the serving server. The server itself may wait for another division for up to three
// seconds.
constexpr Duration kPatience = Duration::Seconds(5);
constexpr Duration kRest = Duration::Seconds(10);
// An allowance for the bytes of a message besides the body.
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
  if (silent_ == peer && clock_.Now() < rests_until_) {
    return "the server that serves did not answer before";
  }
  v1::AnswerPingRequest message;
  message.set_method(request.method);
  message.set_query(request.query);
  message.set_body(request.body);
  v1::AnswerPingResponse answer;
  const grpc::Status status = connection_.Ask(
      *peer, ShownBy(request), kPatience,
      [&](auto& stub, auto* call) { return stub.AnswerPing(call, message, &answer); });
  if (status.ok()) {
    *response = ResponseOf(answer);
    return nullptr;
  }
  if (status.error_code() == grpc::StatusCode::CANCELLED) return "this server is stopping";
  if (!IsUnanswered(status)) {
    // The level is debug, because one client could cause this line again and again.
    spdlog::debug("a ping was refused by {}: {}", peer->address, status.error_message());
    return "the server that serves does not take it";
  }
  spdlog::warn("a ping was not answered by {}: {}", peer->address, status.error_message());
  connection_.Drop();
  silent_ = peer;
  rests_until_ = clock_.Now() + kRest;
  return "the server that serves does not answer";
}

}  // namespace freshet
