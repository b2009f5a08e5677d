// What clients ask a shard to look at, as often as they like. It is served a little at a time,
// between the turns of the shard, so that neither commits nor assignments wait for it.
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

// What a query may look at, on the shard's thread.
struct ShardView {
  ShardState& state;
  EpochRunner& epochs;
  Instant now;
};
using ShardQuery = std::function<void(const ShardView&)>;

// Thread-safe; Serve belongs to the shard's thread.
class ShardReads {
 public:
  // Of a single page or host. kFull: more than limits::kMaxWaitingReads wait.
  PushOutcome Push(ShardQuery query) { return short_.Push(std::move(query), 1, Instant()); }
  // A part of a list, which takes as long as many of those. How many wait is for the caller to
  // bound.
  PushOutcome PushMany(ShardQuery query) { return long_.PushAlways(std::move(query)); }
  // Takes nothing more.
  void Close() {
    short_.Close();
    long_.Close();
  }

  [[nodiscard]] bool empty() const { return short_.empty() && long_.empty(); }
  [[nodiscard]] size_t size() const { return short_.size() + long_.size(); }
  // Some of the single ones, and one part of a list.
  void Serve(const ShardView& view) {
    ServeSingle(view);
    std::vector<ShardQuery> due;
    long_.DrainOne(&due);
    for (const ShardQuery& query : due) query(view);
  }
  // Some of the single ones; whether there are more.
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
