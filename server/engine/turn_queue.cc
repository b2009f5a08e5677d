#include "server/engine/turn_queue.h"

#include <algorithm>
#include <iterator>

namespace freshet {

void TurnQueue::Push(WorkerId id, ClassSet takes, const std::string& client) {
  uint64_t& last = last_rounds_[client];
  last = std::max(last, round_) + 1;
  rows_[takes].emplace(Turn{.round = last, .order = next_++}, id);
  if (last_rounds_.size() < tidy_at_) return;
  absl::erase_if(last_rounds_, [this](const auto& entry) { return entry.second <= round_; });
  tidy_at_ = 2 * last_rounds_.size() + 64;
}

void TurnQueue::DropUnusable(Row& row, Usable usable) {
  while (!row.empty() && !usable(row.begin()->second)) row.erase(row.begin());
}

std::optional<WorkerId> TurnQueue::Pop(ClassSet classes, Usable usable) {
  auto first = rows_.end();
  for (auto it = rows_.begin(); it != rows_.end();) {
    Row& row = it->second;
    const bool takes = (it->first & classes) == classes;
    if (takes) DropUnusable(row, usable);
    if (row.empty()) {
      it = rows_.erase(it);
      continue;
    }
    const bool earlier = first == rows_.end() || row.begin()->first < first->second.begin()->first;
    if (takes && earlier) first = it;
    ++it;
  }
  if (first == rows_.end()) return std::nullopt;
  const auto [turn, id] = *first->second.begin();
  round_ = std::max(round_, turn.round);
  first->second.erase(first->second.begin());
  if (first->second.empty()) rows_.erase(first);
  return id;
}

ClassSet TurnQueue::Takes(Usable usable) {
  ClassSet takes = 0;
  for (auto it = rows_.begin(); it != rows_.end();) {
    DropUnusable(it->second, usable);
    if (it->second.empty()) {
      it = rows_.erase(it);
      continue;
    }
    takes |= it->first;
    ++it;
  }
  return takes;
}

std::vector<WorkerId> TurnQueue::Extract(absl::FunctionRef<bool(WorkerId)> wanted) {
  std::vector<WorkerId> extracted;
  for (auto it = rows_.begin(); it != rows_.end();) {
    std::erase_if(it->second, [&](const auto& turn) {
      const bool is_wanted = wanted(turn.second);
      if (is_wanted) extracted.push_back(turn.second);
      return is_wanted;
    });
    it = it->second.empty() ? rows_.erase(it) : std::next(it);
  }
  return extracted;
}

}  // namespace freshet
