// Present and recent workers, by client and the names that workers give themselves.
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

// The record of one worker since the start of the server. Value type, thread-compatible.
struct WorkerRecord {
  std::string name;
  std::string client;   // owner of the worker (LeaseRecord::client)
  std::string address;  // last one, without the port; empty = not known
  Instant last_seen;    // when it joined, asked for pages, or a result of it arrived
  uint64_t leases = 0;  // open, since the start
  uint64_t assignments = 0;
  uint64_t results = 0;
  uint64_t expired = 0;  // leases that ended without a result
  // Set by Dispatcher::workers.
  uint64_t streams = 0;  // open, with waiting calls
  uint64_t credit = 0;   // assignments that it may still be sent
};

// The records. Thread-safe.
class WorkerRoster {
 public:
  // The number of workers kept. A further one replaces the worker not seen for the longest time, of
  // the client with the most workers.
  static constexpr size_t kMaxNames = 1000;

  // Notes that the worker joined or asked for pages. An empty address keeps the old one.
  void Saw(const WorkerKey& worker, const std::string& address, Instant now)
      FRESHET_EXCLUDES(mutex_);
  void Count(const LeaseTallies& tallies, Instant now) FRESHET_EXCLUDES(mutex_);
  // All records, the last seen first.
  [[nodiscard]] std::vector<WorkerRecord> records() const FRESHET_EXCLUDES(mutex_);

 private:
  WorkerRecord& FindOrAdd(const WorkerKey& worker) FRESHET_REQUIRES(mutex_);

  mutable Mutex mutex_;
  absl::flat_hash_map<WorkerKey, WorkerRecord> records_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_WORKER_ROSTER_H_
