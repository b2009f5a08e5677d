// Counts what becomes of the leases of each worker, commit by commit.
#ifndef FRESHET_SERVER_ENGINE_LEASE_TALLY_H_
#define FRESHET_SERVER_ENGINE_LEASE_TALLY_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace freshet {

class ShardState;
class Transaction;

// The key of a worker whose leases are counted. Clients choose names freely, so none counts for
// another client. Value type, thread-compatible.
struct WorkerKey {
  std::string client;  // LeaseRecord::client
  std::string name;
  bool operator==(const WorkerKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const WorkerKey& key) {
    return H::combine(std::move(h), key.client, key.name);
  }
};

// The counts of one worker in one commit. Value type, thread-compatible.
struct LeaseTally {
  uint32_t opened = 0;
  uint32_t ended = 0;     // ended in any way, if opened since the server started
  uint32_t answered = 0;  // ended with a result
  // Ended by their deadline, opened since the server started. Earlier ones may never have reached
  // the worker: a killed run loses the leases that it had ahead.
  uint32_t expired = 0;
};
using LeaseTallies = absl::flat_hash_map<WorkerKey, LeaseTally>;

// Counts what the installation of `txn` will do to the leases of `state`. `generation` is that of
// this run.
[[nodiscard]] LeaseTallies TallyLeases(const ShardState& state, Transaction& txn,
                                       uint32_t generation);

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_LEASE_TALLY_H_
