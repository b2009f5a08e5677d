#include "core/schedule/page_book.h"

#include "core/base/check.h"
#include "core/schedule/shard_options.h"

namespace freshet {

PageBook::PageBook(const ShardOptions& options, const HostGate& hosts, const CrawlTable& crawls)
    : fingerprinter(options.fingerprinter),
      picks(table, hosts, options.policy, &crawls),
      leases(options.generation),
      edges(options.estimator.day) {}

void PageBook::FindNumbers(const PageKey& key, std::vector<PageNumber>* numbers) const {
  table.ForEachOf(fingerprinter.Of(key.crawl_id, key.url),
                  [&](PageId id) { numbers->push_back(table.number(id)); });
}

std::optional<LeaseRecord> PageBook::FindLease(LeaseId id) const {
  const LeaseRecord* lease = leases.Find(id);
  if (lease == nullptr) return std::nullopt;
  return *lease;
}

std::optional<LeaseRecord> PageBook::LeaseOut(PageId id) const {
  if (!table.Is(id, PageTable::kLeased)) return std::nullopt;
  const PagesOut::Out* leased = out.Find(id);
  const LeaseRecord* lease = leased == nullptr ? nullptr : leases.Find(leased->lease);
  CHECK(lease != nullptr, "a leased page has no lease");
  return *lease;
}

BelievedFreshness PageBook::Believed(Instant now) const {
  CHECK(gone <= table.size(), "{} pages of {} are gone", gone, table.size());
  return freshness.Sum(now, table.size() - gone);
}

}  // namespace freshet
