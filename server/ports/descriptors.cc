#include "server/ports/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "server/config.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

// Descriptors for standard streams, listeners, the log, event queues and connections that are being
// closed.
constexpr uint64_t kOwn = 40;
// gRPC creates no pollers for cores beyond this number.
constexpr uint64_t kMostCores = 64;
// Descriptors of the store besides its table cache: logs, manifest, lock, a checkpoint in progress,
// and the inputs and outputs of compactions, which must stay open.
constexpr uint64_t kStoreWork = 64;
constexpr uint64_t kLeastTables = 32;
constexpr uint64_t kLeastConnections = 8;
constexpr uint64_t kLeastHttp = 4;
// The number of descriptors for each HTTP connection that may be open. There are two, because the
// same number of further connections can wait (server/ports/arrivals.h).
constexpr uint64_t kPerHttp = 2;
// One descriptor in this many is for HTTP, so that probes and scrapers get through even if the
// process has few descriptors.
constexpr uint64_t kHttpShare = 16;
// This many tables hold a terabyte. If there are descriptors for more, the number of open tables is
// not limited.
constexpr uint64_t kAllTables = 16'384;

}  // namespace

StatusOr<DescriptorPlan> PlanDescriptors(uint64_t limit, const DescriptorWishes& wishes) {
  const uint64_t own = kOwn + 2 * std::min<uint64_t>(wishes.cores, kMostCores) + kStoreWork;
  const uint64_t needed = own + kLeastTables + kLeastConnections + kPerHttp * kLeastHttp;
  if (limit < needed) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "the process may open only {} files, but needs at least {}: raise the limit "
                      "(ulimit -n, or LimitNOFILE= of systemd)",
                      limit, needed);
  }
  // With a very low limit there are not even descriptors for this many HTTP connections, so the
  // last term reduces the number.
  const auto http = std::min({static_cast<uint64_t>(std::max(wishes.http_connections, 1)),
                              std::max(kLeastHttp, limit / kHttpShare),
                              (limit - own - kLeastTables - kLeastConnections) / kPerHttp});
  const uint64_t spare = limit - own - kPerHttp * http;
  const uint64_t connections =
      std::min(static_cast<uint64_t>(std::max(wishes.connections, 1)),
               kLeastConnections + (spare - kLeastTables - kLeastConnections) / 2);
  const uint64_t tables = spare - connections;
  return DescriptorPlan{.table_files = tables >= kAllTables ? -1 : static_cast<int>(tables),
                        .connections = static_cast<int>(connections),
                        .http_connections = static_cast<int>(http)};
}

uint64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return before;
  return limit.rlim_cur;
}

StatusOr<DescriptorPlan> ShareDescriptors(const PortConfig& config) {
  const uint64_t limit = RaiseDescriptorLimit();
  ASSIGN_OR_RETURN(
      const DescriptorPlan plan,
      PlanDescriptors(limit, {.connections = config.max_connections,
                              .http_connections = static_cast<int>(config.max_http_connections),
                              .cores = std::thread::hardware_concurrency()}));
  // An operator is warned if the plan has fewer connections than the configuration asks for. If the
  // configured number is only the default, the plan is logged as information, unless it is small.
  const PortConfig defaults;
  const auto tell = [limit](std::string_view key, int planned, int wanted, int usual) {
    if (planned >= wanted) return;
    constexpr int kMany = 1000;
    Logger(LogModule::kPorts)
        .log(wanted == usual && planned >= kMany ? spdlog::level::info : spdlog::level::warn,
             "{}: {} of {}, as the process may open no more than {} files", key, planned, wanted,
             limit);
  };
  tell("limits.connections", plan.connections, config.max_connections, defaults.max_connections);
  tell("http.max_connections", plan.http_connections, static_cast<int>(config.max_http_connections),
       static_cast<int>(defaults.max_http_connections));
  return plan;
}

}  // namespace freshet
