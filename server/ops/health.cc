#include "server/ops/health.h"

namespace freshet {

void Health::Tell(bool serving) {
  if (HealthCalls* const calls = calls_; calls != nullptr) calls->SetAll(serving);
}

void Health::Serve(HealthCalls* calls, const std::vector<std::string>& services) {
  // gRPC clients see a service as unknown until its state is set here. From then on the states of
  // all services change together.
  for (const std::string& service : services) calls->Set(service, false);
  calls_ = calls;
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
