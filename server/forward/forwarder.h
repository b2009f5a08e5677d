// The gRPC port of a standby. It forwards all calls to the serving server, except health checks.
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

// The port. Thread-safe, except Start and Stop.
class Forwarder {
 public:
  // At most `connections` gRPC connections are open at a time. The other parameters are those of
  // CallForwarder.
  Forwarder(const ServerConfig& config, size_t connections, Door& door, Clock& clock,
            ForwardCounters& counters, CallForwarder::Find find, ForwardOptions options = {});
  ~Forwarder() { Stop(); }
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  // Begins to take calls at the configured address `listen`. Returns the port number. Unavailable:
  // the server cannot listen there. InvalidArgument: the error of ReadRoots.
  [[nodiscard]] StatusOr<int> Start();
  // Ends all calls with UNAVAILABLE, and closes the port. Idempotent.
  void Stop();
  // See CallForwarder.
  [[nodiscard]] size_t answer_bytes() const { return calls_.answer_bytes(); }
  // The server to which calls are forwarded; nullopt = none serves.
  [[nodiscard]] std::optional<ServingPeer> peer() const { return calls_.peer(); }

 private:
  void TellHealth(bool serving);

  CallForwarder calls_;
  CallStats call_stats_;
  RequestIds request_ids_;
  HealthCalls health_;
  Switchboard switchboard_;
  GrpcPort port_;  // last: its server calls `switchboard_`
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_FORWARDER_H_
