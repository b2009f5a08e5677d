#include "core/plan/plan_queue.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr int64_t kUrgencyOriginMicros = int64_t{1} << 53;

// Infinite at rate 0.
Duration IntervalOf(double rate) {
  return rate > 0 ? Duration::FromSeconds(1 / rate) : Duration::Infinite();
}

Instant Before(Instant instant, Duration span) {
  if (span.infinite()) return Instant();
  return instant - span;
}

}  // namespace

bool PlanQueue::Has(PageId page) const {
  return page.value() < pages_.size() && pages_[page.value()].in;
}

void PlanQueue::Add(PageId page, const PlanEntry& entry, Instant fresh_at, Instant now) {
  if (page.value() >= pages_.size()) pages_.resize(page.value() + size_t{1});
  Page& filed = pages_[page.value()];
  CHECK(!filed.in, "page {} is in the queue", page.value());
  filed.in = true;
  filed.withheld = false;
  filed.entry = entry;
  const Duration interval = IntervalOf(entry.rate);
  filed.due = interval.infinite() ? Instant::Infinite()
                                  : std::max(fresh_at + interval, Before(now, interval));
  ++size_;
  File(page.value());
}

void PlanQueue::Update(PageId page, const PlanEntry& entry, Instant now) {
  CHECK(Has(page), "page {} is not in the queue", page.value());
  Page& filed = pages_[page.value()];
  const Duration before = IntervalOf(filed.entry.rate);
  const Duration after = IntervalOf(entry.rate);
  if (after.infinite()) {
    filed.due = Instant::Infinite();
  } else if (before.infinite()) {
    filed.due = now + after;
  } else if (before != after) {
    const double left = (filed.due - now).seconds() / before.seconds();
    filed.due = now + Duration::FromSeconds(left * after.seconds());
  }
  filed.entry = entry;
  File(page.value());
}

void PlanQueue::Crawled(PageId page, Instant now) {
  CHECK(Has(page), "page {} is not in the queue", page.value());
  Page& filed = pages_[page.value()];
  filed.entry.asked_at = Instant::Infinite();
  const Duration interval = IntervalOf(filed.entry.rate);
  if (!interval.infinite()) {
    const Instant front = front_ == Instant() ? now : front_;
    // The schedule itself never leaves these bounds where every page is eligible.
    filed.due = std::max(filed.due, Before(front, interval)) + interval;
    filed.due = std::min(filed.due, now + interval + interval);
  }
  File(page.value());
}

void PlanQueue::Remove(PageId page) {
  if (!Has(page)) return;
  Page& filed = pages_[page.value()];
  const uint32_t version = filed.version + 1;
  filed = Page();
  filed.version = version;
  --size_;
}

void PlanQueue::Withhold(PageId page) {
  CHECK(Has(page), "page {} is not in the queue", page.value());
  pages_[page.value()].withheld = true;
  ++pages_[page.value()].version;
}

void PlanQueue::Offer(PageId page) {
  CHECK(Has(page), "page {} is not in the queue", page.value());
  pages_[page.value()].withheld = false;
  File(page.value());
}

void PlanQueue::SetHostFree(HostId host, Instant free_at) {
  if (host.value() >= hosts_.size()) hosts_.resize(host.value() + size_t{1});
  Host& entry = hosts_[host.value()];
  entry.free_at = free_at;
  if (!entry.parked.empty() && !free_at.infinite()) host_wakes_.push({free_at, host.value()});
}

Instant PlanQueue::DueOf(const Page& page) const { return std::min(page.due, page.entry.asked_at); }

Instant PlanQueue::ReleaseOf(const Page& page) const {
  const Instant by_rate =
      page.due.infinite() ? Instant::Infinite() : Before(page.due, IntervalOf(page.entry.rate));
  return std::min(by_rate, page.entry.asked_at);
}

Instant PlanQueue::Due(PageId page) const {
  CHECK(Has(page), "page {} is not in the queue", page.value());
  const Page& filed = pages_[page.value()];
  return std::min(DueOf(filed), filed.entry.forced_at);
}

void PlanQueue::File(uint32_t page) {
  Page& filed = pages_[page];
  ++filed.version;
  if (filed.withheld) return;
  const PlanEntry& entry = filed.entry;
  const Instant from = std::max(ReleaseOf(filed), entry.eligible_from);
  if (!from.infinite()) waiting_.push({from, page, filed.version});
  if (entry.forced_at.infinite()) return;
  forced_.push({std::max(entry.forced_at, entry.eligible_from), page, filed.version});
}

bool PlanQueue::Current(const Place& place) const {
  return pages_[place.page].version == place.version;
}

bool PlanQueue::HostFree(const Page& page, Instant at) const {
  const uint32_t host = page.entry.host.value();
  return host >= hosts_.size() || hosts_[host].free_at <= at;
}

void PlanQueue::Park(const Place& place) {
  const uint32_t host = pages_[place.page].entry.host.value();
  Host& entry = hosts_[host];
  if (entry.parked.empty() && !entry.free_at.infinite()) host_wakes_.push({entry.free_at, host});
  entry.parked.push_back(place);
}

void PlanQueue::WakeDue(Instant at) {
  for (; !forced_.empty() && forced_.top().time <= at; forced_.pop()) {
    const Place place = forced_.top();
    if (Current(place)) ready_.push({Instant(), place.page, place.version});
  }
  while (!host_wakes_.empty() && host_wakes_.top().at <= at) {
    Host& host = hosts_[host_wakes_.top().host];
    host_wakes_.pop();
    if (host.free_at > at) continue;
    for (const Place& place : std::exchange(host.parked, {})) {
      if (Current(place)) ready_.push(place);
    }
  }
  while (!waiting_.empty() && waiting_.top().time <= at) {
    const Place place = waiting_.top();
    waiting_.pop();
    if (Current(place)) ready_.push({DueOf(pages_[place.page]), place.page, place.version});
  }
}

std::optional<uint32_t> PlanQueue::FirstReady(Instant at) {
  for (; !ready_.empty(); ready_.pop()) {
    const Place place = ready_.top();
    if (!Current(place)) continue;
    if (HostFree(pages_[place.page], at)) return place.page;
    Park(place);
  }
  return std::nullopt;
}

std::optional<uint32_t> PlanQueue::FirstEarly(Instant at) {
  std::vector<Place> passed;
  std::optional<uint32_t> first;
  for (; !waiting_.empty() && !first; waiting_.pop()) {
    const Place place = waiting_.top();
    if (!Current(place)) continue;
    passed.push_back(place);
    const Page& page = pages_[place.page];
    if (page.entry.rate > 0 && page.entry.eligible_from <= at && HostFree(page, at)) {
      first = place.page;
    }
  }
  for (const Place& place : passed) waiting_.push(place);
  return first;
}

std::optional<PlanPick> PlanQueue::Best(Instant at) {
  WakeDue(at);
  std::optional<uint32_t> page = FirstReady(at);
  if (!page) page = FirstEarly(at);
  if (!page) return std::nullopt;
  const Page& filed = pages_[*page];
  if (filed.entry.forced_at <= at) {
    return PlanPick{PageId(*page), std::numeric_limits<double>::infinity()};
  }
  const Instant due = DueOf(filed);
  front_ = std::max(front_, std::min(due, at));
  return PlanPick{PageId(*page), static_cast<double>(kUrgencyOriginMicros - due.micros()) * 1e-6};
}

}  // namespace freshet
