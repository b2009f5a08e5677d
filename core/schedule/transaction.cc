#include "core/schedule/transaction.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/estimate/estimator.h"
#include "core/estimate/page_estimate.h"

namespace freshet {
namespace {

// The record of a lease that has ended.
LeaseRecord Over(const LeaseRecord& lease, bool reported) {
  LeaseRecord over;
  over.id = lease.id;
  over.page = lease.page;
  over.over = true;
  over.reported = reported;
  return over;
}

// Adds the event to the changes, in place of earlier ones for the same crawl id.
void AddCrawl(const std::variant<SetCrawl, ForgetCrawl>& crawl, Changes* changes) {
  const auto* set = std::get_if<SetCrawl>(&crawl);
  const auto* forget = std::get_if<ForgetCrawl>(&crawl);
  if (set != nullptr ? !set->store : !forget->store) return;
  const std::string& id = set != nullptr ? set->terms.record.crawl_id : forget->crawl_id;
  std::erase_if(changes->crawls, [&](const CrawlRecord& before) { return before.crawl_id == id; });
  std::erase(changes->removed_crawls, id);
  // Terms without settings have only a class, which is not stored.
  if (set != nullptr && set->terms.record != CrawlRecord{.crawl_id = id}) {
    changes->crawls.push_back(set->terms.record);
  } else {
    changes->removed_crawls.push_back(id);
  }
}

}  // namespace

void Transaction::Page::TakeDueEstimate(const Estimator& estimator, const Lessons& lessons) {
  if (unestimated.is_none()) return;
  const PageEstimate estimate = estimator.Estimate(record, unestimated, lessons);
  record.state.rates = estimate.rates;
  record.state.staleness = estimate.staleness;
  unestimated = Instant();
  judge.reset();
}

void Transaction::EstimateLater(Page& page, Instant at) {
  if (page.unestimated.is_none()) unestimated_.push_back(&page);
  page.unestimated = at;
}

void Transaction::TakeDueEstimates(const Estimator& estimator) {
  for (Page* page : unestimated_) page->TakeDueEstimate(estimator, lessons);
  unestimated_.clear();
}

void Transaction::Load(PageRecord record, bool mended) {
  if (by_number_.contains(record.number)) return;
  Page& page = pages_.emplace_back();
  page.record = std::move(record);
  page.changed = mended;
  by_number_[page.record.number] = &page;
}

Transaction::Page* Transaction::Find(const PageKey& key) {
  // Pages are added to by_key_ only when a key is looked up, because most batches find pages by
  // number.
  for (; keyed_ < pages_.size(); ++keyed_) {
    Page* const page = &pages_[keyed_];
    // A created page replaces a removed page with the same key.
    if (page->created) by_key_.erase(page->record.key);
    by_key_.insert(page);
  }
  const auto it = by_key_.find(key);
  return it == by_key_.end() || (*it)->removed ? nullptr : *it;
}

Transaction::Page* Transaction::Find(PageNumber number) {
  const auto it = by_number_.find(number);
  return it == by_number_.end() || it->second->removed ? nullptr : it->second;
}

Transaction::Page* Transaction::Create(PageRecord record) {
  CHECK(Find(record.key) == nullptr, "page exists: {}", record.key.url);
  Page& page = pages_.emplace_back();
  ++created_;
  page.record = std::move(record);
  page.created = page.changed = page.reindex = true;
  const bool is_new = by_number_.try_emplace(page.record.number, &page).second;
  CHECK(is_new, "page {:x} exists", page.record.number.value());
  if (!forgotten_hosts_.empty()) forgotten_hosts_.erase(page.record.host);
  return &page;
}

Transaction::Lease* Transaction::FindLease(LeaseId id) {
  const auto it = by_lease_.find(id);
  return it == by_lease_.end() ? nullptr : it->second;
}

LeaseId Transaction::LeaseOf(PageNumber page) const {
  const auto it = lease_of_.find(page);
  return it == lease_of_.end() ? LeaseId() : it->second;
}

Transaction::Lease* Transaction::PutLease(LeaseRecord record) {
  CHECK(record.id != LeaseId() && !record.over, "lease {:x} is not open", record.id.value());
  Lease*& lease = by_lease_[record.id];
  if (lease == nullptr) lease = &leases_.emplace_back();
  lease_of_[record.page] = record.id;
  lease->record = std::move(record);
  return lease;
}

void Transaction::Close(Lease& lease, bool reported) {
  CHECK(!lease.closed, "lease {:x} is closed", lease.record.id.value());
  lease.closed = true;
  lease.reported = reported;
  ++newly_remembered_;
}

HostRecord* Transaction::FindHost(const std::string& host) {
  const auto it = by_host_.find(host);
  return it == by_host_.end() ? nullptr : it->second;
}

uint64_t Transaction::CreatedPagesOf(const std::string& host) {
  for (; scanned_ < pages_.size(); ++scanned_) {
    if (pages_[scanned_].created) ++created_of_[pages_[scanned_].record.host];
  }
  const auto it = created_of_.find(host);
  return it == created_of_.end() ? 0 : it->second;
}

HostRecord* Transaction::PutHost(HostRecord record) {
  if (!forgotten_hosts_.empty()) forgotten_hosts_.erase(record.host);
  HostRecord*& host = by_host_[record.host];
  if (host == nullptr) host = &hosts_.emplace_back();
  *host = std::move(record);
  return host;
}

Changes Transaction::Finish(const Estimator& estimator) {
  TakeDueEstimates(estimator);
  Changes changes;
  for (const Page& page : pages_) {
    if (page.removed) {
      // A page that was created and removed within the batch is never written.
      if (!page.created) changes.removed_pages.push_back(&page.record);
    } else if (page.changed) {
      changes.pages.push_back({.record = &page.record, .created = page.created});
    }
  }
  // The store inserts rows faster in ascending order, and new pages come in any order.
  std::sort(changes.pages.begin(), changes.pages.end(), [](const PageWrite& a, const PageWrite& b) {
    return a.record->number < b.record->number;
  });
  for (const Lease& lease : leases_) {
    if (lease.forgotten) {
      changes.closed_leases.push_back(lease.record.id);
    } else if (lease.closed) {
      changes.leases.push_back(Over(lease.record, lease.reported));
    } else {
      changes.leases.push_back(lease.record);
    }
  }
  // These leases come after those that the batch closed.
  for (const LeaseRecord& lease : late_leases) changes.leases.push_back(Over(lease, true));
  for (const LeaseId id : forgotten_leases) changes.closed_leases.push_back(id);
  changes.hosts.assign(hosts_.begin(), hosts_.end());
  changes.removed_hosts.assign(forgotten_hosts_.begin(), forgotten_hosts_.end());
  changes.sources = sources;
  for (const auto& crawl : crawls) AddCrawl(crawl, &changes);
  changes.settings = settings;
  changes.epoch = epoch;
  return changes;
}

void Transaction::Reset() {
  pages_.clear();
  unestimated_.clear();
  leases_.clear();
  hosts_.clear();
  by_key_.clear();
  by_number_.clear();
  by_lease_.clear();
  lease_of_.clear();
  by_host_.clear();
  now = Instant();
  sources.clear();
  crawls.clear();
  new_crawls.clear();
  new_crawls_of_client.clear();
  places.Return();
  settings.reset();
  epoch.reset();
  late_leases.clear();
  forgotten_leases.clear();
  lessons = {};
  counts = {};
  new_leases = 0;
  next_serials.clear();
  rested_hosts.clear();
  created_ = 0;
  keyed_ = 0;
  scanned_ = 0;
  created_of_.clear();
  forgotten_hosts_.clear();
  newly_remembered_ = 0;
}

}  // namespace freshet
