#include "server/engine/group_ledger.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace freshet {

GroupLedger::Group& GroupLedger::Find(GroupKey group) {
  Group& its = groups_[group];
  if (its.in_flight.empty()) its.in_flight.resize(shards_);
  return its;
}

void GroupLedger::NoteChange(GroupKey key, Group& group) {
  if (!std::exchange(group.changed, true)) changed_.push_back(key);
}

void GroupLedger::Hear(size_t shard, const std::vector<GroupStanding>& standings, Instant now) {
  if (groups_.size() >= forget_at_) ForgetIdle(now);
  for (const GroupStanding& standing : standings) {
    const bool ever = !standing.last_assignment.is_none();
    const Instant until =
        ever ? standing.last_assignment + standing.terms.min_delay : Instant::None();
    const bool idle = standing.in_flight == 0 && until <= now;
    if (idle && !groups_.contains(standing.key)) continue;
    Group& its = Find(standing.key);
    its.all_in_flight += standing.in_flight;
    its.all_in_flight -= std::exchange(its.in_flight[shard], standing.in_flight);
    its.delayed_until = std::max(its.delayed_until, until);
    NoteChange(standing.key, its);
  }
}

Instant GroupLedger::FreeAt(GroupKey group, const GroupTerms& terms) const {
  const auto it = groups_.find(group);
  if (it == groups_.end()) return Instant::None();
  const bool full = terms.max_in_flight > 0 && it->second.all_in_flight >= terms.max_in_flight;
  return full ? Instant::Infinite() : it->second.delayed_until;
}

void GroupLedger::Take(size_t shard, GroupKey group, const GroupTerms& terms, Instant at) {
  CHECK(shard < shards_ && group != GroupKey(), "shard {} of {}", shard, shards_);
  Group& its = Find(group);
  ++its.in_flight[shard];
  ++its.all_in_flight;
  if (terms.min_delay > Duration()) {
    its.delayed_until = std::max(its.delayed_until, at + terms.min_delay);
  }
  NoteChange(group, its);
}

std::vector<std::vector<GroupNews>> GroupLedger::TakeNews() {
  std::vector<std::vector<GroupNews>> news(shards_);
  for (const GroupKey key : std::exchange(changed_, {})) {
    Group& its = groups_.at(key);
    its.changed = false;
    its.told = true;
    for (size_t shard = 0; shard < shards_; ++shard) {
      const uint64_t others = its.all_in_flight - its.in_flight[shard];
      news[shard].push_back({.key = key,
                             .in_flight = static_cast<uint32_t>(others),
                             .delayed_until = its.delayed_until});
    }
  }
  return news;
}

void GroupLedger::ForgetIdle(Instant now) {
  absl::erase_if(groups_, [now](const auto& entry) {
    const Group& its = entry.second;
    // Shards that know about the group must still learn its last change.
    const bool heard = its.told && its.changed;
    return its.all_in_flight == 0 && its.delayed_until <= now && !heard;
  });
  std::erase_if(changed_, [this](GroupKey key) { return !groups_.contains(key); });
  forget_at_ = std::max<size_t>(1024, 2 * groups_.size());
}

}  // namespace freshet
