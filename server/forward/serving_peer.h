// The serving server of a cluster, as the other servers know it, and connections to it.
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
  std::string key;      // proves that a call comes from a server of the cluster (OwnKey)

  bool operator==(const ServingPeer&) const = default;
};

// All functions are thread-safe.

// These convert a peer to a text and back; nullopt = no server serves, or another release wrote the
// text.
[[nodiscard]] std::string AnnouncementOf(const ServingPeer& peer);
[[nodiscard]] std::optional<ServingPeer> ParseAnnouncement(std::string_view text);

// Reads the file `cluster.tls_ca`; empty = not set. InvalidArgument: the file cannot be read, or is
// empty.
[[nodiscard]] StatusOr<std::string> ReadRoots(const ServerConfig& config);

// Makes a channel with a separate connection to the peer. The channel connects at its first use,
// and again when the connection is lost. It uses TLS if this server does: it presents this server's
// certificate, and trusts certificates that `cluster.tls_ca` has signed. InvalidArgument: the error
// of ReadRoots.
[[nodiscard]] StatusOr<std::shared_ptr<grpc::Channel>> ConnectTo(const ServingPeer& peer,
                                                                 const ServerConfig& config,
                                                                 const Door& door);

// A connection to the serving server, for one unary call at a time. Only Stop is thread-safe. Ask
// and Drop must not be called at the same time.
class PeerConnection {
 public:
  // Makes one call of the stub and waits for its end.
  using Call = std::function<grpc::Status(v1::FleetService::Stub&, grpc::ClientContext*)>;

  // `config` and `door` must outlive this object.
  PeerConnection(const ServerConfig& config, const Door& door) : config_(config), door_(door) {}

  // Makes a call to the peer on behalf of a client, and waits for its end, but at most for
  // `patience`. Connects first if the last call was to another peer or Drop was called.
  // INVALID_ARGUMENT: the error of ConnectTo. CANCELLED: Stop was called.
  [[nodiscard]] grpc::Status Ask(const ServingPeer& peer, ShownByClient client, Duration patience,
                                 const Call& call) FRESHET_EXCLUDES(mutex_);
  // Drops the connection. The next one uses the present certificate files.
  void Drop() { peer_.reset(); }
  // Cancels the call under way and refuses all later ones. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

 private:
  const ServerConfig& config_;
  const Door& door_;
  std::optional<ServingPeer> peer_;  // the peer of channel_; unset = not connected
  std::shared_ptr<grpc::Channel> channel_;
  Mutex mutex_;
  grpc::ClientContext* under_way_ FRESHET_GUARDED_BY(mutex_) = nullptr;
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
};

// Returns true if a call ended because no server answered it.
[[nodiscard]] bool IsUnanswered(const grpc::Status& status);

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_SERVING_PEER_H_
