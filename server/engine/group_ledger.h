// Tracks when groups of hosts are free, over all shards. The hosts of one group can belong to
// several shards, and no shard knows the pages that others have handed out.
#ifndef FRESHET_SERVER_ENGINE_GROUP_LEDGER_H_
#define FRESHET_SERVER_ENGINE_GROUP_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "core/base/units.h"
#include "core/schedule/host_groups.h"

namespace freshet {

// Shards report changes of their groups with each bid. A pick that is taken counts at once; the
// next report of its shard replaces the count. Groups without a leased page or a running delay are
// not kept. A kept group takes a few hundred bytes.
//
// Thread-compatible.
class GroupLedger {
 public:
  explicit GroupLedger(size_t shards) : shards_(shards) {}

  void Hear(size_t shard, const std::vector<GroupStanding>& standings, Instant now);
  // The time from which a page of the group may be handed out; infinite = not before a lease of the
  // group ends.
  [[nodiscard]] Instant FreeAt(GroupKey group, const GroupTerms& terms) const;
  // Notes that a page of this group and shard is handed out at `at`.
  void Take(size_t shard, GroupKey group, const GroupTerms& terms, Instant at);
  // Returns, for each shard, the groups that have changed since the last call, with their counts at
  // other shards.
  [[nodiscard]] std::vector<std::vector<GroupNews>> TakeNews();
  // The number of kept groups.
  [[nodiscard]] size_t size() const { return groups_.size(); }

 private:
  struct Group {
    absl::InlinedVector<uint32_t, 4> in_flight;  // by shard
    uint64_t all_in_flight = 0;
    Instant delayed_until;
    bool changed = false;
    bool told = false;  // TakeNews has returned the group
  };
  Group& Find(GroupKey group);
  void NoteChange(GroupKey key, Group& group);
  void ForgetIdle(Instant now);

  size_t shards_;
  absl::flat_hash_map<GroupKey, Group> groups_;
  std::vector<GroupKey> changed_;
  size_t forget_at_ = 1024;  // number of groups at which idle ones are erased
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_GROUP_LEDGER_H_
