// Who works, and who did lately: by client, and the names that workers give themselves.
#ifndef FRESHET_SERVER_ENGINE_WORKER_ROSTER_H_
#define FRESHET_SERVER_ENGINE_WORKER_ROSTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "server/engine/lease_tally.h"
#include "sync/mutex.h"

namespace freshet {

// What there is to be said of one worker since the start of the server. Value type,
// thread-compatible.
struct WorkerRecord {
  std::string name;
  std::string client;   // whose worker it is (LeaseRecord::client)
  std::string address;  // that it came from last, without the port; empty: not known
  Instant last_seen;    // it joined, asked for pages, or a result of it arrived
  uint64_t leases = 0;  // open, of those handed out since the start
  uint64_t assignments = 0;
  uint64_t results = 0;
  uint64_t expired = 0;  // leases that ended without a result
  // Set by Dispatcher::workers.
  uint64_t streams = 0;  // that are open; calls that wait count as well
  uint64_t credit = 0;   // assignments that it may still be sent
};

// Thread-safe.
class WorkerRoster {
 public:
  // Of so many workers; one more takes the place of the one that was seen the longest ago, of the
  // client that has the most.
  static constexpr size_t kMaxNames = 1000;

  // The worker joined or asked for pages. An empty address leaves the one before.
  void Saw(const WorkerKey& worker, const std::string& address, Instant now)
      FRESHET_EXCLUDES(mutex_);
  void Count(const LeaseTallies& tallies, Instant now) FRESHET_EXCLUDES(mutex_);
  // Those seen last first.
  [[nodiscard]] std::vector<WorkerRecord> records() const FRESHET_EXCLUDES(mutex_);

 private:
  WorkerRecord& FindOrAdd(const WorkerKey& worker) FRESHET_REQUIRES(mutex_);

  mutable Mutex mutex_;
  absl::flat_hash_map<WorkerKey, WorkerRecord> records_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_WORKER_ROSTER_H_
