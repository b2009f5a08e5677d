#include "server/engine/turn_queue.h"

#include <iterator>

namespace freshet {

void TurnQueue::DropUnusable(Row& row, Usable usable) {
  while (!row.empty() && !usable(row.front().id)) row.pop_front();
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
    const bool earlier = first == rows_.end() || row.front().turn < first->second.front().turn;
    if (takes && earlier) first = it;
    ++it;
  }
  if (first == rows_.end()) return std::nullopt;
  const WorkerId id = first->second.front().id;
  first->second.pop_front();
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
    std::erase_if(it->second, [&](const Turn& turn) {
      const bool is_wanted = wanted(turn.id);
      if (is_wanted) extracted.push_back(turn.id);
      return is_wanted;
    });
    it = it->second.empty() ? rows_.erase(it) : std::next(it);
  }
  return extracted;
}

}  // namespace freshet
