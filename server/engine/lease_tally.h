// Counts how the leases of each worker begin and end, for each commit.
#ifndef FRESHET_SERVER_ENGINE_LEASE_TALLY_H_
#define FRESHET_SERVER_ENGINE_LEASE_TALLY_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace freshet {

class ShardState;
class Transaction;

// The key by which leases of a worker are counted. It includes the client, because clients choose
// the names of workers freely. Value type, thread-compatible.
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
  uint32_t ended = 0;     // ended in any way; only leases opened since the server started
  uint32_t answered = 0;  // ended with a result
  // Ended by their deadline; only leases opened since the server started. An earlier lease may
  // never have reached its worker: a server that is killed does not send the pages that it has
  // leased ahead.
  uint32_t expired = 0;
};
using LeaseTallies = absl::flat_hash_map<WorkerKey, LeaseTally>;

// Counts the leases that the installation of `txn` will open and end in `state`. `generation` is
// the generation of this run of the server.
[[nodiscard]] LeaseTallies TallyLeases(const ShardState& state, Transaction& txn,
                                       uint32_t generation);

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_LEASE_TALLY_H_
