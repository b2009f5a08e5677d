#include "server/sources.h"

#include <algorithm>

namespace freshet {

void Sources::Add(const SourceRecord& source) {
  const MutexLock lock(mutex_);
  by_name_[source.name] = source.index;
  proposed_.erase(source.name);
}

StatusOr<SourceRecord> Sources::Propose(const std::string& name) {
  const MutexLock lock(mutex_);
  if (const auto it = by_name_.find(name); it != by_name_.end()) {
    return SourceRecord{.name = name, .index = it->second};
  }
  if (const auto it = proposed_.find(name); it != proposed_.end()) {
    return SourceRecord{.name = name, .index = it->second};
  }
  std::array<bool, limits::kMaxSources> used{};
  for (const auto& [proposed, index] : proposed_) used.at(index) = true;
  for (const auto& [known, index] : by_name_) used.at(index) = true;
  const auto* free = std::find(used.begin(), used.end(), false);
  if (free == used.end()) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "source: {} are known, the most there can be", limits::kMaxSources);
  }
  const auto index = static_cast<uint8_t>(free - used.begin());
  proposed_[name] = index;
  return SourceRecord{.name = name, .index = index};
}

std::optional<uint8_t> Sources::Find(std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto it = by_name_.find(name);
  if (it == by_name_.end()) return std::nullopt;
  return it->second;
}

std::string Sources::NameOf(uint8_t index) const {
  const MutexLock lock(mutex_);
  for (const auto& [name, known] : by_name_) {
    if (known == index) return name;
  }
  return {};
}

std::vector<SourceRecord> Sources::All() const {
  const MutexLock lock(mutex_);
  std::vector<SourceRecord> all;
  all.reserve(by_name_.size());
  for (const auto& [name, index] : by_name_) all.push_back({.name = name, .index = index});
  return all;
}

}  // namespace freshet
