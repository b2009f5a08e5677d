#include "core/model/signal.h"

#include <algorithm>

namespace freshet {

void SignalCounts::AddToFull(SourceClass source_class) {
  const auto same_source = [](SourceClass source) {
    return [source](const Entry& entry) { return entry.source_class.source() == source.source(); };
  };
  const auto own = std::find_if(entries_.begin(), entries_.end(), same_source(source_class));
  if (own != entries_.end()) return Count(1, *own);
  for (auto first = entries_.begin(); first != entries_.end(); ++first) {
    const auto second = std::find_if(first + 1, entries_.end(), same_source(first->source_class));
    if (second == entries_.end()) continue;
    if (second->count > first->count) first->source_class = second->source_class;
    Count(second->count, *first);
    *second = {source_class, 1};
    return;
  }
  Count(1, entries_.back());
}

void SignalCounts::Subtract(SourceClass source_class) {
  auto taken = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->count == 0 || entry->source_class.source() != source_class.source()) continue;
    taken = entry;
    if (entry->source_class == source_class) break;
  }
  if (taken == entries_.end() || --taken->count > 0) return;
  // Used entries stay in front.
  std::rotate(taken, taken + 1, entries_.end());
  entries_.back() = Entry();
}

}  // namespace freshet
