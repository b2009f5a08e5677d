// The connections to one server of the fleet, each with as many calls as it may have streams.
#ifndef FRESHET_SERVER_FORWARD_PEER_LINES_H_
#define FRESHET_SERVER_FORWARD_PEER_LINES_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "server/auth/door.h"
#include "server/forward/serving_peer.h"

namespace freshet {

struct ServerConfig;

// A connection, in the hands of PeerLines.
struct PeerLine {
  std::shared_ptr<grpc::Channel> channel;
  uint64_t certificate = 0;  // version of the one that it shows
  size_t calls = 0;          // that are open on it, for its user to count
  Instant connected;         // when it was last, or when the first call came that it is for
};

// Thread-compatible.
class PeerLines {
 public:
  // That show one certificate: older ones go with their last calls.
  static constexpr size_t kMost = 8;

  // Both outlive this.
  PeerLines(const ServerConfig& config, const Door& door) : config_(config), door_(door) {}

  // One with room for a call, made if there is none: it stays where it is until it is dropped.
  // ResourceExhausted: all have as many as they may. InvalidArgument: ConnectTo's.
  [[nodiscard]] StatusOr<PeerLine*> Find(const ServingPeer& peer);
  // Forgets these; calls on them go on, and end by whoever made them.
  void Drop(const std::function<bool(const PeerLine&)>& of_these);

  [[nodiscard]] const std::vector<std::unique_ptr<PeerLine>>& all() const { return lines_; }

 private:
  const ServerConfig& config_;
  const Door& door_;
  std::vector<std::unique_ptr<PeerLine>> lines_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_PEER_LINES_H_
