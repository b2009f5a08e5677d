// Which groups of hosts are free, as far as a shard knows: from its own hosts, and from what it was
// told of the hosts of other shards.
#ifndef FRESHET_CORE_SCHEDULE_HOST_GROUPS_H_
#define FRESHET_CORE_SCHEDULE_HOST_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/schedule/host_group.h"

namespace freshet {

// Names a group on all shards of a process: a hash of its name, 0: no group. Never stored.
using GroupKey = StrongId<struct GroupKeyTag, uint64_t>;

// What one shard has of a group. Value type, thread-compatible.
struct GroupStanding {
  GroupKey key;
  GroupTerms terms;
  uint32_t in_flight = 0;   // picks and leases
  Instant last_assignment;  // of any of its hosts; none: never, as far as is known
};

// What all others have of it. Value type, thread-compatible.
struct GroupNews {
  GroupKey key;
  uint32_t in_flight = 0;
  Instant delayed_until;  // by an assignment of theirs; none: by none
};

// Owner thread only. A group is known while it has hosts, or others have something of it. GroupIds
// are dense; one of a group that is gone is given to a later one.
class HostGroups {
 public:
  // What a host brings with it when it joins a group, and takes along.
  struct Load {
    uint32_t in_flight = 0;
    uint32_t picks = 0;  // of these, those whose lease is not open yet
    Instant last_pick;   // of these; none: there are none
    Instant last_assignment;
  };

  [[nodiscard]] bool any() const { return !ids_.empty(); }
  // A host joins the group: its id. The terms of the group are these from now on.
  GroupId Join(std::shared_ptr<const HostGroup> group, const Load& load);
  void Leave(GroupId group, const Load& load);
  // Precondition: the group is known. Of group 0: null.
  [[nodiscard]] const std::shared_ptr<const HostGroup>& group(GroupId group) const {
    return groups_.at(group.value()).group;
  }
  [[nodiscard]] GroupKey key(GroupId group) const { return groups_.at(group.value()).key; }

  // What HostGate's functions of the same names do to a host, does to its group.
  void Pick(GroupId group, Instant at);
  void OpenLease(GroupId group, Instant assigned);
  void EndLease(GroupId group);
  void NoteAssignment(GroupId group, Instant at);
  void PutBack(GroupId group);

  // The instant from which the group is free; infinite while its limit is reached.
  [[nodiscard]] Instant FreeAt(GroupId group) const;

  // What the others have from now on. The id of the group; 0: the shard has no host of it.
  GroupId Hear(const GroupNews& news, Instant now);
  // Appends what has changed since the last call, picks not counted that are out now.
  void TakeStandings(std::vector<GroupStanding>* standings);
  // Forgets which groups are gone. Precondition: nobody has been told of them.
  void ForgetGone() { gone_.clear(); }

 private:
  struct Group {
    std::shared_ptr<const HostGroup> group;  // null: the id is free
    GroupKey key;
    uint32_t hosts = 0;
    Load load;             // of all its hosts
    bool changed = false;  // the id is among those that changed, whoever has it
  };

  [[nodiscard]] Group& at(GroupId group) { return groups_.at(group.value()); }
  void NoteChange(GroupId group);
  // Forgets what others have of groups of which that says nothing any more.
  void ForgetElsewhere(Instant now);

  std::vector<Group> groups_ = std::vector<Group>(1);  // by GroupId
  std::vector<GroupId> free_;
  absl::flat_hash_map<GroupKey, GroupId> ids_;
  absl::flat_hash_map<GroupKey, GroupNews> elsewhere_;
  size_t look_at_elsewhere_ = 1024;  // when there are so many, the idle ones are forgotten
  std::vector<GroupId> changed_;
  std::vector<GroupStanding> gone_;  // of which the last host has left since they were last told
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_GROUPS_H_
