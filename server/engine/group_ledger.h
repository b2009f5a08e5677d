// Which groups of hosts are free, over all shards: hosts of one group may be of several, and none
// of these knows what the others have out.
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

// Shards say with each bid what has changed of their groups; picks that are taken count from then
// on, until the shard says what came of them. Groups of which nothing is out and no delay runs are
// not kept: some hundred bytes for each other.
//
// Thread-compatible.
class GroupLedger {
 public:
  explicit GroupLedger(size_t shards) : shards_(shards) {}

  void Hear(size_t shard, const std::vector<GroupStanding>& standings, Instant now);
  // When a page of the group may go out; infinite: once something has come back.
  [[nodiscard]] Instant FreeAt(GroupKey group, const GroupTerms& terms) const;
  // A page of the shard goes out at `at`.
  void Take(size_t shard, GroupKey group, const GroupTerms& terms, Instant at);
  // What each shard is to know of the others that has changed since the last call, by shard.
  [[nodiscard]] std::vector<std::vector<GroupNews>> TakeNews();
  // Groups that are kept.
  [[nodiscard]] size_t size() const { return groups_.size(); }

 private:
  struct Group {
    absl::InlinedVector<uint32_t, 4> in_flight;  // by shard
    uint64_t all_in_flight = 0;
    Instant delayed_until;
    bool changed = false;
    bool told = false;  // to the shards
  };
  Group& Find(GroupKey group);
  void NoteChange(GroupKey key, Group& group);
  void ForgetIdle(Instant now);

  size_t shards_;
  absl::flat_hash_map<GroupKey, Group> groups_;
  std::vector<GroupKey> changed_;
  size_t forget_at_ = 1024;  // groups
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_GROUP_LEDGER_H_
