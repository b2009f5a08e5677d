// What becomes of the leases of each worker, counted commit by commit.
#ifndef FRESHET_SERVER_ENGINE_LEASE_TALLY_H_
#define FRESHET_SERVER_ENGINE_LEASE_TALLY_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace freshet {

class ShardState;
class Transaction;

// What tells workers apart whose leases are counted. Names are what clients make up, so that none
// of them counts for another client. Value type, thread-compatible.
struct WorkerKey {
  std::string client;  // LeaseRecord::client
  std::string name;
  bool operator==(const WorkerKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const WorkerKey& key) {
    return H::combine(std::move(h), key.client, key.name);
  }
};

// Of one worker in one commit. Value type, thread-compatible.
struct LeaseTally {
  uint32_t opened = 0;
  uint32_t ended = 0;     // of those opened since the server started, however they ended
  uint32_t answered = 0;  // ended with a result
  // Ended by their deadline, of those opened since the server started. Of others nobody knows
  // whether they have reached the worker: a run that is killed takes along what it has leased
  // ahead.
  uint32_t expired = 0;
};
using LeaseTallies = absl::flat_hash_map<WorkerKey, LeaseTally>;

// What installing `txn` will do to the leases of `state`. `generation` is that of this run.
[[nodiscard]] LeaseTallies TallyLeases(const ShardState& state, Transaction& txn,
                                       uint32_t generation);

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_LEASE_TALLY_H_
