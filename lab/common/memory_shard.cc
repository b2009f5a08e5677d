#include "lab/common/memory_shard.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/estimate/epoch_sums.h"
#include "core/estimate/learned_sites.h"
#include "core/schedule/learning.h"
#include "core/schedule/page_book.h"
#include "core/schedule/page_plan.h"
#include "core/schedule/pick.h"
#include "core/schedule/policy_switch.h"

namespace freshet {

void MemoryShard::Load(const Event& event) {
  wanted_.clear();
  state_.Want(event, &wanted_);
  for (const PageNumber number : wanted_) {
    if (const auto it = pages_.find(number); it != pages_.end()) txn_.Load(it->second);
  }
}

void MemoryShard::Commit() {
  const Changes changes = txn_.Finish(state_.learning().estimator());
  for (const PageWrite& write : changes.pages) pages_[write.record->number] = *write.record;
  for (const PageRecord* removed : changes.removed_pages) pages_.erase(removed->number);
  state_.Install(txn_);
  txn_.Reset();
}

std::vector<Reply> MemoryShard::StepAll(std::span<const Event> events, Instant now) {
  std::vector<Reply> replies;
  replies.reserve(events.size());
  for (const Event& event : events) Load(event);
  for (const Event& event : events) replies.push_back(state_.Step(event, now, txn_));
  return replies;
}

std::vector<Reply> MemoryShard::Apply(std::span<const Event> events, Instant now) {
  std::vector<Reply> replies = StepAll(events, now);
  Commit();
  return replies;
}

std::vector<Reply> MemoryShard::Refuse(std::span<const Event> events, Instant now) {
  std::vector<Reply> replies = StepAll(events, now);
  (void)txn_.Finish(state_.learning().estimator());
  txn_.Reset();
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

std::vector<PageNumber> MemoryShard::Numbers() const {
  std::vector<PageNumber> numbers;
  numbers.reserve(pages_.size());
  for (const auto& [number, page] : pages_) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void MemoryShard::RunEpoch(Instant now) { FinishEpoch(CollectEpoch(now), now); }

EpochSums MemoryShard::CollectEpoch(Instant now) {
  state_.learning().BeginEpoch(now);
  for (const PageNumber number : Numbers()) {
    PageRecord page = pages_.at(number);
    if (!state_.learning().CollectForEpoch(page, now)) continue;
    txn_.Load(std::move(page));
    Transaction::Page* loaded = txn_.Find(number);
    loaded->changed = loaded->reindex = true;
    Commit();
  }
  state_.learning().EndCollecting();
  return state_.learning().CollectedInEpoch();
}

void MemoryShard::FinishEpoch(const EpochSums& all, Instant now) {
  LearnedSites learned = state_.learning().LearnEpoch(all, false);
  const auto moved = learned.moved;
  state_.learning().FinishEpoch(std::move(learned));
  std::vector<Event> every;
  std::vector<Event> again;
  for (const PageNumber number : Numbers()) {
    every.emplace_back(Reestimate{number});
    if (moved[SlotOf(number).value()]) again.push_back(every.back());
  }
  ApplyInSlices(again, now);
  if (Plan(now)) ApplyInSlices(every, now);
}

void MemoryShard::ApplyInSlices(std::span<const Event> events, Instant now) {
  for (size_t i = 0; i < events.size(); i += 1024) {
    Apply(events.subspan(i, std::min<size_t>(1024, events.size() - i)), now);
  }
}

bool MemoryShard::Plan(Instant now) {
  const std::optional<PlanMethod> method = state_.policies().policy().plan;
  if (!method || crawl_rate_ <= Rate() || pages_.empty()) return false;
  PlanColumns columns;
  (void)state_.policies().CollectPlan(0, UINT32_MAX, &columns);
  const auto crawls = PlanCrawls(*method, columns, crawl_rate_);
  CHECK(crawls.ok(), "{}", std::string(crawls.status().message()));
  const auto count = static_cast<double>(std::max<size_t>(1, columns.Pages()));
  bool refile = false;
  const bool in_force =
      state_.policies().BeginPlan(Rate::PerSecond(crawl_rate_.per_second() / count)) &&
      state_.policies().StagePlan(0, *crawls, now) && state_.policies().FinishPlan(&refile);
  CHECK(in_force, "the policy is a rate policy");
  return refile;
}

const PageRecord* MemoryShard::Find(const PageKey& key) const {
  std::vector<PageNumber> candidates;
  state_.pages().FindNumbers(key, &candidates);
  for (const PageNumber number : candidates) {
    const auto it = pages_.find(number);
    if (it != pages_.end() && it->second.key == key) return &it->second;
  }
  return nullptr;
}

}  // namespace freshet
