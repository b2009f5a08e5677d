// The connections to one server of the fleet. Each connection carries at most
// PortConfig::max_streams_per_connection calls at a time.
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
  uint64_t certificate = 0;  // version of the certificate that the connection uses
  size_t calls = 0;          // number of open calls; the user of PeerLines counts them
  Instant connected;         // last time known to be connected or idle; set by the user
};

// The connections. Thread-compatible.
class PeerLines {
 public:
  // The maximum number of connections with the present certificate. A connection with an older
  // certificate is dropped when its last call has ended.
  static constexpr size_t kMost = 8;

  // `config` and `door` must outlive this object.
  PeerLines(const ServerConfig& config, const Door& door) : config_(config), door_(door) {}

  // Finds a connection with room for a call, or makes one. The pointer is valid until the
  // connection is dropped. ResourceExhausted: all connections are full. InvalidArgument: the error
  // of ConnectTo.
  [[nodiscard]] StatusOr<PeerLine*> Find(const ServingPeer& peer);
  // Removes the lines for which `of_these` returns true. Their calls stay open until their owners
  // end them.
  void Drop(const std::function<bool(const PeerLine&)>& of_these);

  [[nodiscard]] const std::vector<std::unique_ptr<PeerLine>>& all() const { return lines_; }

 private:
  const ServerConfig& config_;
  const Door& door_;
  std::vector<std::unique_ptr<PeerLine>> lines_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_PEER_LINES_H_
