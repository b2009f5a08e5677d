// The crawl id of each page of a shard, and the terms and counters of crawl ids.
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

// A crawl id. Only the table changes it, but for the counters. Thread-compatible.
struct Crawl {
  std::string name;                   // empty = the index is free
  std::unique_ptr<CrawlTerms> terms;  // nullptr = no terms
  CrawlCounters counters;
  uint64_t client = 0;
  uint64_t key = 0;       // the key of its name, made like a client's
  bool operated = false;  // an operator has set terms
  bool deleting = false;

  [[nodiscard]] CrawlClass crawl_class() const {
    return terms == nullptr ? CrawlClass{0} : terms->crawl_class;
  }
  // Its turn of forced pages, without domain and lateness.
  [[nodiscard]] ForcedTurn turn() const {
    return {
        .owner = operated ? key : client, .crawl = key, .domain = {}, .since = Instant::Infinite()};
  }
};

// The table. Pages of the first crawl id take no memory here; other crawl ids take two bytes a
// page, and some fifty a host of theirs. A crawl id without pages and record is forgotten, with its
// counters. Owner thread only.
class CrawlTable {
 public:
  // The index of the crawl id, perhaps a new one; nullopt = there are limits::kMaxCrawls.
  [[nodiscard]] std::optional<CrawlIndex> Intern(std::string_view crawl_id);
  // Makes the crawl id count for this client, unless it counts for one already.
  void Own(CrawlIndex crawl, uint64_t client);
  // The clients for which crawl ids count, until they are forgotten.
  [[nodiscard]] const Shares& shares() const { return shares_; }
  [[nodiscard]] std::optional<CrawlIndex> Find(std::string_view crawl_id) const;
  [[nodiscard]] size_t size() const { return by_name_.size(); }
  // All indexes are below this; some may be unused.
  [[nodiscard]] uint16_t index_limit() const { return static_cast<uint16_t>(crawls_.size()); }
  // Valid until the next Intern.
  [[nodiscard]] const Crawl& operator[](CrawlIndex crawl) const {
    return crawls_.at(crawl.value());
  }

  // Sets the terms. Their quota then counts the pages that the crawl id has.
  void SetTerms(CrawlIndex crawl, CrawlTerms terms);
  // Clears the terms.
  void DropTerms(CrawlIndex crawl);
  [[nodiscard]] size_t deletions() const { return deletions_; }
  // Whether a crawl id has a class of its own, or had one.
  [[nodiscard]] bool has_classes() const { return has_classes_; }
  // The crawl ids with terms, and those with politeness of their own.
  [[nodiscard]] const std::vector<CrawlIndex>& with_terms() const { return with_terms_; }
  [[nodiscard]] const std::vector<CrawlIndex>& polite() const { return polite_; }

  // `host_pages`: the pages of the host, of all crawl ids, this page included for Add but not for
  // Remove. `placed`: the quota counts the page already.
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
  // The pages of the crawl id on the host, which has `host_pages` in all.
  [[nodiscard]] uint32_t PagesOf(HostId host, CrawlIndex crawl, uint32_t host_pages) const;

  // The counters, to be changed. Valid until the next Intern.
  [[nodiscard]] CrawlCounters& Count(CrawlIndex crawl) { return of(crawl).counters; }

 private:
  [[nodiscard]] Crawl& of(CrawlIndex crawl) { return crawls_.at(crawl.value()); }
  static uint64_t Pair(HostId host, CrawlIndex crawl) {
    return uint64_t{host.value()} << 16 | crawl.value();
  }
  // Counts the terms of the crawl id in, or out.
  void CountTerms(CrawlIndex crawl, bool come);
  void ForgetIfUnused(CrawlIndex crawl);

  std::vector<Crawl> crawls_ = std::vector<Crawl>(1);  // by index; the first may be free
  std::vector<CrawlIndex> free_ = {CrawlIndex()};
  absl::flat_hash_map<std::string, CrawlIndex> by_name_;
  Shares shares_{limits::kMaxCrawls};
  SegmentedArray<CrawlIndex> of_page_;  // by PageId; beyond it the index is 0
  // For the crawl ids other than index 0: pages of a host by crawl id, and of all together.
  PartedMap<uint64_t, uint32_t> pages_of_pair_;
  PartedMap<HostId, uint32_t> others_of_host_;
  size_t deletions_ = 0;
  size_t shadows_ = 0;  // shadow crawl ids
  std::vector<CrawlIndex> with_terms_;
  std::vector<CrawlIndex> polite_;
  bool has_classes_ = false;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CRAWL_TABLE_H_
