#include "server/ports/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "server/config.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

// Standard streams, listeners, the log, event queues, connections on their way out.
constexpr uint64_t kOwn = 40;
// Cores beyond these do not get pollers of their own.
constexpr uint64_t kMostCores = 64;
// What the store opens beside its table cache: logs, manifest, lock, a checkpoint being made, and
// the inputs and outputs of compactions, which the cache cannot let go of.
constexpr uint64_t kStoreWork = 64;
constexpr uint64_t kLeastTables = 32;
// The same of the frontier's database, which has a fourth of the tables beyond the least.
constexpr uint64_t kFrontierWork = 32;
constexpr uint64_t kLeastFrontierTables = 8;
constexpr uint64_t kFrontierShare = 4;
constexpr uint64_t kLeastConnections = 8;
constexpr uint64_t kLeastHttp = 4;
// A share for the probes and scrapers of a process with few descriptors.
constexpr uint64_t kHttpShare = 16;
// So many tables hold a terabyte: no store that one machine serves needs to count them.
constexpr uint64_t kAllTables = 16'384;

}  // namespace

StatusOr<DescriptorPlan> PlanDescriptors(uint64_t limit, const DescriptorWishes& wishes) {
  const uint64_t own = kOwn + 2 * std::min<uint64_t>(wishes.cores, kMostCores) + kStoreWork +
                       (wishes.frontier ? kFrontierWork : 0);
  const uint64_t least_tables = kLeastTables + (wishes.frontier ? kLeastFrontierTables : 0);
  const uint64_t needed = own + least_tables + kLeastConnections + kLeastHttp;
  if (limit < needed) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "the process may open only {} files, but needs at least {}: raise the limit "
                      "(ulimit -n, or LimitNOFILE= of systemd)",
                      limit, needed);
  }
  // What is left of the smallest limits is not there for it.
  const auto http = std::min({static_cast<uint64_t>(std::max(wishes.http_connections, 1)),
                              std::max(kLeastHttp, limit / kHttpShare),
                              limit - own - least_tables - kLeastConnections});
  const uint64_t spare = limit - own - http;
  const uint64_t connections =
      std::min(static_cast<uint64_t>(std::max(wishes.connections, 1)),
               kLeastConnections + (spare - least_tables - kLeastConnections) / 2);
  const uint64_t all_tables = spare - connections;
  const uint64_t of_frontier =
      wishes.frontier ? kLeastFrontierTables + (all_tables - least_tables) / kFrontierShare : 0;
  const uint64_t tables = all_tables - of_frontier;
  const auto files = [](uint64_t some) { return some >= kAllTables ? -1 : static_cast<int>(some); };
  return DescriptorPlan{.table_files = files(tables),
                        .frontier_table_files = files(of_frontier),
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

StatusOr<DescriptorPlan> ShareDescriptors(const ServerConfig& config) {
  const uint64_t limit = RaiseDescriptorLimit();
  ASSIGN_OR_RETURN(
      const DescriptorPlan plan,
      PlanDescriptors(limit,
                      {.connections = config.max_connections,
                       .http_connections = static_cast<int>(config.max_http_connections),
                       .cores = std::thread::hardware_concurrency(),
                       .frontier = config.frontier_enabled && !config.cluster.configured()}));
  // Who has asked for more is warned, and who gets few; a default is only the most that is of use.
  const ServerConfig defaults;
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
