// An index for each class of crawl ids, to find the best page among some of the classes.
//
// All crawl ids without a share or a maximum of the crawl rate are of class 0, whose index has
// pages and hosts under their own ids: as long as there is no other class, this is that index. The
// other indexes number their pages and hosts themselves, so that each takes memory only for its
// own.
#ifndef FRESHET_CORE_SCHEDULE_CLASSED_INDEX_H_
#define FRESHET_CORE_SCHEDULE_CLASSED_INDEX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/segmented_array.h"
#include "core/base/units.h"
#include "core/index/price_index.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/host_gate.h"
#include "core/schedule/numbered_index.h"

namespace freshet {

struct ClassedPick {
  PageId page;
  double value = 0;
  CrawlClass crawl_class = 0;
};

// Has the functions of PriceIndex (core/index/price_index.h); without a named class, in the class
// of the page. Several classes cost a hash lookup a call and five bytes a page. Owner thread only.
class ClassedIndex {
 public:
  // The gate outlives this index. It tells when a host is free of which a class gets its first
  // page.
  explicit ClassedIndex(const HostGate& hosts) : gate_(hosts) {}

  void GrowTo(size_t pages, size_t hosts) { common_.GrowTo(pages, hosts); }
  // Puts the page into this class, from any other.
  void Put(PageId page, const IndexEntry& entry, CrawlClass crawl_class);
  // Moves a page of the index to the class; true = it was in another. `suspended` says whether the
  // page is suspended.
  bool Move(PageId page, CrawlClass crawl_class, bool suspended);
  void Remove(PageId page);
  void Suspend(PageId page);
  void Resume(PageId page);
  void SetHostFree(HostId host, Instant free_at);
  void SetHostGroup(HostId host, GroupId group);
  void SetGroupFree(GroupId group, Instant free_at);
  // The best of the pages of these classes. `at` must not be earlier than in the call before.
  [[nodiscard]] std::optional<ClassedPick> Best(Instant at, ClassSet among);

  [[nodiscard]] std::optional<IndexEntry> Find(PageId page) const;
  [[nodiscard]] HostId HostOf(PageId page) const;
  [[nodiscard]] size_t size() const {
    return Sum([](const PriceIndex& index) { return index.size(); });
  }
  // Sums over all classes.
  [[nodiscard]] size_t awake() const {
    return Sum([](const PriceIndex& index) { return index.awake(); });
  }
  [[nodiscard]] uint64_t evaluations() const {
    return Sum([](const PriceIndex& index) { return index.evaluations(); });
  }
  // 0 also if the page is not in.
  [[nodiscard]] CrawlClass ClassOf(PageId page) const {
    return IsNumbered(page) ? static_cast<CrawlClass>(classes_->of_page[page.value()] - 1)
                            : CrawlClass{0};
  }

 private:
  struct Classes {
    // The class + 1; 0 = not in, or in the common index.
    SegmentedArray<uint8_t> of_page;
    // id in the index of the page's class, unless that is the common one
    SegmentedArray<PageId> number;
    SegmentedArray<ClassSet> of_host;
    // By class; class 0 has the common index.
    std::array<std::unique_ptr<NumberedIndex>, limits::kMaxCrawlClasses> by_class;
    ClassSet some = 0;  // classes with an index of their own
  };

  template <typename Of>
  [[nodiscard]] uint64_t Sum(Of of) const {
    uint64_t sum = of(common_);
    if (classes_ == nullptr) return sum;
    for (const auto& its : classes_->by_class) sum += its == nullptr ? 0 : of(its->index);
    return sum;
  }
  static_assert(limits::kMaxCrawlClasses < UINT8_MAX);
  // Whether the page is in an index that numbers its pages itself.
  [[nodiscard]] bool IsNumbered(PageId page) const {
    return classes_ != nullptr && page.value() < classes_->of_page.size() &&
           classes_->of_page[page.value()] != 0;
  }
  [[nodiscard]] NumberedIndex& In(PageId page) { return *classes_->by_class[ClassOf(page)]; }
  [[nodiscard]] const NumberedIndex& In(PageId page) const {
    return *classes_->by_class[ClassOf(page)];
  }
  [[nodiscard]] PageId NumberOf(PageId page) const { return classes_->number[page.value()]; }
  void PutInClass(PageId page, IndexEntry entry, CrawlClass crawl_class);
  [[nodiscard]] HostId NumberOfHost(NumberedIndex& its, CrawlClass crawl_class, HostId host);

  const HostGate& gate_;
  PriceIndex common_;
  std::unique_ptr<Classes> classes_;  // null until a page is put into another class
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CLASSED_INDEX_H_
