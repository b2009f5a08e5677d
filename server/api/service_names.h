// The services of the API by the names that health checks use.
#ifndef FRESHET_SERVER_API_SERVICE_NAMES_H_
#define FRESHET_SERVER_API_SERVICE_NAMES_H_

#include <string>
#include <vector>

#include "freshet/v1/admin.grpc.pb.h"
#include "freshet/v1/auth.grpc.pb.h"
#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "freshet/v1/scheduler.grpc.pb.h"

namespace freshet {

// The full names of the services that every server has. Thread-safe.
[[nodiscard]] inline std::vector<std::string> ServiceNames() {
  return {v1::SchedulerService::service_full_name(), v1::IngestService::service_full_name(),
          v1::PagesService::service_full_name(), v1::AdminService::service_full_name(),
          v1::AuthService::service_full_name()};
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_SERVICE_NAMES_H_
