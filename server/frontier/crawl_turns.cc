#include "server/frontier/crawl_turns.h"

#include <algorithm>

#include "server/frontier/queue_table.h"

namespace freshet {
namespace {

// The second in which the first waiting queue becomes ready, not before `put_off`.
uint64_t SecondOf(const FrontierCrawl& crawl) {
  if (crawl.waiting.empty()) return QueueTable::kNever;
  return std::max(crawl.waiting.begin()->first.first, crawl.put_off);
}

}  // namespace

void CrawlTurns::File(FrontierCrawl& crawl) {
  if (crawl.ready.empty()) {
    ready_.erase(crawl.number);
  } else {
    ready_[crawl.number] = &crawl;
  }
  const uint64_t second = SecondOf(crawl);
  if (second != crawl.comes.first) Come(crawl, second);
}

void CrawlTurns::PutOff(FrontierCrawl& crawl, uint64_t now) {
  crawl.put_off = now;
  Come(crawl, SecondOf(crawl));
}

void CrawlTurns::Remove(FrontierCrawl& crawl) {
  ready_.erase(crawl.number);
  Come(crawl, QueueTable::kNever);
}

void CrawlTurns::Come(FrontierCrawl& crawl, uint64_t second) {
  if (crawl.comes.first != QueueTable::kNever) coming_.erase(crawl.comes);
  crawl.comes = {second, next_++};
  if (second != QueueTable::kNever) coming_[crawl.comes] = &crawl;
}

FrontierCrawl* CrawlRound::NextReady(const CrawlTurns& turns) {
  if (over_) return nullptr;
  auto it = turns.ready().lower_bound(next_);
  if (it == turns.ready().end() && !std::exchange(wrapped_, true)) it = turns.ready().begin();
  over_ = it == turns.ready().end() || (wrapped_ && it->first >= *first_);
  if (over_) return nullptr;
  next_ = it->first + 1;
  return it->second;
}

FrontierCrawl* CrawlRound::Next(const CrawlTurns& turns, const FrontierCrawls& crawls,
                                uint32_t first) {
  if (!first_) first_ = next_ = first;
  if (FrontierCrawl* crawl = NextReady(turns)) {
    ++named_;
    return crawl;
  }
  while (!again_.empty()) {
    const auto it = crawls.find(again_.front());
    again_.pop_front();
    if (it == crawls.end()) continue;
    ++named_;
    return it->second.get();
  }
  return nullptr;
}

void CrawlRound::Keep(const FrontierCrawl& crawl) { again_.push_back(crawl.number); }

}  // namespace freshet
