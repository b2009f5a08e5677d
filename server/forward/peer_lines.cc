#include "server/forward/peer_lines.h"

#include <algorithm>
#include <utility>

#include "server/config.h"

namespace freshet {

StatusOr<PeerLine*> PeerLines::Find(const ServingPeer& peer) {
  const auto most = static_cast<size_t>(config_.max_streams_per_connection);
  const std::shared_ptr<const TlsMaterial> tls = door_.tls();
  const uint64_t certificate = tls == nullptr ? 0 : tls->version;
  std::erase_if(lines_, [certificate](const auto& line) {
    return line->calls == 0 && line->certificate != certificate;
  });
  size_t present = 0;
  for (const auto& line : lines_) {
    if (line->certificate != certificate) continue;
    if (line->calls < most) return line.get();
    ++present;
  }
  if (present >= kMost) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "the maximum is reached: {} connections with {} calls each are open to {}",
                      present, most, peer.address);
  }
  ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel, ConnectTo(peer, config_, door_));
  auto line = std::make_unique<PeerLine>(
      PeerLine{.channel = std::move(channel), .certificate = certificate});
  return lines_.emplace_back(std::move(line)).get();
}

void PeerLines::Drop(const std::function<bool(const PeerLine&)>& of_these) {
  std::erase_if(lines_, [&](const auto& line) { return of_these(*line); });
}

}  // namespace freshet
