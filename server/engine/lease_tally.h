// What becomes of the leases of each worker, counted commit by commit.
#ifndef FRESHET_SERVER_ENGINE_LEASE_TALLY_H_
#define FRESHET_SERVER_ENGINE_LEASE_TALLY_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/schedule/shard_state.h"
#include "core/schedule/transaction.h"

namespace freshet {

// Of one worker in one commit. Value type, thread-compatible.
struct LeaseTally {
  uint32_t opened = 0;
  uint32_t ended = 0;     // of those opened since the server started, however they ended
  uint32_t answered = 0;  // ended with a result
  uint32_t expired = 0;   // ended by their deadline
};
// By the name of the worker.
using LeaseTallies = absl::flat_hash_map<std::string, LeaseTally>;

// What installing `txn` will do to the leases of `state`. `generation` is that of this run.
[[nodiscard]] LeaseTallies TallyLeases(const ShardState& state, Transaction& txn,
                                       uint32_t generation);

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_LEASE_TALLY_H_
