#include "core/plan/plan_queue.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"
#include "core/base/id_limits.h"

namespace freshet {
namespace {

constexpr int64_t kUrgencyOriginMicros = int64_t{1} << 53;
// Subtracted from the keys of forced pages, so that these pages come before all others and stay in
// the order of their forced_at.
constexpr int64_t kForcedBeforeMicros = int64_t{1} << 62;
constexpr uint32_t kMaxTimes = (uint32_t{1} << 28) - 1;
static_assert(limits::kMaxPagesPerShard <= kMaxTimes);

// Infinite at rate 0. Never 0, because Update divides by it.
Duration IntervalOf(double rate) {
  if (rate <= 0) return Duration::Infinite();
  return std::max(Duration::Micros(1), Duration::FromSeconds(1 / rate));
}

Instant Before(Instant instant, Duration span) {
  if (span.infinite()) return Instant();
  return instant - span;
}

}  // namespace

// --- The data of a page

bool PlanQueue::Has(PageId page) const {
  return page.value() < pages_.size() && PlaceOf(page.value()) != Place::kNone;
}

const PlanQueue::Times& PlanQueue::TimesOf(const Page& page) const {
  static const Times kNone;
  return page.times == 0 ? kNone : times_[page.times - 1];
}

void PlanQueue::SetTimes(uint32_t page, const Times& times) {
  Page& filed = pages_[page];
  const bool wanted =
      times.eligible_from > now_ || !times.forced_at.infinite() || !times.asked_at.infinite();
  if (!wanted) {
    if (filed.times != 0) free_times_.push_back(filed.times - 1);
    filed.times = 0;
    return;
  }
  if (filed.times == 0) {
    if (free_times_.empty()) {
      CHECK(times_.size() < kMaxTimes, "too many pages with times");
      free_times_.push_back(static_cast<uint32_t>(times_.size()));
      times_.GrowTo(times_.size() + 1);
    }
    filed.times = (free_times_.back() + 1) & kMaxTimes;
    free_times_.pop_back();
  }
  times_[filed.times - 1] = times;
}

PlanEntry PlanQueue::Entry(PageId page) const {
  CHECK(Has(page), "page {} is not in the queue", page.value());
  const Page& filed = pages_[page.value()];
  const Times& times = TimesOf(filed);
  return {.rate = filed.rate,
          .host = HostId(filed.host),
          .eligible_from = times.eligible_from,
          .forced_at = times.forced_at,
          .asked_at = times.asked_at};
}

Instant PlanQueue::DueOf(const Page& page) const {
  const Instant asked_at = TimesOf(page).asked_at;
  return asked_at <= now_ ? std::min(page.due, asked_at) : page.due;
}

Instant PlanQueue::ReleaseOf(const Page& page) const {
  const Instant by_rate =
      page.due.infinite() ? Instant::Infinite() : Before(page.due, IntervalOf(page.rate));
  const Instant asked_at = TimesOf(page).asked_at;
  return asked_at <= now_ ? std::min(by_rate, asked_at) : by_rate;
}

Instant PlanQueue::Due(PageId page) const {
  CHECK(Has(page), "page {} is not in the queue", page.value());
  const Page& filed = pages_[page.value()];
  return std::min(DueOf(filed), TimesOf(filed).forced_at);
}

// --- Changes

void PlanQueue::GrowTo(size_t pages, size_t hosts) {
  pages_.GrowTo(pages);
  hosts_.GrowTo(hosts);
}

void PlanQueue::Add(PageId page, const PlanEntry& entry, Instant fresh_at, Instant now) {
  now_ = std::max(now_, now);
  GrowTo(page.value() + size_t{1}, entry.host.value() + size_t{1});
  CHECK(!Has(page), "page {} is in the queue", page.value());
  Page& filed = pages_[page.value()];
  filed = Page();
  filed.rate = static_cast<float>(entry.rate);
  filed.host = entry.host.value();
  const Duration interval = IntervalOf(filed.rate);
  if (!interval.infinite()) filed.due = std::max(fresh_at + interval, Before(now, interval));
  SetTimes(page.value(), {entry.eligible_from, entry.forced_at, entry.asked_at});
  ++size_;
  File(page.value());
}

void PlanQueue::Update(PageId page, const PlanEntry& entry, Instant now) {
  CHECK(Has(page), "page {} is not in the queue", page.value());
  now_ = std::max(now_, now);
  Unfile(page.value());
  hosts_.GrowTo(entry.host.value() + size_t{1});
  Page& filed = pages_[page.value()];
  const auto rate = static_cast<float>(entry.rate);
  const Duration before = IntervalOf(filed.rate);
  const Duration after = IntervalOf(rate);
  if (after.infinite()) {
    filed.due = Instant::Infinite();
  } else if (before.infinite()) {
    filed.due = now + after;
  } else if (before != after) {
    const double left = (filed.due - now).seconds() / before.seconds();
    filed.due = now + Duration::FromSeconds(left * after.seconds());
  }
  filed.rate = rate;
  filed.host = entry.host.value();
  SetTimes(page.value(), {entry.eligible_from, entry.forced_at, entry.asked_at});
  File(page.value());
}

void PlanQueue::Crawled(PageId page, Instant now) {
  CHECK(Has(page), "page {} is not in the queue", page.value());
  now_ = std::max(now_, now);
  Unfile(page.value());
  Page& filed = pages_[page.value()];
  if (filed.times != 0) {
    Times times = TimesOf(filed);
    times.asked_at = Instant::Infinite();
    SetTimes(page.value(), times);
  }
  const Duration interval = IntervalOf(filed.rate);
  if (!interval.infinite()) {
    const Instant front = front_.is_none() ? now : front_;
    // The bounds matter only if the page could not be picked for a time. If every page is eligible,
    // due times stay within them anyway.
    filed.due = std::max(filed.due, Before(front, interval)) + interval;
    filed.due = std::min(filed.due, now + interval + interval);
  }
  File(page.value());
}

void PlanQueue::Remove(PageId page) {
  if (!Has(page)) return;
  Unfile(page.value());
  SetTimes(page.value(), {});
  pages_[page.value()] = Page();
  --size_;
}

void PlanQueue::Suspend(PageId page) {
  CHECK(Has(page), "page {} is not in the queue", page.value());
  Unfile(page.value());
  pages_[page.value()].suspended = 1;
  File(page.value());
}

void PlanQueue::Resume(PageId page) {
  CHECK(Has(page), "page {} is not in the queue", page.value());
  Unfile(page.value());
  pages_[page.value()].suspended = 0;
  File(page.value());
}

void PlanQueue::SetHostFree(HostId host, Instant free_at) {
  hosts_.GrowTo(host.value() + size_t{1});
  Host& entry = hosts_[host.value()];
  entry.free_at = free_at;
  entry.open = free_at <= now_;
  SetHostAlarm(host.value(), entry.open ? Instant::Infinite() : free_at);
  Settle(host.value());
}

// --- Heaps

void PlanQueue::File(uint32_t page) {
  Page& filed = pages_[page];
  filed.place = static_cast<uint8_t>(Place::kIdle) & 7;
  if (filed.suspended != 0) return;
  const Times& times = TimesOf(filed);
  if (times.eligible_from > now_) return SetAlarm(page, times.eligible_from);
  if (times.forced_at <= now_) {
    const int64_t key = times.forced_at.micros() - kForcedBeforeMicros;
    return Enter(page, Place::kReady, Instant::FromMicros(key));
  }
  // A request (asked_at) in the future takes effect only at its time.
  const Instant asked_at = times.asked_at > now_ ? times.asked_at : Instant::Infinite();
  SetAlarm(page, std::min(times.forced_at, asked_at));
  const Instant release = ReleaseOf(filed);
  if (release.infinite()) return;
  const bool ready = release <= now_;
  Enter(page, ready ? Place::kReady : Place::kWaiting, ready ? DueOf(filed) : release);
}

void PlanQueue::Enter(uint32_t page, Place place, Instant key) {
  Page& filed = pages_[page];
  filed.place = static_cast<uint8_t>(place) & 7;
  Host& host = hosts_[filed.host];
  PlacedHeap& heap = place == Place::kReady ? host.ready : host.waiting;
  operations_ +=
      heap.Insert({key, page}, [this](uint32_t id, uint32_t at) { pages_[id].position = at; });
  Settle(filed.host);
}

void PlanQueue::Unfile(uint32_t page) {
  Page& filed = pages_[page];
  SetAlarm(page, Instant::Infinite());
  const Place place = PlaceOf(page);
  filed.place = static_cast<uint8_t>(Place::kIdle) & 7;
  if (place != Place::kReady && place != Place::kWaiting) return;
  Host& host = hosts_[filed.host];
  PlacedHeap& heap = place == Place::kReady ? host.ready : host.waiting;
  operations_ +=
      heap.Erase(filed.position, [this](uint32_t id, uint32_t at) { pages_[id].position = at; });
  Settle(filed.host);
}

void PlanQueue::SettleIn(PlacedHeap& heap, uint32_t Host::*position, Host& host,
                         const PlacedHeap* pages) {
  const bool wanted = pages != nullptr && !pages->empty();
  // The entries are pages, each from a different host.
  const auto placed = [this, position](uint32_t page, uint32_t at) {
    hosts_[pages_[page].host].*position = at;
  };
  if (host.*position == PlacedHeap::kNowhere) {
    if (wanted) operations_ += heap.Insert(pages->top(), placed);
  } else if (wanted) {
    operations_ += heap.Replace(host.*position, pages->top(), placed);
  } else {
    operations_ += heap.Erase(host.*position, placed);
  }
}

void PlanQueue::Settle(uint32_t host) {
  Host& entry = hosts_[host];
  SettleIn(ready_, &Host::in_ready, entry, entry.open ? &entry.ready : nullptr);
  SettleIn(early_, &Host::in_early, entry, entry.open ? &entry.waiting : nullptr);
  SettleIn(releases_, &Host::in_releases, entry, &entry.waiting);
}

void PlanQueue::SetAlarm(uint32_t page, Instant at) {
  const uint32_t slot = pages_[page].times;
  if (slot == 0) return;
  const uint32_t position = times_[slot - 1].alarm;
  const auto placed = [this](uint32_t id, uint32_t where) {
    times_[pages_[id].times - 1].alarm = where;
  };
  if (position != PlacedHeap::kNowhere) operations_ += alarms_.Erase(position, placed);
  if (!at.infinite()) operations_ += alarms_.Insert({at, page}, placed);
}

void PlanQueue::SetHostAlarm(uint32_t host, Instant at) {
  const uint32_t position = hosts_[host].alarm;
  const auto placed = [this](uint32_t id, uint32_t where) { hosts_[id].alarm = where; };
  if (position != PlacedHeap::kNowhere) operations_ += host_alarms_.Erase(position, placed);
  if (!at.infinite()) operations_ += host_alarms_.Insert({at, host}, placed);
}

// --- Picks

void PlanQueue::Advance(Instant at) {
  now_ = std::max(now_, at);
  while (!host_alarms_.empty() && host_alarms_.top().key() <= now_) {
    SetHostFree(HostId(host_alarms_.top().id()), host_alarms_.top().key());
  }
  while (!alarms_.empty() && alarms_.top().key() <= now_) {
    const uint32_t page = alarms_.top().id();
    Unfile(page);
    File(page);
  }
  // This also releases the pages of blocked hosts. Otherwise, all of their releases would be due at
  // once when the host becomes free.
  while (!releases_.empty() && releases_.top().key() <= now_) {
    const uint32_t page = releases_.top().id();
    Unfile(page);
    File(page);
  }
}

std::optional<PlanPick> PlanQueue::Best(Instant at) {
  Advance(at);
  if (ready_.empty() && early_.empty()) return std::nullopt;
  const uint32_t page = ready_.empty() ? early_.top().id() : ready_.top().id();
  const Page& filed = pages_[page];
  if (TimesOf(filed).forced_at <= now_) {
    return PlanPick{PageId(page), std::numeric_limits<double>::infinity()};
  }
  const Instant due = DueOf(filed);
  front_ = std::max(front_, std::min(due, now_));
  return PlanPick{PageId(page), static_cast<double>(kUrgencyOriginMicros - due.micros()) * 1e-6};
}

}  // namespace freshet
