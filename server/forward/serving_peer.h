// The serving server of a cluster, as the others know it.
#ifndef FRESHET_SERVER_FORWARD_SERVING_PEER_H_
#define FRESHET_SERVER_FORWARD_SERVING_PEER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/base/units.h"
#include "freshet/v1/fleet.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"
#include "server/auth/door.h"
#include "server/auth/on_behalf.h"
#include "sync/mutex.h"

namespace freshet {

struct ServerConfig;

// The server. Value type, thread-compatible.
struct ServingPeer {
  std::string address;  // host:port of its gRPC port
  std::string key;      // proves on whose behalf a call is made (OwnKey)

  bool operator==(const ServingPeer&) const = default;
};

// All functions are thread-safe.

// The peer as one text, and back; nullopt = none serves, or the text is of another release.
[[nodiscard]] std::string AnnouncementOf(const ServingPeer& peer);
[[nodiscard]] std::optional<ServingPeer> ParseAnnouncement(std::string_view text);

// Reads the file of `cluster.tls_ca`; empty = not set. InvalidArgument: the file cannot be read, or
// is empty.
[[nodiscard]] StatusOr<std::string> ReadRoots(const ServerConfig& config);

// Makes a channel with a connection of its own to the peer, which connects at its first use, and
// again after a loss. Uses TLS if this server does: shows this server's certificate, and trusts
// those that `cluster.tls_ca` has signed. InvalidArgument as ReadRoots.
[[nodiscard]] StatusOr<std::shared_ptr<grpc::Channel>> ConnectTo(const ServingPeer& peer,
                                                                 const ServerConfig& config,
                                                                 const Door& door);

// A connection to the serving server, for one unary call after the other. Thread-safe, but for one
// Ask at a time.
class PeerConnection {
 public:
  // Makes one call of the stub, and waits for its end.
  using Call = std::function<grpc::Status(v1::FleetService::Stub&, grpc::ClientContext*)>;

  // Both outlive this.
  PeerConnection(const ServerConfig& config, const Door& door) : config_(config), door_(door) {}

  // Makes a call of the peer on behalf of a client, and waits for its end, for `patience` at most.
  // Connects if the last call was to another peer, or Drop was called. INVALID_ARGUMENT:
  // ConnectTo's; CANCELLED: Stop was called.
  [[nodiscard]] grpc::Status Ask(const ServingPeer& peer, ShownByClient client, Duration patience,
                                 const Call& call) FRESHET_EXCLUDES(mutex_);
  // The next connection shows what the files have then. Called as Ask is.
  void Drop() { peer_.reset(); }
  // Ends the call under way; nothing is asked any more. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

 private:
  const ServerConfig& config_;
  const Door& door_;
  std::optional<ServingPeer> peer_;  // to which the channel leads
  std::shared_ptr<grpc::Channel> channel_;
  Mutex mutex_;
  grpc::ClientContext* under_way_ FRESHET_GUARDED_BY(mutex_) = nullptr;
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
};

// Whether a call ended because no server answered it.
[[nodiscard]] bool IsUnanswered(const grpc::Status& status);

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_SERVING_PEER_H_
