// The free groups of hosts over all shards. Hosts of one group may belong to several shards, and no
// shard knows the pages that others have handed out.
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

// Shards report changes of their groups with each bid. A taken pick counts from then on, until the
// shard reports its outcome. Groups without a leased page or a running delay are not kept; each
// other takes some hundred bytes.
//
// Thread-compatible.
class GroupLedger {
 public:
  explicit GroupLedger(size_t shards) : shards_(shards) {}

  void Hear(size_t shard, const std::vector<GroupStanding>& standings, Instant now);
  // When a page of the group may be handed out; infinite = only after a page of the group has come
  // back.
  [[nodiscard]] Instant FreeAt(GroupKey group, const GroupTerms& terms) const;
  // Hands out a page of the shard at `at`.
  void Take(size_t shard, GroupKey group, const GroupTerms& terms, Instant at);
  // For each shard, the changes of groups by other shards since the last call.
  [[nodiscard]] std::vector<std::vector<GroupNews>> TakeNews();
  // The number of kept groups.
  [[nodiscard]] size_t size() const { return groups_.size(); }

 private:
  struct Group {
    absl::InlinedVector<uint32_t, 4> in_flight;  // by shard
    uint64_t all_in_flight = 0;
    Instant delayed_until;
    bool changed = false;
    bool told = false;  // whether shards were notified of the group
  };
  Group& Find(GroupKey group);
  void NoteChange(GroupKey key, Group& group);
  void ForgetIdle(Instant now);

  size_t shards_;
  absl::flat_hash_map<GroupKey, Group> groups_;
  std::vector<GroupKey> changed_;
  size_t forget_at_ = 1024;  // number of groups at which idle ones are forgotten
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_GROUP_LEDGER_H_
