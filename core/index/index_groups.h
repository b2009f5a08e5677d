// The groups of hosts in the index: the group of each host, and whether the group's pages can be
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

// Groups that were never passed to SetFree are free. Group 0, which stands for all hosts without a
// group, is always free. Takes 16 bytes per group, and 4 bytes per host once any host is in a
// group. Owner thread only.
class IndexGroups {
 public:
  [[nodiscard]] GroupId Of(HostId host) const {
    return host.value() < of_host_.size() ? of_host_[host.value()] : GroupId();
  }
  // Moves the host to the group.
  void Put(HostId host, GroupId group) {
    of_host_.GrowTo(size_t{host.value()} + 1);
    of_host_[host.value()] = group;
  }
  [[nodiscard]] bool Blocked(HostId host) const { return blocked_ > 0 && IsBlocked(Of(host)); }
  [[nodiscard]] bool any_blocked() const { return blocked_ > 0; }

  // Blocks the group until `free_at` (infinite = until the next call), or frees it if `free_at` is
  // not after `now`. Returns true if this call has made a free group blocked or a blocked group
  // free. Precondition: `group` is not 0.
  [[nodiscard]] bool SetFree(GroupId group, Instant free_at, Instant now) {
    if (group.value() >= groups_.size()) groups_.resize(group.value() + size_t{1});
    Group& its = groups_[group.value()];
    const bool blocked = free_at > now;
    // If `free_at` has not changed, the group already has a valid alarm.
    const bool same = its.blocked && its.free_at == free_at;
    its.free_at = free_at;
    if (blocked && !free_at.infinite() && !same) {
      alarms_.Push({free_at, group, ++its.tag},
                   [this](const auto& alarm) { return Counts(alarm); });
    }
    if (blocked == its.blocked) return false;
    SetBlocked(its, blocked);
    return true;
  }
  [[nodiscard]] bool IsBlocked(GroupId group) const {
    return group.value() < groups_.size() && groups_[group.value()].blocked;
  }
  [[nodiscard]] bool Rings(Instant now) const { return alarms_.Rings(now); }
  // Returns a group that has become free by `now`. Each alarm that is checked decrements `left`.
  // nullopt = no group is left, or `left` has reached 0. Groups whose alarms were not checked stay
  // blocked until a later call, so their pages can be picked a few picks late.
  [[nodiscard]] std::optional<GroupId> NextFree(Instant now, size_t* left) {
    const std::optional<GroupId> group =
        alarms_.NextDue(now, left, [this](const auto& alarm) { return Counts(alarm); });
    if (group) SetBlocked(groups_[group->value()], false);
    return group;
  }

 private:
  struct Group {
    Instant free_at;
    uint8_t tag = 0;       // tag of the valid alarm
    bool blocked = false;  // `free_at` was in the future when last checked
  };
  // Returns true if this is the valid alarm of its group.
  [[nodiscard]] bool Counts(const Alarm<Instant, GroupId>& alarm) const {
    const Group& its = groups_[alarm.id.value()];
    return its.blocked && its.free_at == alarm.at && its.tag == alarm.tag;
  }
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
