#include "server/engine/lease_tally.h"

#include "core/schedule/leases.h"
#include "core/schedule/page_book.h"
#include "core/schedule/shard_state.h"
#include "core/schedule/transaction.h"

namespace freshet {

LeaseTallies TallyLeases(const ShardState& state, Transaction& txn, uint32_t generation) {
  LeaseTallies tallies;
  for (const Transaction::Lease& lease : txn.leases()) {
    const bool was_open = state.pages().FindLease(lease.record.id).has_value();
    const WorkerKey worker = {lease.record.client, lease.record.worker};
    if (!was_open && !lease.closed) ++tallies[worker].opened;
    // A lease that was opened and ended within one turn is not counted.
    if (!was_open || !lease.closed) continue;
    LeaseTally& tally = tallies[worker];
    const bool of_this_run = GenerationOfLease(lease.record.id) == generation % kLeaseGenerations;
    if (of_this_run) ++tally.ended;
    if (lease.answered) {
      ++tally.answered;
    } else if (lease.expired && of_this_run) {
      ++tally.expired;
    }
  }
  return tallies;
}

}  // namespace freshet
