#include "server/health.h"

namespace freshet {

void Health::Tell(bool serving) {
  grpc::Server* server = server_;
  if (server == nullptr || server->GetHealthCheckService() == nullptr) return;
  server->GetHealthCheckService()->SetServingStatus(serving);
}

void Health::Serve(grpc::Server* server) {
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
