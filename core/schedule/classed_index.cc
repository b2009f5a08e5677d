#include "core/schedule/classed_index.h"

#include <bit>

#include "core/base/check.h"

namespace freshet {

void ClassedIndex::Put(PageId page, const IndexEntry& entry, CrawlClass crawl_class) {
  const CrawlClass before = ClassOf(page);
  if (before != crawl_class) Remove(page);
  if (crawl_class == 0) return common_.Put(page, entry);
  PutInClass(page, entry, crawl_class);
}

void ClassedIndex::PutInClass(PageId page, IndexEntry entry, CrawlClass crawl_class) {
  CHECK(crawl_class < limits::kMaxCrawlClasses, "class {}", crawl_class);
  if (classes_ == nullptr) classes_ = std::make_unique<Classes>();
  std::unique_ptr<NumberedIndex>& its = classes_->by_class[crawl_class];
  if (its == nullptr) {
    its = std::make_unique<NumberedIndex>();
    classes_->some |= SetOf(crawl_class);
  }
  classes_->of_page.GrowTo(page.value() + size_t{1});
  classes_->number.GrowTo(page.value() + size_t{1});
  if (classes_->of_page[page.value()] != crawl_class + 1) {
    classes_->of_page[page.value()] = static_cast<uint8_t>(crawl_class + 1);
    classes_->number[page.value()] = its->Number(page);
  }
  entry.host = NumberOfHost(*its, crawl_class, entry.host);
  its->index.Put(NumberOf(page), entry);
}

HostId ClassedIndex::NumberOfHost(NumberedIndex& its, CrawlClass crawl_class, HostId host) {
  const auto [number, first] = its.NumberOf(host);
  if (!first) return number;
  classes_->of_host.GrowTo(host.value() + size_t{1});
  classes_->of_host[host.value()] |= SetOf(crawl_class);
  its.index.SetHostFree(number, gate_.FreeAt(host));
  if (const GroupId group = gate_.host(host).group; group != GroupId()) {
    its.index.SetHostGroup(number, group);
    its.index.SetGroupFree(group, gate_.groups().FreeAt(group));
  }
  return number;
}

bool ClassedIndex::Move(PageId page, CrawlClass crawl_class, bool suspended) {
  if (ClassOf(page) == crawl_class) return false;
  const std::optional<IndexEntry> entry = Find(page);
  if (!entry) return false;
  Put(page, *entry, crawl_class);
  if (suspended) Suspend(page);
  return true;
}

void ClassedIndex::Remove(PageId page) {
  if (!IsNumbered(page)) return common_.Remove(page);
  In(page).Remove(NumberOf(page));
  classes_->of_page[page.value()] = 0;
}

void ClassedIndex::Suspend(PageId page) {
  if (!IsNumbered(page)) return common_.Suspend(page);
  In(page).index.Suspend(NumberOf(page));
}

void ClassedIndex::Resume(PageId page) {
  if (!IsNumbered(page)) return common_.Resume(page);
  In(page).index.Resume(NumberOf(page));
}

void ClassedIndex::SetHostFree(HostId host, Instant free_at) {
  common_.SetHostFree(host, free_at);
  if (classes_ == nullptr || host.value() >= classes_->of_host.size()) return;
  for (ClassSet left = classes_->of_host[host.value()]; left != 0; left &= left - 1) {
    NumberedIndex& its = *classes_->by_class[static_cast<size_t>(std::countr_zero(left))];
    its.index.SetHostFree(its.Known(host), free_at);
  }
}

void ClassedIndex::SetHostGroup(HostId host, GroupId group) {
  common_.SetHostGroup(host, group);
  if (classes_ == nullptr || host.value() >= classes_->of_host.size()) return;
  for (ClassSet left = classes_->of_host[host.value()]; left != 0; left &= left - 1) {
    NumberedIndex& its = *classes_->by_class[static_cast<size_t>(std::countr_zero(left))];
    its.index.SetHostGroup(its.Known(host), group);
  }
}

void ClassedIndex::SetGroupFree(GroupId group, Instant free_at) {
  common_.SetGroupFree(group, free_at);
  if (classes_ == nullptr) return;
  for (ClassSet left = classes_->some; left != 0; left &= left - 1) {
    classes_->by_class[static_cast<size_t>(std::countr_zero(left))]->index.SetGroupFree(group,
                                                                                        free_at);
  }
}

std::optional<ClassedPick> ClassedIndex::Best(Instant at, ClassSet among) {
  std::optional<ClassedPick> best;
  if ((among & SetOf(0)) != 0) {
    if (const auto pick = common_.Best(at)) best = ClassedPick{pick->page, pick->value, 0};
  }
  if (classes_ == nullptr) return best;
  for (ClassSet left = among & classes_->some; left != 0; left &= left - 1) {
    const auto crawl_class = static_cast<CrawlClass>(std::countr_zero(left));
    NumberedIndex& its = *classes_->by_class[crawl_class];
    const auto pick = its.index.Best(at);
    if (!pick || (best && pick->value <= best->value)) continue;
    best = ClassedPick{its.PageOf(pick->page), pick->value, crawl_class};
  }
  return best;
}

std::optional<IndexEntry> ClassedIndex::Find(PageId page) const {
  if (!IsNumbered(page)) return common_.Find(page);
  std::optional<IndexEntry> entry = In(page).index.Find(NumberOf(page));
  if (entry) entry->host = HostOf(page);
  return entry;
}

HostId ClassedIndex::HostOf(PageId page) const {
  if (!IsNumbered(page)) return common_.HostOf(page);
  return In(page).HostOf(NumberOf(page));
}

}  // namespace freshet
