#include "server/engine/departures.h"

#include "absl/container/flat_hash_map.h"

namespace freshet {

template <typename Key>
bool Departures::IsFree(const LateOnes<Key>& late, const Key& key, Instant now) {
  const auto it = late.find(key);
  return it == late.end() || it->second.free_at <= now;
}

template <typename Key>
bool Departures::MakeRoom(LateOnes<Key>* late, size_t* purge_at, Instant now) {
  if (late->size() < *purge_at) return true;
  absl::erase_if(*late, [now](const auto& entry) { return entry.second.free_at <= now; });
  *purge_at = std::clamp(2 * late->size(), kFirstPurge, kMost);
  return late->size() < kMost;
}

bool Departures::Leave(const std::string& host, const Spacing& spacing, Instant at, Instant now) {
  const bool grouped = spacing.group != GroupKey();
  if (!IsFree(hosts_, host, now) || (grouped && !IsFree(groups_, spacing.group, now))) return false;
  if (now <= at + kOnTime) return true;
  const bool of_host = spacing.of_host > Duration();
  const bool of_group = grouped && spacing.of_group > Duration();
  if (of_host && !MakeRoom(&hosts_, &purge_hosts_at_, now)) return false;
  if (of_group && !MakeRoom(&groups_, &purge_groups_at_, now)) return false;
  if (of_host) hosts_[host] = {.left = now, .free_at = now + spacing.of_host};
  if (of_group) groups_[spacing.group] = {.left = now, .free_at = now + spacing.of_group};
  return true;
}

Instant Departures::LeftAt(const std::string& host) const {
  const auto it = hosts_.find(host);
  return it == hosts_.end() ? Instant::None() : it->second.left;
}

}  // namespace freshet
