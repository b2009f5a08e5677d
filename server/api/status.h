// What the server looks like right now, gathered once for all who show it: GetStatistics, metrics,
// and the console.
#ifndef FRESHET_SERVER_API_STATUS_H_
#define FRESHET_SERVER_API_STATUS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/freshness_sample.h"
#include "core/schedule/shard_counters.h"
#include "core/schedule/shard_figures.h"
#include "freshet/v1/admin.pb.h"
#include "server/api/call_stats.h"
#include "server/api/cluster_status.h"
#include "server/api/context.h"
#include "server/api/indexnow_stats.h"
#include "server/api/source_figures.h"
#include "server/auth/door.h"
#include "server/config_limits.h"
#include "server/engine/dispatcher.h"
#include "server/engine/runtime_settings.h"
#include "server/engine/shard.h"
#include "server/frontier/frontier.h"
#include "server/logs/audit_log.h"
#include "server/ports/connections.h"
#include "server/ports/http_port.h"
#include "storage/open_progress.h"
#include "storage/store.h"

namespace freshet {

// How far a start has come. Value type, thread-compatible.
struct RecoveryStatus {
  bool ready = false;  // requests are taken
  // Of the store; pages are loaded once it is open.
  OpenStage stage = OpenStage::kOpening;
  uint64_t log_bytes = 0;  // that a crash left to be checked and replayed
  uint64_t checked_log_bytes = 0;
  uint64_t replayed_log_bytes = 0;
  uint64_t rows_taken_in = 0;   // of the log of a cluster
  Instant at_end;               // when a standby last had all of them; None: is none, or not yet
  uint64_t pages = 0;           // loaded so far
  uint64_t expected_pages = 0;  // about how many there are; zero: not known yet
  double share = 0;             // of the store that is loaded, 0 to 1
  uint64_t stored_twice = 0;    // pages whose URL another page has too
};
// Of a store that is being opened.
[[nodiscard]] RecoveryStatus RecoveryOf(const OpenProgress& progress);
// One line for people: "loading: 12 of about 40 pages, 30% of the store".
[[nodiscard]] std::string Describe(const RecoveryStatus& recovery);
// One word for programs: opening, checking_log, replaying_log, migrating, catching_up,
// standing_by, loading or serving.
[[nodiscard]] std::string_view StageName(const RecoveryStatus& recovery);

// Work that waits for a thread. Value type, thread-compatible.
struct QueueDepth {
  const char* queue;
  size_t waiting = 0;
};

// Value type, thread-compatible.
struct ServerStatus {
  Instant now;
  Instant started;
  PolicyStatus policy;
  ShardCounters counters;      // sums over shards
  BelievedFreshness believed;  // likewise
  ShardFigures figures;        // likewise, the longest wait of all: lateness, hosts, the index
  double price = 0;            // the highest of the shards'
  EpochResult last_epoch;      // epochs: the least of the shards', pages: their sum
  bool epoch_running = false;
  Duration epoch_interval;  // from the end of one to the start of the next; zero: never by itself
  uint64_t events = 0;
  size_t waiting_events = 0;
  DispatchStats dispatch;
  StoreStats store;
  std::string durability;
  size_t streams = 0;
  uint64_t streams_refused = 0;
  std::vector<LimitInForce> limits;
  uint64_t streams_refused_by_client = 0;  // of these
  uint64_t slowed_by_client = 0;           // see HandlerCounters
  uint64_t slowed_by_source = 0;
  uint64_t refused_by_client = 0;
  size_t unacked_bytes = 0;
  size_t answer_bytes = 0;
  CallFigures calls;
  ConnectionStats connections;  // set by who has them, as is `http`
  HttpStats http;
  DoorStats door;                          // likewise
  std::optional<FrontierStatus> frontier;  // likewise; unset: not served
  IndexNowStats indexnow;                  // likewise
  uint32_t shards = 0;
  uint64_t results_refused = 0;
  uint64_t signals_refused = 0;
  uint64_t upserts_applied = 0;
  uint64_t upserts_refused = 0;
  std::vector<SourceFigures> sources;  // by name
  std::vector<QueueDepth> queues;
  // By crawl id for which something is set, limits::kMaxCrawlsShown of them at most.
  std::map<std::string, CrawlCounters> crawls;
  Status failure;  // why nothing, or not everything, can be written
  Status stall;    // why no shard can write; OK if one can
  RecoveryStatus recovery;
  ClusterStatus cluster;
  AuditStats audit;

  [[nodiscard]] double believed_freshness() const {
    return believed.pages == 0 ? 0 : believed.fresh_pages / static_cast<double>(believed.pages);
  }
  [[nodiscard]] double weighted_believed_freshness() const {
    return believed.importance > 0 ? believed.fresh_importance / believed.importance : 0;
  }
};

// Thread-safe.
[[nodiscard]] ServerStatus GatherStatus(const ServerContext& context);
void ToProto(const ServerStatus& status, v1::GetStatisticsResponse* out);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_STATUS_H_
