#include "core/schedule/crawl_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/base/check.h"

namespace freshet {
namespace {

bool HasPoliteness(const CrawlRecord& record) {
  return record.min_delay || record.max_in_flight || record.min_page_interval;
}

template <typename Key>
void CountDown(const Key& key, PartedMap<Key, uint32_t>& pages) {
  uint32_t* const left = pages.Find(key);
  CHECK(left != nullptr && *left > 0, "no page is left");
  if (--*left == 0) pages.Erase(key);
}

}  // namespace

CrawlCounters& CrawlCounters::operator+=(const CrawlCounters& other) {
  pages += other.pages;
  hosts += other.hosts;
  out += other.out;
  assignments += other.assignments;
  forced += other.forced;
  crawls += other.crawls;
  changes += other.changes;
  errors += other.errors;
  gone += other.gone;
  robots_denied += other.robots_denied;
  return *this;
}

std::optional<CrawlIndex> CrawlTable::Find(std::string_view crawl_id) const {
  const auto it = by_name_.find(absl::string_view(crawl_id.data(), crawl_id.size()));
  if (it == by_name_.end()) return std::nullopt;
  return it->second;
}

std::optional<CrawlIndex> CrawlTable::Intern(std::string_view crawl_id) {
  CHECK(!crawl_id.empty(), "a crawl id has a name");
  if (const auto known = Find(crawl_id)) return known;
  if (by_name_.size() >= limits::kMaxCrawls) return std::nullopt;
  if (free_.empty()) {
    free_.emplace_back(index_limit());
    crawls_.emplace_back();
  }
  const CrawlIndex crawl = free_.back();
  free_.pop_back();
  of(crawl).name = crawl_id;
  of(crawl).key = ClientNumber(crawl_id);
  by_name_.emplace(of(crawl).name, crawl);
  shares_.Take(0);
  return crawl;
}

void CrawlTable::Own(CrawlIndex crawl, uint64_t client) {
  uint64_t& owner = of(crawl).client;
  if (owner != 0 || client == 0) return;
  shares_.Give(0);
  shares_.Take(client);
  owner = client;
}

void CrawlTable::CountTerms(CrawlIndex crawl, bool come) {
  const CrawlTerms* terms = of(crawl).terms.get();
  if (terms == nullptr) return;
  if (terms->record.deleting) come ? ++deletions_ : --deletions_;
  if (terms->shadow) come ? ++shadows_ : --shadows_;
  const auto count = [come, crawl](std::vector<CrawlIndex>& crawls) {
    if (come) {
      crawls.push_back(crawl);
    } else {
      std::erase(crawls, crawl);
    }
  };
  count(with_terms_);
  if (HasPoliteness(terms->record)) count(polite_);
}

void CrawlTable::SetTerms(CrawlIndex crawl, CrawlTerms terms) {
  Crawl& its = of(crawl);
  CountTerms(crawl, /*come=*/false);
  const Quota* before = its.terms == nullptr ? nullptr : its.terms->quota.get();
  if (terms.quota != nullptr && terms.quota.get() != before) terms.quota->Add(its.counters.pages);
  has_classes_ = has_classes_ || terms.crawl_class != 0;
  its.deleting = terms.record.deleting;
  its.operated = terms.record != CrawlRecord{.crawl_id = its.name};
  its.terms = std::make_unique<CrawlTerms>(std::move(terms));
  CountTerms(crawl, /*come=*/true);
}

void CrawlTable::DropTerms(CrawlIndex crawl) {
  Crawl& its = of(crawl);
  CountTerms(crawl, /*come=*/false);
  its.terms.reset();
  its.operated = false;
  its.deleting = false;
  ForgetIfUnused(crawl);
}

void CrawlTable::ForgetIfUnused(CrawlIndex crawl) {
  Crawl& its = of(crawl);
  if (its.counters.pages > 0 || its.terms != nullptr || its.name.empty()) return;
  by_name_.erase(its.name);
  shares_.Give(its.client);
  its = Crawl();
  free_.push_back(crawl);
}

void CrawlTable::Add(PageId page, HostId host, CrawlIndex crawl, uint32_t host_pages, bool placed) {
  Crawl& its = of(crawl);
  ++its.counters.pages;
  if (!placed && its.terms != nullptr && its.terms->quota != nullptr) its.terms->quota->Add(1);
  if (page.value() < of_page_.size() || crawl != CrawlIndex()) {
    of_page_.GrowTo(page.value() + size_t{1});
    of_page_[page.value()] = crawl;
  }
  if (crawl != CrawlIndex()) {
    ++*pages_of_pair_.Add(Pair(host, crawl), 0).first;
    ++*others_of_host_.Add(host, 0).first;
  }
  if (PagesOf(host, crawl, host_pages) == 1) ++its.counters.hosts;
}

void CrawlTable::Remove(PageId page, HostId host, uint32_t host_pages) {
  const CrawlIndex crawl = Of(page);
  Crawl& its = of(crawl);
  CHECK(its.counters.pages > 0, "crawl {} has no page", its.name);
  --its.counters.pages;
  if (its.terms != nullptr && its.terms->quota != nullptr) its.terms->quota->Give(1);
  if (crawl != CrawlIndex()) {
    of_page_[page.value()] = CrawlIndex();
    CountDown(Pair(host, crawl), pages_of_pair_);
    CountDown(host, others_of_host_);
  }
  if (PagesOf(host, crawl, host_pages) == 0) --its.counters.hosts;
  ForgetIfUnused(crawl);
}

uint32_t CrawlTable::PagesOf(HostId host, CrawlIndex crawl, uint32_t host_pages) const {
  if (crawl != CrawlIndex()) {
    const uint32_t* const pages = pages_of_pair_.Find(Pair(host, crawl));
    return pages == nullptr ? 0 : *pages;
  }
  const uint32_t* const others = others_of_host_.Find(host);
  return host_pages - (others == nullptr ? 0 : *others);
}

}  // namespace freshet
