// Queries of clients to a shard, in any number. They are served a few at a time between the turns
// of the shard, so that neither commits nor assignments wait.
#ifndef FRESHET_SERVER_ENGINE_SHARD_READS_H_
#define FRESHET_SERVER_ENGINE_SHARD_READS_H_

#include <functional>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "server/base/limits.h"
#include "server/base/mailbox.h"

namespace freshet {

class EpochRunner;
class ShardState;

// The parts that a query may look at, on the shard's thread.
struct ShardView {
  ShardState& state;
  EpochRunner& epochs;
  Instant now;
};
using ShardQuery = std::function<void(const ShardView&)>;

// The waiting queries. Thread-safe, but Serve belongs to the shard's thread.
class ShardReads {
 public:
  // Adds a query of a single page or host for a client (Claim::client; 0 = the server itself).
  // Clients take turns. kFull: limits::kMaxWaitingReads wait, or the client's share of them.
  PushOutcome Push(ShardQuery query, uint64_t client) {
    return short_.Push(std::move(query), 1, Instant(), client);
  }
  // Adds a part of a list, which takes as long as many single ones. The caller bounds their number.
  PushOutcome PushMany(ShardQuery query) { return long_.PushAlways(std::move(query)); }
  // Accepts nothing more.
  void Close() {
    short_.Close();
    long_.Close();
  }

  [[nodiscard]] bool empty() const { return short_.empty() && long_.empty(); }
  [[nodiscard]] size_t size() const { return short_.size() + long_.size(); }
  // Serves some single queries, and one part of a list.
  void Serve(const ShardView& view) {
    ServeSingle(view);
    std::vector<ShardQuery> due;
    long_.DrainOne(&due);
    for (const ShardQuery& query : due) query(view);
  }
  // Serves some single queries. Returns whether more wait.
  bool ServeSingle(const ShardView& view) {
    std::vector<ShardQuery> due;
    std::vector<ShardQuery> none;  // nothing here expires
    short_.Drain(limits::kReadsPerTurn, view.now, &due, &none);
    for (const ShardQuery& query : due) query(view);
    return !short_.empty();
  }

 private:
  Mailbox<ShardQuery> short_{
      {.weight = limits::kMaxWaitingReads, .hard_weight = limits::kMaxWaitingReads}};
  Mailbox<ShardQuery> long_{{}};
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_SHARD_READS_H_
