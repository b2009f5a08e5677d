// The figures of a shard that others may read at any time, without asking its thread.
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
  BelievedFreshness believed;  // about a second old, as is `figures`
  ShardFigures figures;
  double price = 0;
  CrawlPolicy in_force;
  EpochResult last_epoch;
  bool epoch_running = false;
  CommitCounts commits;
  Duration last_commit;
  size_t waiting_events = 0;
  size_t waiting_reads = 0;  // reads that wait for the shard's thread
  Status failure;            // OK while the shard works
};

// The shard's thread writes; all others may read. Thread-safe.
class ShardBoard {
 public:
  // --- The shard's thread only
  void NoteCommit(Duration took, size_t events) FRESHET_EXCLUDES(mutex_);
  void NoteFailure(const Status& status) FRESHET_EXCLUDES(mutex_);
  // Shows what a turn did, before its replies are given.
  void Publish(ShardState& state, const EpochRunner& epochs) FRESHET_EXCLUDES(mutex_);
  // Shows figures that take a look at every page: about once a second, less often if that takes
  // long.
  void PublishBelieved(ShardState& state, Instant now, Clock& clock) FRESHET_EXCLUDES(mutex_);

  // --- Anybody
  // Without what waits.
  [[nodiscard]] ShardSnapshot snapshot() const FRESHET_EXCLUDES(mutex_);
  // The crawl ids for which something is set, as of a second ago.
  [[nodiscard]] std::vector<CrawlStatus> crawls() const FRESHET_EXCLUDES(mutex_);
  // The trust in sources over all shards, as of the last epoch.
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
