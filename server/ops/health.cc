#include "server/ops/health.h"

namespace freshet {

void Health::Tell(bool serving) {
  grpc::Server* server = server_;
  if (server == nullptr || server->GetHealthCheckService() == nullptr) return;
  server->GetHealthCheckService()->SetServingStatus(serving);
}

void Health::Serve(grpc::Server* server, const std::vector<std::string>& services) {
  // A service is not known before it is named; afterwards all change together.
  if (grpc::HealthCheckServiceInterface* all = server->GetHealthCheckService(); all != nullptr) {
    for (const std::string& service : services) all->SetServingStatus(service, false);
  }
  server_ = server;
  serving_ = true;
  Tell(!failed_);
}

void Health::ReportFailure() {
  failed_ = true;
  Tell(false);
}

void Health::Stop() {
  stopping_ = true;
  serving_ = false;
  Tell(false);
}

}  // namespace freshet
