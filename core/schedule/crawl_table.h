// Which crawl id each page of a shard belongs to, what was set for that, and what it counts.
#ifndef FRESHET_CORE_SCHEDULE_CRAWL_TABLE_H_
#define FRESHET_CORE_SCHEDULE_CRAWL_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/segmented_array.h"
#include "core/base/shares.h"
#include "core/base/units.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/forced_turns.h"
#include "core/schedule/quota.h"

namespace freshet {

// Owner thread only. Pages of the first crawl id take no memory here; with others it is two bytes a
// page and some fifty a host of theirs. A crawl id that has neither pages nor a record is
// forgotten, with its counters.
class CrawlTable {
 public:
  // The index of the crawl id, maybe a new one; nullopt: there are limits::kMaxCrawls.
  [[nodiscard]] std::optional<CrawlIndex> Intern(std::string_view crawl_id);
  // The crawl id counts for this client, unless it counts for one already.
  void Own(CrawlIndex crawl, uint64_t client);
  // For which clients they count, until they are forgotten.
  [[nodiscard]] const Shares& shares() const { return shares_; }
  [[nodiscard]] std::optional<CrawlIndex> Find(std::string_view crawl_id) const;
  [[nodiscard]] size_t size() const { return by_name_.size(); }
  // Every index is below; some may be of no crawl id.
  [[nodiscard]] uint16_t index_limit() const { return static_cast<uint16_t>(crawls_.size()); }
  [[nodiscard]] bool known(CrawlIndex crawl) const { return !of(crawl).name.empty(); }
  [[nodiscard]] const std::string& name(CrawlIndex crawl) const { return of(crawl).name; }
  // nullptr: nothing is set.
  [[nodiscard]] const CrawlTerms* terms(CrawlIndex crawl) const { return of(crawl).terms.get(); }
  [[nodiscard]] const CrawlCounters& counters(CrawlIndex crawl) const { return of(crawl).counters; }

  // What was set from now on. Pages that it has are counted by its quota.
  void SetTerms(CrawlIndex crawl, CrawlTerms terms);
  // Nothing is set any more.
  void DropTerms(CrawlIndex crawl);
  [[nodiscard]] bool deleting(CrawlIndex crawl) const { return of(crawl).deleting; }
  [[nodiscard]] size_t deletions() const { return deletions_; }
  // Any crawl id has a class of its own, or had one.
  [[nodiscard]] bool has_classes() const { return has_classes_; }
  // Those for which something is set, and those with politeness of their own.
  [[nodiscard]] const std::vector<CrawlIndex>& with_terms() const { return with_terms_; }
  [[nodiscard]] const std::vector<CrawlIndex>& polite() const { return polite_; }

  // `host_pages`: those of the host, of all crawl ids, this one included for Add and not for
  // Remove. `placed`: its quota counts the page already.
  void Add(PageId page, HostId host, CrawlIndex crawl, uint32_t host_pages, bool placed);
  void Remove(PageId page, HostId host, uint32_t host_pages);
  [[nodiscard]] CrawlIndex Of(PageId page) const {
    return page.value() < of_page_.size() ? of_page_[page.value()] : CrawlIndex();
  }
  [[nodiscard]] CrawlClass ClassOf(CrawlIndex crawl) const {
    const CrawlTerms* its = terms(crawl);
    return its == nullptr ? CrawlClass{0} : its->crawl_class;
  }
  [[nodiscard]] CrawlClass ClassOf(PageId page) const {
    return has_classes_ ? ClassOf(Of(page)) : CrawlClass{0};
  }
  [[nodiscard]] bool IsShadow(PageId page) const {
    if (shadows_ == 0) return false;
    const CrawlTerms* its = terms(Of(page));
    return its != nullptr && its->shadow;
  }
  // Whose turn forced pages of the crawl id take, but for domain and lateness.
  [[nodiscard]] ForcedTurn TurnOf(CrawlIndex crawl) const {
    const Crawl& its = of(crawl);
    return {.owner = its.operated ? its.key : its.client,
            .crawl = its.key,
            .domain = {},
            .since = Instant::Infinite()};
  }
  // Pages of the host, `host_pages` in all, that the crawl id has.
  [[nodiscard]] uint32_t PagesOf(HostId host, CrawlIndex crawl, uint32_t host_pages) const;

  // The page has gone out, or has come back.
  void GoesOut(PageId page) { ++of(Of(page)).counters.out; }
  void ComesBack(PageId page) { --of(Of(page)).counters.out; }
  // To count what happens. References are valid until the next Intern.
  [[nodiscard]] CrawlCounters& Count(CrawlIndex crawl) { return of(crawl).counters; }

 private:
  struct Crawl {
    std::string name;  // empty: the index is free
    std::unique_ptr<CrawlTerms> terms;
    CrawlCounters counters;
    uint64_t client = 0;
    uint64_t key = 0;       // of its name, as that of a client
    bool operated = false;  // an operator has set something
    bool deleting = false;
  };

  [[nodiscard]] Crawl& of(CrawlIndex crawl) { return crawls_.at(crawl.value()); }
  [[nodiscard]] const Crawl& of(CrawlIndex crawl) const { return crawls_.at(crawl.value()); }
  static uint64_t Pair(HostId host, CrawlIndex crawl) {
    return uint64_t{host.value()} << 16 | crawl.value();
  }
  // The terms of the crawl id come, or go.
  void CountTerms(CrawlIndex crawl, bool come);
  void ForgetIfUnused(CrawlIndex crawl);

  std::vector<Crawl> crawls_ = std::vector<Crawl>(1);  // by index; the first may be free
  std::vector<CrawlIndex> free_ = {CrawlIndex()};
  absl::flat_hash_map<std::string, CrawlIndex> by_name_;
  Shares shares_{limits::kMaxCrawls};
  SegmentedArray<CrawlIndex> of_page_;  // by PageId; beyond it the index is 0
  // Of the crawl ids other than that of index 0: pages of a host by crawl id, and of all of them.
  absl::flat_hash_map<uint64_t, uint32_t> pages_of_pair_;
  absl::flat_hash_map<HostId, uint32_t> others_of_host_;
  size_t deletions_ = 0;
  size_t shadows_ = 0;  // crawl ids that are
  std::vector<CrawlIndex> with_terms_;
  std::vector<CrawlIndex> polite_;
  bool has_classes_ = false;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CRAWL_TABLE_H_
