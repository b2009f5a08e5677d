// The crawl id of each page in a shard, and the terms (core/schedule/crawl_terms.h) and counters of
// crawl ids.
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
#include "core/base/parted_map.h"
#include "core/base/segmented_array.h"
#include "core/base/shares.h"
#include "core/base/units.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/forced_turns.h"
#include "core/schedule/quota.h"

namespace freshet {

// A crawl id. Only the table changes it, except for the counters. Thread-compatible.
struct Crawl {
  std::string name;                   // empty = the index is not in use
  std::unique_ptr<CrawlTerms> terms;  // nullptr = no terms
  CrawlCounters counters;
  // The client whose share of the table the crawl id uses (core/base/shares.h); 0 = none.
  uint64_t client = 0;
  uint64_t key = 0;       // the number of its name, as ClientNumber makes it
  bool operated = false;  // an operator has set terms
  bool deleting = false;

  [[nodiscard]] CrawlClass crawl_class() const {
    return terms == nullptr ? CrawlClass{0} : terms->crawl_class;
  }
  // The turn of a forced page of this crawl id (core/schedule/forced_turns.h). The caller adds the
  // page's domain and the time since which the page is forced.
  [[nodiscard]] ForcedTurn turn() const {
    return {
        .owner = operated ? key : client, .crawl = key, .domain = {}, .since = Instant::Infinite()};
  }
};

// The table of crawl ids. A page of the first crawl id takes no memory here. A page of another
// crawl id takes two bytes, and each of the crawl id's hosts takes about fifty. A crawl id without
// pages and terms is forgotten, with its counters. Owner thread only.
class CrawlTable {
 public:
  // The index of the crawl id, which is added if it is new; nullopt = the table already has
  // limits::kMaxCrawls.
  [[nodiscard]] std::optional<CrawlIndex> Intern(std::string_view crawl_id);
  // Makes the crawl id use this client's share of the table, unless it already uses another
  // client's.
  void Own(CrawlIndex crawl, uint64_t client);
  // The clients' shares of the table. A crawl id uses a share until it is forgotten.
  [[nodiscard]] const Shares& shares() const { return shares_; }
  [[nodiscard]] std::optional<CrawlIndex> Find(std::string_view crawl_id) const;
  [[nodiscard]] size_t size() const { return by_name_.size(); }
  // All indexes are below this limit. Some of them can be unused.
  [[nodiscard]] uint16_t index_limit() const { return static_cast<uint16_t>(crawls_.size()); }
  // Valid until the next Intern.
  [[nodiscard]] const Crawl& operator[](CrawlIndex crawl) const {
    return crawls_.at(crawl.value());
  }

  // Sets the terms. The quota of the terms then also counts the pages that the crawl id already
  // has.
  void SetTerms(CrawlIndex crawl, CrawlTerms terms);
  // Clears the terms. Forgets the crawl id if it has no pages.
  void DropTerms(CrawlIndex crawl);
  [[nodiscard]] size_t deletions() const { return deletions_; }
  // Returns true if a crawl id has, or had, a class other than 0.
  [[nodiscard]] bool has_classes() const { return has_classes_; }
  // with_terms: the crawl ids with terms. polite: the crawl ids whose terms set politeness.
  [[nodiscard]] const std::vector<CrawlIndex>& with_terms() const { return with_terms_; }
  [[nodiscard]] const std::vector<CrawlIndex>& polite() const { return polite_; }

  // Adds or removes a page. `host_pages` is the number of pages on the host, of all crawl ids,
  // including this page for Add but not for Remove. `placed`: true if the quota counts the page
  // already.
  void Add(PageId page, HostId host, CrawlIndex crawl, uint32_t host_pages, bool placed);
  void Remove(PageId page, HostId host, uint32_t host_pages);
  [[nodiscard]] CrawlIndex Of(PageId page) const {
    return page.value() < of_page_.size() ? of_page_[page.value()] : CrawlIndex();
  }
  [[nodiscard]] CrawlClass ClassOf(PageId page) const {
    return has_classes_ ? (*this)[Of(page)].crawl_class() : CrawlClass{0};
  }
  [[nodiscard]] bool IsShadow(PageId page) const {
    if (shadows_ == 0) return false;
    const CrawlTerms* terms = (*this)[Of(page)].terms.get();
    return terms != nullptr && terms->shadow;
  }
  // The number of pages that the crawl id has on the host. The host has `host_pages` pages in all.
  [[nodiscard]] uint32_t PagesOf(HostId host, CrawlIndex crawl, uint32_t host_pages) const;

  // The counters, for changes. Valid until the next Intern.
  [[nodiscard]] CrawlCounters& Count(CrawlIndex crawl) { return of(crawl).counters; }

 private:
  [[nodiscard]] Crawl& of(CrawlIndex crawl) { return crawls_.at(crawl.value()); }
  static uint64_t Pair(HostId host, CrawlIndex crawl) {
    return uint64_t{host.value()} << 16 | crawl.value();
  }
  // If `come` is true, includes the terms of the crawl id in the table's counts. Otherwise removes
  // them from the counts.
  void CountTerms(CrawlIndex crawl, bool come);
  void ForgetIfUnused(CrawlIndex crawl);

  std::vector<Crawl> crawls_ = std::vector<Crawl>(1);  // by index; the first can be unused
  std::vector<CrawlIndex> free_ = {CrawlIndex()};
  absl::flat_hash_map<std::string, CrawlIndex> by_name_;
  Shares shares_{limits::kMaxCrawls};
  SegmentedArray<CrawlIndex> of_page_;  // by PageId; for ids beyond its end the index is 0
  // Numbers of pages of crawl ids other than index 0. `pages_of_pair_`: by host and crawl id.
  // `others_of_host_`: by host.
  PartedMap<uint64_t, uint32_t> pages_of_pair_;
  PartedMap<HostId, uint32_t> others_of_host_;
  size_t deletions_ = 0;
  size_t shadows_ = 0;  // number of shadow crawl ids
  std::vector<CrawlIndex> with_terms_;
  std::vector<CrawlIndex> polite_;
  bool has_classes_ = false;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CRAWL_TABLE_H_
