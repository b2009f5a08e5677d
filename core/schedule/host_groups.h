// The groups of hosts in a shard, and when each group is free. A group can also have hosts in other
// shards, so shards tell each other about their assignments (GroupNews).
#ifndef FRESHET_CORE_SCHEDULE_HOST_GROUPS_H_
#define FRESHET_CORE_SCHEDULE_HOST_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/parted_map.h"
#include "core/base/segmented_array.h"
#include "core/base/units.h"
#include "core/schedule/host_group.h"

namespace freshet {

// Identifies a group on all shards of a process: a hash of the group's name; 0 = none. Never
// stored.
using GroupKey = StrongId<struct GroupKeyTag, uint64_t>;

// The state of a group in one shard. Value type, thread-compatible.
struct GroupStanding {
  GroupKey key;
  GroupTerms terms;
  uint32_t in_flight = 0;   // number of open leases, without picks
  Instant last_assignment;  // the latest over all its hosts; none = not known
};

// The state of a group in all other shards together, as they have reported it. Value type,
// thread-compatible.
struct GroupNews {
  GroupKey key;
  uint32_t in_flight = 0;
  Instant delayed_until;  // end of the delay after assignments; none = not delayed
};

// The groups of a shard. A group is known while it has hosts in this shard. Reports of other shards
// are kept for unknown groups too. GroupIds are dense and reused. Owner thread only.
class HostGroups {
 public:
  // The load of one host, which is added when the host joins a group and subtracted when it leaves.
  struct Load {
    uint32_t in_flight = 0;
    uint32_t picks = 0;  // picks whose lease is not open yet
    Instant last_pick;   // the latest of the picks; none = no pick
    Instant last_assignment;
  };

  HostGroups() { groups_.GrowTo(1); }
  [[nodiscard]] bool any() const { return !ids_.empty(); }
  // Adds a host to the group, and sets the group's terms. Returns the id of the group.
  GroupId Join(std::shared_ptr<const HostGroup> group, const Load& load);
  void Leave(GroupId group, const Load& load);
  // The group with its name and terms; nullptr for group 0. Precondition: the group is known.
  [[nodiscard]] const std::shared_ptr<const HostGroup>& group(GroupId group) const {
    return groups_.at(group.value()).group;
  }
  [[nodiscard]] GroupKey key(GroupId group) const { return groups_.at(group.value()).key; }

  // These functions do to a group what the HostGate functions of the same names do to a host.
  void Pick(GroupId group, Instant at);
  void OpenLease(GroupId group, Instant assigned);
  void EndLease(GroupId group);
  void NoteAssignment(GroupId group, Instant at);
  void PutBack(GroupId group);

  // The instant from which the group is free; infinite while it is at its limit.
  [[nodiscard]] Instant FreeAt(GroupId group) const;

  // Replaces what is known about the group from other shards. Returns the id of the group; 0 = this
  // shard has no host of the group.
  GroupId Hear(const GroupNews& news, Instant now);
  // Appends the standings that have changed since the last call. Picks without a lease are not
  // included in them.
  void TakeStandings(std::vector<GroupStanding>* standings);
  // The number of groups for which other shards have reported something, including some that no
  // longer matter.
  [[nodiscard]] size_t elsewhere() const { return elsewhere_.size(); }
  // Drops the standings of groups that have lost their last host, so that TakeStandings does not
  // report them. Precondition: no other shard has ever heard of these groups.
  void ForgetGone() { gone_.clear(); }

 private:
  struct Group {
    std::shared_ptr<const HostGroup> group;  // nullptr = the id is free
    GroupKey key;
    uint32_t hosts = 0;
    Load load;             // sum over its hosts
    bool changed = false;  // the id is in changed_, whichever group has it
  };

  [[nodiscard]] Group& at(GroupId group) { return groups_.at(group.value()); }
  void NoteChange(GroupId group);

  SegmentedArray<Group, 12> groups_;  // by GroupId; the first is not used
  std::vector<GroupId> free_;
  PartedMap<GroupKey, GroupId> ids_;
  PartedMap<GroupKey, GroupNews> elsewhere_;
  size_t unlooked_ = 0;   // calls of Hear since a part of `elsewhere_` was last scanned
  size_t next_part_ = 0;  // the part to scan next
  std::vector<GroupId> changed_;
  std::vector<GroupStanding> gone_;  // groups whose last host left after the last TakeStandings
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_GROUPS_H_
