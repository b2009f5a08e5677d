#include "core/schedule/crawl_book.h"

#include <algorithm>

#include "core/model/crawl.h"

namespace freshet {

bool CrawlBook::Has(CrawlIndex index) const {
  const Crawl& crawl = table[index];
  if (crawl.name.empty()) return false;
  const bool nothing_set =
      crawl.terms != nullptr && crawl.terms->record == CrawlRecord{.crawl_id = crawl.name};
  return !nothing_set || crawl.counters.pages > 0;
}

std::vector<CrawlStatus> CrawlBook::Statuses(std::string_view after, size_t most) const {
  const auto before = [this](CrawlIndex a, CrawlIndex b) { return table[a].name < table[b].name; };
  // A heap of the chosen crawl ids, with the last one by name at the front. Most crawl ids are
  // compared only with the front. The shard can do nothing else during this call, so it must be
  // fast.
  std::vector<CrawlIndex> first;
  for (uint16_t i = 0; i < table.index_limit(); ++i) {
    const CrawlIndex crawl(i);
    if (!Has(crawl) || table[crawl].name <= after) continue;
    if (first.size() == most) {
      if (most == 0 || !before(crawl, first.front())) continue;
      std::pop_heap(first.begin(), first.end(), before);
      first.pop_back();
    }
    first.push_back(crawl);
    std::push_heap(first.begin(), first.end(), before);
  }
  std::sort_heap(first.begin(), first.end(), before);
  std::vector<CrawlStatus> statuses;
  statuses.reserve(first.size());
  for (const CrawlIndex crawl : first) {
    statuses.push_back({.crawl_id = table[crawl].name, .counters = table[crawl].counters});
  }
  return statuses;
}

std::optional<CrawlStatus> CrawlBook::StatusOf(std::string_view crawl_id) const {
  const std::optional<CrawlIndex> crawl = table.Find(crawl_id);
  if (!crawl || !Has(*crawl)) return std::nullopt;
  return CrawlStatus{.crawl_id = table[*crawl].name, .counters = table[*crawl].counters};
}

std::vector<CrawlStatus> CrawlBook::WithTerms() const {
  std::vector<CrawlStatus> statuses;
  for (const CrawlIndex crawl : table.with_terms()) {
    statuses.push_back({.crawl_id = table[crawl].name, .counters = table[crawl].counters});
  }
  return statuses;
}

}  // namespace freshet
