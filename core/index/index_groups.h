// What the index knows of groups of hosts: which hosts are in one, and whether its pages may be
// picked.
#ifndef FRESHET_CORE_INDEX_INDEX_GROUPS_H_
#define FRESHET_CORE_INDEX_INDEX_GROUPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/segmented_array.h"
#include "core/base/units.h"
#include "core/index/alarm.h"

namespace freshet {

// Owner thread only. Groups that were never named are free, and so is that of number 0, which is of
// all hosts that are in none. 16 bytes a group, and 4 a host once one is in a group.
class IndexGroups {
 public:
  [[nodiscard]] GroupId Of(HostId host) const {
    return host.value() < of_host_.size() ? of_host_[host.value()] : GroupId();
  }
  // The host is in that group from now on.
  void Put(HostId host, GroupId group) {
    of_host_.GrowTo(size_t{host.value()} + 1);
    of_host_[host.value()] = group;
  }
  [[nodiscard]] bool Blocked(HostId host) const { return blocked_ > 0 && IsBlocked(Of(host)); }
  [[nodiscard]] bool any_blocked() const { return blocked_ > 0; }

  // The group is free from `free_at` on (infinite: until told otherwise). Whether it is blocked now
  // and was not, or the other way round. Precondition: `group` is not 0.
  [[nodiscard]] bool SetFree(GroupId group, Instant free_at, Instant now) {
    if (group.value() >= groups_.size()) groups_.resize(group.value() + size_t{1});
    Group& its = groups_[group.value()];
    const bool blocked = free_at > now;
    // Told again, it has its alarm.
    const bool same = its.blocked && its.free_at == free_at;
    its.free_at = free_at;
    if (blocked && !free_at.infinite() && !same) alarms_.Push({free_at, group});
    if (blocked == its.blocked) return false;
    SetBlocked(its, blocked);
    return true;
  }
  [[nodiscard]] bool IsBlocked(GroupId group) const {
    return group.value() < groups_.size() && groups_[group.value()].blocked;
  }
  [[nodiscard]] bool Rings(Instant now) const { return alarms_.Rings(now); }
  // A group that has become free by `now`; nothing: there is none left.
  [[nodiscard]] std::optional<GroupId> NextFree(Instant now) {
    while (alarms_.Rings(now)) {
      const GroupId group = alarms_.Pop().id;
      Group& its = groups_[group.value()];
      if (!its.blocked || its.free_at > now) continue;
      SetBlocked(its, false);
      return group;
    }
    return std::nullopt;
  }

 private:
  struct Group {
    Instant free_at;
    bool blocked = false;  // `free_at` had not come when this was last looked at
  };
  void SetBlocked(Group& group, bool blocked) {
    group.blocked = blocked;
    blocked ? ++blocked_ : --blocked_;
  }

  SegmentedArray<GroupId> of_host_;  // by HostId
  std::vector<Group> groups_;        // by GroupId
  AlarmHeap<Instant, GroupId> alarms_;
  size_t blocked_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_INDEX_GROUPS_H_
