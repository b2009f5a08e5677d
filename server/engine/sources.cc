#include "server/engine/sources.h"

#include <algorithm>

namespace freshet {

void Sources::Add(const SourceRecord& source) {
  const MutexLock lock(mutex_);
  by_name_[source.name] = {.index = source.index, .retired = source.retired};
  proposed_.erase(source.name);
}

void Sources::Withdraw(const std::string& name) {
  const MutexLock lock(mutex_);
  const auto it = proposed_.find(name);
  if (it != proposed_.end() && --it->second.times == 0) proposed_.erase(it);
}

StatusOr<SourceRecord> Sources::Propose(const std::string& name) {
  const MutexLock lock(mutex_);
  if (const auto it = by_name_.find(name); it != by_name_.end()) {
    return SourceRecord{.name = name, .index = it->second.index};
  }
  if (const auto it = proposed_.find(name); it != proposed_.end()) {
    ++it->second.times;
    return SourceRecord{.name = name, .index = it->second.index};
  }
  std::array<bool, limits::kMaxSources> used{};
  for (const auto& [proposed, its] : proposed_) used.at(its.index) = true;
  for (const auto& [known, source] : by_name_) used.at(source.index) = true;
  const auto* free = std::find(used.begin(), used.end(), false);
  if (free == used.end()) {
    return MakeStatus(
        absl::StatusCode::kResourceExhausted,
        "source: the server already has {} sources, the maximum (removed ones count too)",
        limits::kMaxSources);
  }
  const auto index = static_cast<uint8_t>(free - used.begin());
  proposed_[name] = {.index = index, .times = 1};
  return SourceRecord{.name = name, .index = index};
}

std::optional<uint8_t> Sources::Find(std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto it = by_name_.find(name);
  if (it == by_name_.end() || it->second.retired) return std::nullopt;
  return it->second.index;
}

bool Sources::Knows(std::string_view name) const {
  const MutexLock lock(mutex_);
  return by_name_.contains(name);
}

std::string Sources::NameOf(uint8_t index) const {
  const MutexLock lock(mutex_);
  for (const auto& [name, known] : by_name_) {
    if (known.index == index) return name;
  }
  return {};
}

Duration Sources::TakeSignals(uint8_t index, uint64_t signals, Instant now) {
  signals_.at(index).fetch_add(signals, std::memory_order_relaxed);
  if (!limited_.load(std::memory_order_relaxed)) return {};
  const std::string name = NameOf(index);
  std::optional<double> own;
  {
    const MutexLock lock(mutex_);
    if (const auto it = rates_->by_name.find(name); it != rates_->by_name.end()) own = it->second;
  }
  const auto budget = budgets_.Of(name, own, now);
  return budget == nullptr ? Duration() : budget->Take(signals, now);
}

void Sources::SetRates(Rates rates) {
  budgets_.SetUsual(rates.usual);
  limited_ = rates.usual > 0 || !rates.by_name.empty();
  const MutexLock lock(mutex_);
  rates_ = std::make_shared<const Rates>(std::move(rates));
}

std::vector<SourceRecord> Sources::All() const {
  const MutexLock lock(mutex_);
  std::vector<SourceRecord> all;
  all.reserve(by_name_.size());
  for (const auto& [name, source] : by_name_) {
    if (!source.retired) all.push_back({.name = name, .index = source.index});
  }
  return all;
}

std::vector<SourceRecord> Sources::AllKnown() const {
  const MutexLock lock(mutex_);
  std::vector<SourceRecord> all;
  all.reserve(by_name_.size());
  for (const auto& [name, source] : by_name_) {
    all.push_back({.name = name, .index = source.index, .retired = source.retired});
  }
  return all;
}

}  // namespace freshet
