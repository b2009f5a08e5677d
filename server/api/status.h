// The present state of the server, gathered once for all views. The table in server/api/figure.h
// says which parts are figures, and where they are shown.
#ifndef FRESHET_SERVER_API_STATUS_H_
#define FRESHET_SERVER_API_STATUS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/units.h"
#include "core/schedule/crawl_terms.h"
#include "server/api/call_stats.h"
#include "server/api/cluster_status.h"
#include "server/api/context.h"
#include "server/api/indexnow_stats.h"
#include "server/api/source_figures.h"
#include "server/api/stream_set.h"
#include "server/auth/door.h"
#include "server/base/process_stats.h"
#include "server/config_limits.h"
#include "server/engine/dispatcher.h"
#include "server/engine/runtime_settings.h"
#include "server/engine/shard.h"
#include "server/frontier/frontier_status.h"
#include "server/logs/audit_log.h"
#include "server/ports/connections.h"
#include "server/ports/http_port.h"
#include "storage/open_progress.h"
#include "storage/store.h"

namespace freshet {

// The progress of a start. Value type, thread-compatible.
struct RecoveryStatus {
  bool ready = false;  // the server accepts requests
  // The progress of the store; pages are loaded once it is open.
  OpenStage stage = OpenStage::kOpening;
  uint64_t log_bytes = 0;  // bytes of the log that are checked and replayed after a crash
  uint64_t checked_log_bytes = 0;
  uint64_t replayed_log_bytes = 0;
  uint64_t rows_taken_in = 0;  // rows read from the log of a cluster
  // The last time at which a standby had all rows of the log; None = no standby, or not yet.
  Instant at_end;
  uint64_t pages = 0;           // loaded so far
  uint64_t expected_pages = 0;  // an estimate; 0 = not known yet
  double share = 0;             // loaded part of the store, 0 to 1
  uint64_t stored_twice = 0;    // pages whose URL another page has, too
};
// Makes the status from the progress of opening a store.
[[nodiscard]] RecoveryStatus RecoveryOf(const OpenProgress& progress);
// One line for people: "loading: 12 of about 40 pages, 30% of the store".
[[nodiscard]] std::string Describe(const RecoveryStatus& recovery);
// One word for programs: opening, checking_log, replaying_log, migrating, catching_up,
// standing_by, loading or serving.
[[nodiscard]] std::string_view StageName(const RecoveryStatus& recovery);

// The reason why the store accepts no writes: "disk_full", "damaged" or "write_failed"; "" = it
// accepts writes. These are all possible values, so they can be a label of a metric.
[[nodiscard]] std::string_view FailureKind(const Status& failure);

// Work that waits for a thread, except shards and the HTTP port. Value type, thread-compatible.
struct QueueDepths {
  size_t background = 0;
  size_t upkeep = 0;
  size_t frontier = 0;
};

// The state. Value type, thread-compatible.
struct ServerStatus {
  Instant now;
  Instant started;
  PolicyStatus policy;
  std::vector<ShardSnapshot> shards;
  // Time from the end of an epoch to the start of the next; 0 = epochs run only on request.
  Duration epoch_interval;
  DispatchStats dispatch;
  StoreStats store;
  std::string durability;
  StreamStats streams;
  HandlerCounters handled;
  std::vector<LimitInForce> limits;
  CallFigures calls;
  QueueDepths queues;
  std::vector<SourceFigures> sources;  // by name
  // Crawl ids with settings, limits::kMaxCrawlsShown of them at most.
  std::map<std::string, CrawlCounters> crawls;
  Status failure;  // why all or some writes fail; OK = none fail
  Status stall;    // why no shard can write; OK = at least one can
  AuditStats audit;
  // Set by the owners of these parts:
  RecoveryStatus recovery;
  ConnectionStats connections;
  HttpStats http;
  DoorStats door;
  FrontierStatus frontier = {.active = false};  // inactive if the API is not served
  IndexNowStats indexnow;
  ClusterStatus cluster;
  ProcessStats process;
  std::map<std::string, double> annotations;  // posted by programs
};

// --- Figures of all shards

// The part of a snapshot that has fields of P.
template <typename P>
const P& PartOf(const ShardSnapshot& shard) {
  return std::get<const P&>(
      std::tie(shard, shard.counters, static_cast<const EventCounts&>(shard.counters),
               shard.believed, shard.figures, shard.last_epoch, shard.commits));
}
template <typename T, typename P>
T SumOf(const ServerStatus& status, T P::*field) {
  T sum{};
  for (const ShardSnapshot& shard : status.shards) sum += PartOf<P>(shard).*field;
  return sum;
}
template <typename T, typename P>
T MostOf(const ServerStatus& status, T P::*field) {
  T most{};
  for (const ShardSnapshot& shard : status.shards) most = std::max(most, PartOf<P>(shard).*field);
  return most;
}
template <typename T, typename P>
T LeastOf(const ServerStatus& status, T P::*field) {
  if (status.shards.empty()) return T{};
  T least = PartOf<P>(status.shards.front()).*field;
  for (const ShardSnapshot& shard : status.shards) least = std::min(least, PartOf<P>(shard).*field);
  return least;
}

// Gathers the state. Thread-safe.
[[nodiscard]] ServerStatus GatherStatus(const ServerContext& context);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_STATUS_H_
