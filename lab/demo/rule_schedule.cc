#include "lab/demo/rule_schedule.h"

#include <optional>

namespace freshet::demo {
namespace {

std::vector<ReplayPage> PagesOf(const ReplayedHistory& replayed) {
  std::vector<ReplayPage> pages(replayed.pages().size());
  for (size_t i = 0; i < pages.size(); ++i) pages[i].importance = replayed.pages()[i].importance;
  return pages;
}

}  // namespace

RuleSchedule::RuleSchedule(std::string_view rule, const ReplayedHistory& replayed,
                           const LastCrawls& last_crawls, int64_t start_micros)
    : replayed_(&replayed),
      ledger_(replayed, last_crawls, start_micros),
      polls_(replayed, start_micros),
      pages_(PagesOf(replayed)),
      rule_(MakeReplayRule(rule, pages_)) {
  for (uint32_t page = 0; page < pages_.size(); ++page) {
    if (replayed.pages()[page].born_micros > start_micros) continue;
    rule_->Add(page, Instant::FromMicros(last_crawls[page].value_or(0)));
    any_page_ = true;
  }
}

void RuleSchedule::Know(std::span<const KnownPoll> polls) {
  known_.insert(known_.end(), polls.begin(), polls.end());
}

void RuleSchedule::AdvanceTo(int64_t now_micros, std::span<const int64_t> crawls,
                             int64_t lead_micros) {
  for (const int64_t crawl : crawls) {
    LearnUntil(crawl - lead_micros);
    Crawl(crawl);
  }
  ledger_.AdvanceTo(now_micros);
}

void RuleSchedule::LearnUntil(int64_t micros) {
  while (!known_.empty() && known_.front().known_micros <= micros) {
    const KnownPoll poll = known_.front();
    known_.pop_front();
    if (polls_.next_micros() > poll.poll_micros) continue;
    LearnFrom(polls_.Next(poll.poll_micros), poll.known_micros);
  }
}

void RuleSchedule::LearnFrom(const Poll& poll, int64_t known_micros) {
  std::vector<ReplaySignal> signals;
  for (const uint32_t page : poll.births) {
    rule_->Add(page, Instant::None());
    any_page_ = true;
    signals.push_back({page, Instant::FromMicros(replayed_->pages()[page].born_micros)});
  }
  for (const TouchedPage& touched : poll.touched) {
    signals.push_back({touched.page, Instant::FromMicros(touched.lastmod_micros)});
  }
  rule_->Signal(signals, Instant::FromMicros(known_micros));
}

void RuleSchedule::Crawl(int64_t now_micros) {
  if (!any_page_) return;
  const Instant now = Instant::FromMicros(now_micros);
  const std::optional<size_t> picked = rule_->Pick(now);
  if (!picked) return;
  const auto page = static_cast<uint32_t>(*picked);
  const std::optional<int64_t> last = ledger_.last_crawls()[page];
  ledger_.Fetch(page, now_micros);
  rule_->Crawled(page, now, !last || replayed_->ChangedWithin(page, *last, now_micros));
}

}  // namespace freshet::demo
