#include "server/forward/forwarder.h"

#include <string>
#include <utility>

#include "grpcpp/health_check_service_interface.h"
#include "server/api/service_names.h"

namespace freshet {

Forwarder::Forwarder(const ServerConfig& config, size_t connections, Door& door, Clock& clock,
                     ForwardCounters& counters, CallForwarder::Find find, ForwardOptions options)
    : calls_(config, door, clock, counters, std::move(find), std::move(options)),
      port_(config, connections, door, clock) {}

StatusOr<int> Forwarder::Start() {
  ASSIGN_OR_RETURN(const int port, port_.Start({}, *calls_.service()));
  RETURN_IF_ERROR(calls_.Start([this](bool serving) { TellHealth(serving); }));
  return port;
}

void Forwarder::Stop() {
  calls_.Stop();
  port_.Stop();
}

void Forwarder::TellHealth(bool serving) {
  grpc::HealthCheckServiceInterface* health = port_.server()->GetHealthCheckService();
  if (health == nullptr) return;
  for (const std::string& name : ServiceNames()) health->SetServingStatus(name, serving);
  health->SetServingStatus(serving);
}

}  // namespace freshet
