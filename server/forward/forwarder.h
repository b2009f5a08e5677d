// The gRPC port of a standby: the serving server answers its calls.
#ifndef FRESHET_SERVER_FORWARD_FORWARDER_H_
#define FRESHET_SERVER_FORWARD_FORWARDER_H_

#include <cstddef>
#include <optional>

#include "core/base/status.h"
#include "server/api/call_stats.h"
#include "server/api/health_calls.h"
#include "server/api/request_id.h"
#include "server/api/switchboard.h"
#include "server/auth/door.h"
#include "server/base/system_clock.h"
#include "server/forward/call_forwarder.h"
#include "server/forward/serving_peer.h"
#include "server/ports/grpc_port.h"

namespace freshet {

struct ServerConfig;

// The port. Thread-safe but for Start and Stop.
class Forwarder {
 public:
  // At most `connections` of gRPC are open at a time; the rest as in CallForwarder.
  Forwarder(const ServerConfig& config, size_t connections, Door& door, Clock& clock,
            ForwardCounters& counters, CallForwarder::Find find, ForwardOptions options = {});
  ~Forwarder() { Stop(); }
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  // Takes calls at `listen`. Returns the port number. Unavailable says why it is not possible;
  // InvalidArgument as ReadRoots.
  [[nodiscard]] StatusOr<int> Start();
  // Ends all calls with UNAVAILABLE, and frees the port. Idempotent.
  void Stop();
  // As CallForwarder.
  [[nodiscard]] size_t answer_bytes() const { return calls_.answer_bytes(); }
  // The server that takes the calls; nullopt = none serves.
  [[nodiscard]] std::optional<ServingPeer> peer() const { return calls_.peer(); }

 private:
  void TellHealth(bool serving);

  CallForwarder calls_;
  CallStats call_stats_;
  RequestIds request_ids_;
  HealthCalls health_;
  Switchboard switchboard_;
  GrpcPort port_;  // its server calls `switchboard_`
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_FORWARDER_H_
