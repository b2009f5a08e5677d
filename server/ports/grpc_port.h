// The gRPC port: its address, its services and its limits on connections.
#ifndef FRESHET_SERVER_PORTS_GRPC_PORT_H_
#define FRESHET_SERVER_PORTS_GRPC_PORT_H_

#include <cstddef>
#include <memory>
#include <set>
#include <string>

#include "core/base/status.h"
#include "core/base/units.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "server/auth/door.h"
#include "server/base/client_network.h"
#include "server/base/system_clock.h"
#include "server/ports/connections.h"
#include "server/ports/frame_watch.h"
#include "server/ports/grpc_credentials.h"
#include "server/ports/wire_shares.h"
#include "server/ports/wire_turns.h"

namespace freshet {

struct ServerConfig;

// The port. Thread-safe, except for Start and Stop.
class GrpcPort {
 public:
  // At most `connections` connections are open at a time. All references outlive this object.
  GrpcPort(const ServerConfig& config, size_t connections, Door& door, Clock& clock);
  ~GrpcPort();
  GrpcPort(const GrpcPort&) = delete;
  GrpcPort& operator=(const GrpcPort&) = delete;

  // Starts the port. Every call is passed to `calls` as soon as its first bytes arrive, so that it
  // can be counted and refused before any of its messages. `calls` outlives this object and checks
  // the callers. Returns the port number. Not OK: Unavailable, with the reason.
  [[nodiscard]] StatusOr<int> Start(grpc::CallbackGenericService& calls);
  // Accepts no more connections, gives open calls one second to finish, and ends. Idempotent.
  void Stop();

  // Sets gRPC's memory limit for the current number of connections and for `calls` calls. Also
  // wakes connections that wait until gRPC may read them (WireTurns::Look). Must be called
  // periodically. Until the first call, the limit is that for the maximum numbers.
  void Allow(size_t calls);
  // See Connections::Cut.
  void Cut(const std::set<Peer>& peers) { connections_.Cut(peers); }

  // nullptr before Start. Lives as long as this object.
  [[nodiscard]] grpc::Server* server() const { return server_.get(); }
  [[nodiscard]] ConnectionStats connections() const { return connections_.stats(); }

 private:
  // Creates gRPC's contexts of calls, and tells WireTurns when calls begin and end.
  class CallBook;
  // Notes each call in the CallBook, and passes it on.
  class Announced;

  void HandOver(int descriptor);
  void Resize(size_t connections, size_t calls);

  const ServerConfig& config_;
  Door& door_;
  const FrameLimits frame_limits_;
  // Shared, because connections that gRPC has not freed yet can outlive the port.
  const std::shared_ptr<WireShares> wire_shares_ = std::make_shared<WireShares>();
  const std::shared_ptr<WireTurns> wire_turns_;
  Connections connections_;
  grpc::ResourceQuota quota_{"freshet"};
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<Announced> calls_;
  std::unique_ptr<grpc::Server> server_;
  bool stopped_ = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_GRPC_PORT_H_
