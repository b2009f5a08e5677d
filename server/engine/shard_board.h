// The figures of a shard that other threads may read at any time, without a request to its thread.
#ifndef FRESHET_SERVER_ENGINE_SHARD_BOARD_H_
#define FRESHET_SERVER_ENGINE_SHARD_BOARD_H_

#include <cstddef>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/estimate/trust.h"
#include "core/schedule/crawl_policy.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/freshness_sample.h"
#include "core/schedule/shard_counters.h"
#include "core/schedule/shard_figures.h"
#include "server/base/system_clock.h"
#include "server/engine/commit_counts.h"
#include "server/engine/epoch_result.h"
#include "sync/mutex.h"

namespace freshet {

class EpochRunner;
class ShardState;

// Value type, thread-compatible.
struct ShardSnapshot {
  ShardCounters counters;
  BelievedFreshness believed;  // about a second old, like `figures`
  ShardFigures figures;
  double price = 0;
  CrawlPolicy in_force;
  EpochResult last_epoch;
  bool epoch_running = false;
  CommitCounts commits;
  Duration last_commit;
  size_t waiting_events = 0;
  size_t waiting_reads = 0;  // number of reads that wait for the shard's thread
  Status failure;            // OK while the shard works
};

// The shard's thread writes; all others may read. Thread-safe.
class ShardBoard {
 public:
  // --- The shard's thread only
  void NoteCommit(Duration took, size_t events) FRESHET_EXCLUDES(mutex_);
  void NoteFailure(const Status& status) FRESHET_EXCLUDES(mutex_);
  // Publishes the effects of a turn, before its replies are sent.
  void Publish(ShardState& state, const EpochRunner& epochs) FRESHET_EXCLUDES(mutex_);
  // Publishes figures that need a pass over all pages: about once a second, and less often if the
  // pass takes long.
  void PublishBelieved(ShardState& state, Instant now, Clock& clock) FRESHET_EXCLUDES(mutex_);

  // --- Anybody
  // The latest snapshot, without `waiting_events` and `waiting_reads`.
  [[nodiscard]] ShardSnapshot snapshot() const FRESHET_EXCLUDES(mutex_);
  // The crawl ids for which something is set; about a second old.
  [[nodiscard]] std::vector<CrawlStatus> crawls() const FRESHET_EXCLUDES(mutex_);
  // The trust in sources that was learned from all shards in the last epoch.
  [[nodiscard]] std::vector<SourceTrust> trust() const FRESHET_EXCLUDES(mutex_);

 private:
  Instant believed_due_;  // the shard's thread only
  mutable Mutex mutex_;
  ShardSnapshot snapshot_ FRESHET_GUARDED_BY(mutex_);
  std::vector<CrawlStatus> crawls_ FRESHET_GUARDED_BY(mutex_);
  std::vector<SourceTrust> trust_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_SHARD_BOARD_H_
