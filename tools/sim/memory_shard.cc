#include "tools/sim/memory_shard.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace freshet {

void MemoryShard::Load(const Event& event) {
  wanted_.clear();
  state_.Want(event, &wanted_);
  for (const PageNumber number : wanted_) {
    if (const auto it = pages_.find(number); it != pages_.end()) txn_.Load(it->second);
  }
}

void MemoryShard::Commit() {
  const Changes changes = txn_.Finish();
  for (const PageWrite& write : changes.pages) pages_[write.record->number] = *write.record;
  for (const PageRecord* removed : changes.removed_pages) pages_.erase(removed->number);
  state_.Install(txn_);
  txn_.Reset();
}

std::vector<Reply> MemoryShard::Apply(std::span<const Event> events, Instant now) {
  std::vector<Reply> replies;
  replies.reserve(events.size());
  for (const Event& event : events) Load(event);
  for (const Event& event : events) replies.push_back(state_.Step(event, now, txn_));
  Commit();
  return replies;
}

Reply MemoryShard::Apply(const Event& event, Instant now) {
  return std::move(Apply(std::span(&event, 1), now).front());
}

std::optional<Assignment> MemoryShard::Next(Instant at, Duration lease, const std::string& worker) {
  const std::optional<Pick> pick = state_.Take(at);
  if (!pick) return std::nullopt;
  LeasePage event;
  event.page = pick->page;
  event.worker = worker;
  event.at = at;
  event.lease = lease;
  event.value = pick->value;
  Reply reply = Apply(event, at);
  if (!reply.assignment) state_.PutBack(pick->page);
  return std::move(reply.assignment);
}

void MemoryShard::RunTimers(Instant now) {
  constexpr size_t kSlice = 1024;
  std::vector<Event> events;
  do {
    events.clear();
    state_.TakeDueTimers(now, kSlice, &events);
    Apply(events, now);
  } while (events.size() == kSlice);
}

void MemoryShard::RunEpoch(Instant now) {
  // In order of number: a sum must not depend on the order of a hash map.
  std::vector<PageNumber> numbers;
  numbers.reserve(pages_.size());
  for (const auto& [number, page] : pages_) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  std::vector<Event> again;
  again.reserve(numbers.size());
  state_.BeginEpoch(now);
  for (const PageNumber number : numbers) {
    state_.CollectForEpoch(pages_.at(number));
    again.emplace_back(Reestimate{number});
  }
  state_.FinishEpoch(now, txn_);
  Commit();
  ApplyInSlices(again, now);
  if (Plan(now)) ApplyInSlices(again, now);
}

void MemoryShard::ApplyInSlices(std::span<const Event> events, Instant now) {
  for (size_t i = 0; i < events.size(); i += 1024) {
    Apply(events.subspan(i, std::min<size_t>(1024, events.size() - i)), now);
  }
}

bool MemoryShard::Plan(Instant now) {
  const std::optional<PlanMethod> method = state_.policy().plan;
  if (!method || crawl_rate_ <= Rate() || pages_.empty()) return false;
  PlanColumns columns;
  (void)state_.CollectPlan(0, UINT32_MAX, &columns);
  const auto crawls = PlanCrawls(*method, columns, crawl_rate_);
  CHECK(crawls.ok(), "{}", std::string(crawls.status().message()));
  const auto count = static_cast<double>(std::max<size_t>(1, columns.Pages()));
  bool refile = false;
  const bool in_force = state_.BeginPlan(Rate::PerSecond(crawl_rate_.per_second() / count)) &&
                        state_.StagePlan(0, *crawls, now) && state_.FinishPlan(&refile);
  CHECK(in_force, "the policy is a rate policy");
  return refile;
}

const PageRecord* MemoryShard::Find(const PageKey& key) const {
  std::vector<PageNumber> candidates;
  state_.FindNumbers(key, &candidates);
  for (const PageNumber number : candidates) {
    const auto it = pages_.find(number);
    if (it != pages_.end() && it->second.key == key) return &it->second;
  }
  return nullptr;
}

}  // namespace freshet
