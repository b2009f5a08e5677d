// The gRPC port: its address, its services, and the limits of a connection.
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

// The port. Thread-safe but for Start and Stop.
class GrpcPort {
 public:
  // At most `connections` are open at a time. All references outlive this.
  GrpcPort(const ServerConfig& config, size_t connections, Door& door, Clock& clock);
  ~GrpcPort();
  GrpcPort(const GrpcPort&) = delete;
  GrpcPort& operator=(const GrpcPort&) = delete;

  // Starts the port. Every call goes to `calls`, which outlives this, with its first bytes: so each
  // can be counted and refused before any of its messages. `calls` checks who calls. Returns the
  // port number. Unavailable says why it is not possible.
  [[nodiscard]] StatusOr<int> Start(grpc::CallbackGenericService& calls);
  // Takes no more connections, gives open calls one second, and ends. Idempotent.
  void Stop();

  // Sets gRPC's memory by the numbers of connections and calls, and looks at connections that wait
  // for their turn. To be called again and again; before the first time the highest numbers count.
  void Allow(size_t calls);
  // As Connections.
  void Cut(const std::set<Peer>& peers) { connections_.Cut(peers); }

  // nullptr before Start. Lives as long as this.
  [[nodiscard]] grpc::Server* server() const { return server_.get(); }
  [[nodiscard]] ConnectionStats connections() const { return connections_.stats(); }

 private:
  // Makes gRPC's contexts of calls, and tells the turns when calls begin and end.
  class CallBook;
  // Notes each call, and passes it on.
  class Announced;

  void HandOver(int descriptor);
  void Resize(size_t connections, size_t calls);

  const ServerConfig& config_;
  Door& door_;
  const FrameLimits frame_limits_;
  // Connections that gRPC has not freed yet may outlive the port.
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
