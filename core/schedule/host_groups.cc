#include "core/schedule/host_groups.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "core/base/check.h"

namespace freshet {
namespace {

// Up to this many groups are kept although they are neither busy nor delayed in other shards,
// because their memory costs less than scans for them.
constexpr size_t kFewElsewhere = 1024;

Instant DelayedBy(Instant last, Duration delay) { return last == Instant() ? last : last + delay; }

}  // namespace

GroupId HostGroups::Join(std::shared_ptr<const HostGroup> group, const Load& load) {
  CHECK(group != nullptr && !group->name.empty(), "a group without a name");
  const GroupKey key(uint64_t{absl::HashOf(group->name)} | 1);
  const GroupId next =
      free_.empty() ? GroupId(static_cast<uint32_t>(groups_.size())) : free_.back();
  const auto [known, first] = ids_.Add(key, next);
  if (first) free_.empty() ? groups_.GrowTo(groups_.size() + 1) : free_.pop_back();
  const GroupId id = *known;
  Group& its = at(id);
  its.group = std::move(group);
  its.key = key;
  ++its.hosts;
  its.load.in_flight += load.in_flight;
  its.load.picks += load.picks;
  its.load.last_pick = std::max(its.load.last_pick, load.last_pick);
  its.load.last_assignment = std::max(its.load.last_assignment, load.last_assignment);
  NoteChange(id);
  return id;
}

void HostGroups::Leave(GroupId group, const Load& load) {
  Group& its = at(group);
  CHECK(its.hosts > 0 && its.load.in_flight >= load.in_flight && its.load.picks >= load.picks,
        "group {} has {} hosts", its.key.value(), its.hosts);
  its.load.in_flight -= load.in_flight;
  its.load.picks -= load.picks;
  if (its.load.picks == 0) its.load.last_pick = Instant();
  if (--its.hosts > 0) return NoteChange(group);
  gone_.push_back({its.key, its.group->terms, 0, its.load.last_assignment});
  ids_.Erase(its.key);
  its = Group{.changed = its.changed};
  free_.push_back(group);
}

void HostGroups::NoteChange(GroupId group) {
  if (std::exchange(at(group).changed, true)) return;
  changed_.push_back(group);
}

void HostGroups::Pick(GroupId group, Instant at_tick) {
  Load& load = at(group).load;
  ++load.in_flight;
  ++load.picks;
  load.last_pick = std::max(load.last_pick, at_tick);
}

void HostGroups::OpenLease(GroupId group, Instant assigned) {
  Load& load = at(group).load;
  CHECK(load.picks > 0, "nothing of the group is picked");
  if (--load.picks == 0) load.last_pick = Instant();
  NoteAssignment(group, assigned);
}

void HostGroups::EndLease(GroupId group) {
  Load& load = at(group).load;
  CHECK(load.in_flight > load.picks, "the group has no lease open");
  --load.in_flight;
  NoteChange(group);
}

void HostGroups::NoteAssignment(GroupId group, Instant at_tick) {
  Load& load = at(group).load;
  load.last_assignment = std::max(load.last_assignment, at_tick);
  NoteChange(group);
}

void HostGroups::PutBack(GroupId group) {
  Load& load = at(group).load;
  CHECK(load.picks > 0, "nothing of the group is picked");
  --load.in_flight;
  if (--load.picks == 0) load.last_pick = Instant();
  NoteChange(group);
}

Instant HostGroups::FreeAt(GroupId group) const {
  const Group& its = groups_.at(group.value());
  const GroupNews* const others = elsewhere_.Find(its.key);
  const GroupTerms& terms = its.group->terms;
  const uint64_t in_flight =
      uint64_t{its.load.in_flight} + (others == nullptr ? 0 : others->in_flight);
  if (terms.max_in_flight > 0 && in_flight >= terms.max_in_flight) return Instant::Infinite();
  const Instant own = std::max(DelayedBy(its.load.last_assignment, terms.min_delay),
                               DelayedBy(its.load.last_pick, terms.min_delay));
  return others == nullptr ? own : std::max(own, others->delayed_until);
}

GroupId HostGroups::Hear(const GroupNews& news, Instant now) {
  elsewhere_.Set(news.key, news);
  // Forgets groups that are neither busy nor delayed in other shards, one part of the table at a
  // time. On average, each call scans one entry.
  if (++unlooked_ * elsewhere_.kParts > kFewElsewhere + elsewhere_.size()) {
    unlooked_ = 0;
    next_part_ = elsewhere_.EraseIf(next_part_, [now](const GroupNews& of_group) {
      return of_group.in_flight == 0 && of_group.delayed_until <= now;
    });
  }
  const GroupId* id = ids_.Find(news.key);
  return id == nullptr ? GroupId() : *id;
}

void HostGroups::TakeStandings(std::vector<GroupStanding>* standings) {
  for (const GroupStanding& gone : std::exchange(gone_, {})) {
    if (ids_.Find(gone.key) == nullptr) standings->push_back(gone);
  }
  for (const GroupId id : changed_) {
    Group& its = at(id);
    its.changed = false;
    if (its.group == nullptr) continue;
    standings->push_back(
        {its.key, its.group->terms, its.load.in_flight - its.load.picks, its.load.last_assignment});
  }
  changed_.clear();
}

}  // namespace freshet
