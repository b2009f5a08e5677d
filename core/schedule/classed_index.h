// One index per class of crawl ids, to find the best page among some of the classes.
//
// A crawl id without a share of the crawl rate, a maximum crawl rate or dedicated workers is of
// class 0. The index of class 0 has pages and hosts under their usual ids, and is the only index
// while there is no other class. The other indexes number their pages and hosts themselves, so that
// each takes memory only for what it contains.
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

// Has the functions of PriceIndex (core/index/price_index.h). A function without a class argument
// acts on the class of the page. If there are several classes, each call costs an additional hash
// lookup, and each page takes five more bytes. Owner thread only.
class ClassedIndex {
 public:
  // The gate must outlive this index. When a class gets its first page of a host, the index asks
  // the gate when the host is free.
  explicit ClassedIndex(const HostGate& hosts) : gate_(hosts) {}

  void GrowTo(size_t pages, size_t hosts) { common_.GrowTo(pages, hosts); }
  // Puts the page into this class, and removes it from any other.
  void Put(PageId page, const IndexEntry& entry, CrawlClass crawl_class);
  // Moves a page of the index to the class. Returns true if it was in another class. `suspended`:
  // true if the page is suspended.
  bool Move(PageId page, CrawlClass crawl_class, bool suspended);
  void Remove(PageId page);
  void Suspend(PageId page);
  void Resume(PageId page);
  void SetHostFree(HostId host, Instant free_at);
  void SetHostGroup(HostId host, GroupId group);
  void SetGroupFree(GroupId group, Instant free_at);
  // The best page of these classes at `at`, which must not be earlier than in the previous call.
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
  // The class of the page; 0 also if the page is not in the index.
  [[nodiscard]] CrawlClass ClassOf(PageId page) const {
    return IsNumbered(page) ? static_cast<CrawlClass>(classes_->of_page[page.value()] - 1)
                            : CrawlClass{0};
  }

 private:
  struct Classes {
    // The class + 1; 0 = not in an index, or in the common index.
    SegmentedArray<uint8_t> of_page;
    // The page's id in the index of its class, unless it is in the common index.
    SegmentedArray<PageId> number;
    // By HostId: the classes whose index knows the host.
    SegmentedArray<ClassSet> of_host;
    // By class. Unused for class 0, which has the common index.
    std::array<std::unique_ptr<NumberedIndex>, limits::kMaxCrawlClasses> by_class;
    ClassSet some = 0;  // classes that have an index
  };

  template <typename Of>
  [[nodiscard]] uint64_t Sum(Of of) const {
    uint64_t sum = of(common_);
    if (classes_ == nullptr) return sum;
    for (const auto& its : classes_->by_class) sum += its == nullptr ? 0 : of(its->index);
    return sum;
  }
  static_assert(limits::kMaxCrawlClasses < UINT8_MAX);
  // Returns true if the page is in an index that numbers its pages itself.
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
  std::unique_ptr<Classes> classes_;  // nullptr until a page is put into a class other than 0
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CLASSED_INDEX_H_
