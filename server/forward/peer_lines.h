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

// A connection, owned by PeerLines.
struct PeerLine {
  std::shared_ptr<grpc::Channel> channel;
  uint64_t certificate = 0;  // version of the certificate that it shows
  size_t calls = 0;          // open ones, counted by its user
  Instant connected;         // its last connection, or the first call made for it
};

// The connections. Thread-compatible.
class PeerLines {
 public:
  // Connections with one certificate; older ones go with their last calls.
  static constexpr size_t kMost = 8;

  // Both outlive this.
  PeerLines(const ServerConfig& config, const Door& door) : config_(config), door_(door) {}

  // Finds a connection with room for a call, or makes one: it stays in place until it is dropped.
  // ResourceExhausted: all are full. InvalidArgument as ConnectTo.
  [[nodiscard]] StatusOr<PeerLine*> Find(const ServingPeer& peer);
  // Forgets these lines; their calls stay open until their owners end them.
  void Drop(const std::function<bool(const PeerLine&)>& of_these);

  [[nodiscard]] const std::vector<std::unique_ptr<PeerLine>>& all() const { return lines_; }

 private:
  const ServerConfig& config_;
  const Door& door_;
  std::vector<std::unique_ptr<PeerLine>> lines_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_PEER_LINES_H_
