#include "server/engine/turn_queue.h"

#include <algorithm>

#include "core/base/check.h"

namespace freshet {

TurnQueue::Turn TurnQueue::Push(WorkerId id, ClassSet takes, const std::string& client) {
  const auto it = clients_.try_emplace(client).first;
  it->second.last_round = std::max(it->second.last_round, round_) + 1;
  ++it->second.entries;
  const Turn turn = {.round = it->second.last_round, .order = next_++};
  rows_[takes].emplace(turn, Entry{.id = id, .client = it});
  ++size_;
  return turn;
}

void TurnQueue::Erase(Row& row, Row::iterator entry) {
  const auto client = entry->second.client;
  if (--client->second.entries == 0) clients_.erase(client);
  row.erase(entry);
  --size_;
}

void TurnQueue::Remove(ClassSet takes, const Turn& turn) {
  const auto row = rows_.find(takes);
  CHECK(row != rows_.end(), "nobody takes these classes");
  const auto entry = row->second.find(turn);
  CHECK(entry != row->second.end(), "turn {} of round {} is not there", turn.order, turn.round);
  Erase(row->second, entry);
  if (row->second.empty()) rows_.erase(row);
}

void TurnQueue::DropUnusable(Row& row, Usable usable) {
  while (!row.empty() && !usable(row.begin()->second.id)) Erase(row, row.begin());
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
  const auto entry = first->second.begin();
  const WorkerId id = entry->second.id;
  round_ = std::max(round_, entry->first.round);
  Erase(first->second, entry);
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

}  // namespace freshet
