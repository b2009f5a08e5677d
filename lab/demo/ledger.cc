#include "lab/demo/ledger.h"

#include <algorithm>
#include <utility>

namespace freshet::demo {

FreshnessSum FreshnessSum::operator-(const FreshnessSum& earlier) const {
  return {.weighted_micros = weighted_micros - earlier.weighted_micros,
          .plain_micros = plain_micros - earlier.plain_micros,
          .micros = micros - earlier.micros};
}

Freshness FreshnessSum::Mean() const {
  if (micros <= 0) return {};
  const auto span = static_cast<double>(micros);
  return {.weighted = weighted_micros / span, .plain = plain_micros / span};
}

Ledger::Ledger(const ReplayedHistory& replayed, LastCrawls last_crawls, int64_t start_micros)
    : replayed_(&replayed),
      last_crawls_(std::move(last_crawls)),
      exists_(replayed.pages().size()),
      fresh_(replayed.pages().size()),
      now_(start_micros) {
  last_crawls_.resize(replayed.pages().size());
  for (uint32_t page = 0; page < replayed.pages().size(); ++page) {
    if (replayed.pages()[page].born_micros > start_micros) continue;
    const std::optional<int64_t> crawl = last_crawls_[page];
    Add(page, crawl && !replayed.ChangedWithin(page, *crawl, start_micros));
  }
  const std::vector<ReplayedEvent>& events = replayed.events();
  while (next_event_ < events.size() && events[next_event_].time_micros <= start_micros) {
    ++next_event_;
  }
}

void Ledger::AdvanceTo(int64_t now_micros) {
  const std::vector<ReplayedEvent>& events = replayed_->events();
  for (; next_event_ < events.size() && events[next_event_].time_micros <= now_micros;
       ++next_event_) {
    const ReplayedEvent& event = events[next_event_];
    if (event.kind == ReplayedEventKind::kMinorTouch) continue;
    Integrate(event.time_micros);
    if (event.kind == ReplayedEventKind::kBirth) {
      Add(event.page, false);
    } else {
      SetFresh(event.page, false);
    }
  }
  Integrate(now_micros);
}

void Ledger::Fetch(uint32_t page, int64_t now_micros) {
  AdvanceTo(now_micros);
  last_crawls_[page] = now_;
  if (exists_[page]) SetFresh(page, true);
}

Freshness Ledger::Current() const {
  if (pages_ == 0) return {};
  // If no page has any importance, all pages weigh the same.
  const double plain = static_cast<double>(fresh_pages_) / static_cast<double>(pages_);
  return {.weighted = importance_ > 0 ? fresh_importance_ / importance_ : plain, .plain = plain};
}

void Ledger::Integrate(int64_t until_micros) {
  if (until_micros <= now_) return;
  const int64_t span = until_micros - now_;
  const Freshness current = Current();
  sum_.weighted_micros += current.weighted * static_cast<double>(span);
  sum_.plain_micros += current.plain * static_cast<double>(span);
  sum_.micros += span;
  now_ = until_micros;
}

void Ledger::Add(uint32_t page, bool fresh) {
  exists_[page] = true;
  ++pages_;
  importance_ += replayed_->pages()[page].importance;
  SetFresh(page, fresh);
}

void Ledger::SetFresh(uint32_t page, bool fresh) {
  if (fresh_[page] == fresh) return;
  fresh_[page] = fresh;
  const double importance = replayed_->pages()[page].importance;
  fresh_pages_ += fresh ? 1 : -1;
  fresh_importance_ += fresh ? importance : -importance;
}

}  // namespace freshet::demo
