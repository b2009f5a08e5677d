// The gRPC port: what listens there, which services answer, and what a connection may hold.
#ifndef FRESHET_SERVER_PORTS_GRPC_PORT_H_
#define FRESHET_SERVER_PORTS_GRPC_PORT_H_

#include <cstddef>
#include <memory>
#include <string>

#include "core/base/status.h"
#include "core/base/units.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "server/auth/door.h"
#include "server/base/system_clock.h"
#include "server/ports/connections.h"
#include "server/ports/frame_watch.h"
#include "server/ports/grpc_credentials.h"
#include "server/ports/wire_shares.h"
#include "server/ports/wire_turns.h"

namespace freshet {

struct ServerConfig;

// Thread-safe but for Start and Stop.
class GrpcPort {
 public:
  // At most `connections` are open at a time. All outlive this.
  GrpcPort(const ServerConfig& config, size_t connections, Door& door, Clock& clock);
  ~GrpcPort();
  GrpcPort(const GrpcPort&) = delete;
  GrpcPort& operator=(const GrpcPort&) = delete;

  // Every call goes to `calls`, which outlives this, with its first bytes: so each can be counted
  // and refused before any of its messages. Who calls is for `calls` to find out. Returns the port.
  // Unavailable says why it is not possible.
  [[nodiscard]] StatusOr<int> Start(grpc::CallbackGenericService& calls);
  // Takes no more connections, gives calls that are open one second, and ends. Idempotent.
  void Stop();

  // Looks at connections that wait for their turn. How much memory gRPC may take follows from how
  // many connections and calls there are: called again and again; else there may be as many as
  // there can be.
  void Allow(size_t calls);

  // nullptr before Start. Lives as long as this.
  [[nodiscard]] grpc::Server* server() const { return server_.get(); }
  [[nodiscard]] ConnectionStats connections() const { return connections_.stats(); }

 private:
  // Makes what gRPC keeps of calls, and tells the turns when they come in and end.
  class CallBook;
  // Has each call noted, and passes it on.
  class Announced;

  void HandOver(int descriptor);
  void Resize(size_t connections, size_t calls);

  const ServerConfig& config_;
  Door& door_;
  const FrameLimits frame_limits_;
  // Connections that gRPC has not freed yet may outlive this.
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
