// The server of a cluster that serves, as the others know it.
#ifndef FRESHET_SERVER_FORWARD_SERVING_PEER_H_
#define FRESHET_SERVER_FORWARD_SERVING_PEER_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "grpcpp/channel.h"
#include "grpcpp/support/status.h"
#include "server/auth/door.h"

namespace freshet {

struct ServerConfig;

// Value type, thread-compatible.
struct ServingPeer {
  std::string address;  // host:port of its gRPC port
  std::string key;      // with which it believes on whose behalf a call is made (OwnKey)

  bool operator==(const ServingPeer&) const = default;
};

// All functions are thread-safe.

// As one text, and back; nullopt: nobody serves, or the text is of another release.
[[nodiscard]] std::string AnnouncementOf(const ServingPeer& peer);
[[nodiscard]] std::optional<ServingPeer> ParseAnnouncement(std::string_view text);

// What `cluster.tls_ca` has; empty: it is not set. InvalidArgument: the file cannot be read, or is
// empty.
[[nodiscard]] StatusOr<std::string> ReadRoots(const ServerConfig& config);

// A connection of its own to the peer, which is made once it is used, and again when it is lost.
// With TLS if this server has it: then it shows its certificate, and believes those that
// `cluster.tls_ca` has signed. InvalidArgument: ReadRoots'.
[[nodiscard]] StatusOr<std::shared_ptr<grpc::Channel>> ConnectTo(const ServingPeer& peer,
                                                                 const ServerConfig& config,
                                                                 const Door& door);

// Whether a call ended since nobody answered it, rather than by an answer.
[[nodiscard]] bool IsUnanswered(const grpc::Status& status);

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_SERVING_PEER_H_
