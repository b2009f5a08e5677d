// Read-only queries of clients to a shard. The shard serves only a few of them between two of its
// turns, so that queries never delay commits or assignments for long.
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

// The data that a query may read, on the shard's thread.
struct ShardView {
  ShardState& state;
  EpochRunner& epochs;
  Instant now;
};
using ShardQuery = std::function<void(const ShardView&)>;

// The waiting queries. Thread-safe, but only the shard's thread may call Serve and ServeSingle.
class ShardReads {
 public:
  // Adds a query for a single page or host on behalf of a client (Claim::client; 0 = the server
  // itself). Clients take turns. kFull: limits::kMaxWaitingReads queries wait, or the client has
  // used up its share of them.
  PushOutcome Push(ShardQuery query, uint64_t client) {
    return short_.Push(std::move(query), 1, Instant(), client);
  }
  // Adds a query for a part of a list. It takes as long as many queries for single pages. Clients
  // take turns. The caller must limit the number of queries.
  PushOutcome PushMany(ShardQuery query, uint64_t client) {
    return long_.PushAlways(std::move(query), client);
  }
  // Refuses all further queries.
  void Close() {
    short_.Close();
    long_.Close();
  }

  [[nodiscard]] bool empty() const { return short_.empty() && long_.empty(); }
  [[nodiscard]] size_t size() const { return short_.size() + long_.size(); }
  // Serves some single queries, and one query for a part of a list.
  void Serve(const ShardView& view) {
    ServeSingle(view);
    std::vector<ShardQuery> due;
    long_.DrainOne(&due);
    for (const ShardQuery& query : due) query(view);
  }
  // Serves some single queries. Returns true if more wait.
  bool ServeSingle(const ShardView& view) {
    std::vector<ShardQuery> due;
    std::vector<ShardQuery> none;  // stays empty: queries do not expire
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
