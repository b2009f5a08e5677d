// Records of present and recent workers, by client and by the name that the worker gave.
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
  std::string address;  // last address, without the port; empty = not known
  Instant last_seen;    // last time that it joined, asked for pages or reported a result
  uint64_t leases = 0;  // open leases, of those opened since the start
  uint64_t assignments = 0;
  uint64_t results = 0;
  uint64_t expired = 0;  // leases whose deadline passed without a result
  // Dispatcher::workers sets the following fields.
  uint64_t streams = 0;  // open streams, and waiting calls
  uint64_t credit = 0;   // assignments that may still be sent to it
};

// The records. Thread-safe.
class WorkerRoster {
 public:
  // The maximum number of workers in the roster. When it is reached, a new worker replaces a worker
  // of the client with the most workers: the one that was not seen for the longest time.
  static constexpr size_t kMaxNames = 1000;

  // Notes that the worker joined or asked for pages. An empty address leaves the known address
  // unchanged.
  void Saw(const WorkerKey& worker, const std::string& address, Instant now)
      FRESHET_EXCLUDES(mutex_);
  void Count(const LeaseTallies& tallies, Instant now) FRESHET_EXCLUDES(mutex_);
  // All records, the most recently seen first.
  [[nodiscard]] std::vector<WorkerRecord> records() const FRESHET_EXCLUDES(mutex_);

 private:
  WorkerRecord& FindOrAdd(const WorkerKey& worker) FRESHET_REQUIRES(mutex_);

  mutable Mutex mutex_;
  absl::flat_hash_map<WorkerKey, WorkerRecord> records_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_WORKER_ROSTER_H_
