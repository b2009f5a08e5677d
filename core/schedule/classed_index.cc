#include "core/schedule/classed_index.h"

#include <bit>

#include "core/base/check.h"

namespace freshet {

void ClassedIndex::Put(PageId page, const IndexEntry& entry, CrawlClass crawl_class) {
  const CrawlClass before = ClassOf(page);
  if (before != crawl_class) Remove(page);
  if (crawl_class == 0 && !few_) return common_.Put(page, entry);
  PutInClass(page, entry, crawl_class);
}

void ClassedIndex::PutInClass(PageId page, IndexEntry entry, CrawlClass crawl_class) {
  CHECK(crawl_class < limits::kMaxCrawlClasses, "class {}", crawl_class);
  if (classes_ == nullptr) classes_ = std::make_unique<Classes>();
  std::unique_ptr<Class>& its = classes_->by_class[crawl_class];
  if (its == nullptr) {
    its = std::make_unique<Class>();
    classes_->some |= SetOf(crawl_class);
  }
  classes_->of_page.GrowTo(page.value() + size_t{1});
  classes_->number.GrowTo(page.value() + size_t{1});
  if (classes_->of_page[page.value()] != crawl_class + 1) {
    PageId number(static_cast<uint32_t>(its->pages.size()));
    if (its->free.empty()) {
      its->pages.push_back(page);
    } else {
      number = its->free.back();
      its->free.pop_back();
      its->pages[number.value()] = page;
    }
    classes_->of_page[page.value()] = static_cast<uint8_t>(crawl_class + 1);
    classes_->number[page.value()] = number;
  }
  entry.host = NumberOfHost(*its, crawl_class, entry.host);
  its->index.Put(NumberOf(page), entry);
}

HostId ClassedIndex::NumberOfHost(Class& its, CrawlClass crawl_class, HostId host) {
  const HostId next(static_cast<uint32_t>(its.hosts.size()));
  const auto [it, first] = its.numbers.try_emplace(host, next);
  if (!first) return it->second;
  its.hosts.push_back(host);
  classes_->of_host.GrowTo(host.value() + size_t{1});
  classes_->of_host[host.value()] |= SetOf(crawl_class);
  its.index.SetHostFree(next, gate_.FreeAt(host));
  if (const GroupId group = gate_.GroupIdOf(host); group != GroupId() && !few_) {
    its.index.SetHostGroup(next, group);
    its.index.SetGroupFree(group, gate_.groups().FreeAt(group));
  }
  return next;
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
  Class& its = In(page);
  const PageId number = NumberOf(page);
  its.index.Remove(number);
  its.free.push_back(number);
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
  if (!few_) common_.SetHostFree(host, free_at);
  if (classes_ == nullptr || host.value() >= classes_->of_host.size()) return;
  for (ClassSet left = classes_->of_host[host.value()]; left != 0; left &= left - 1) {
    Class& its = *classes_->by_class[static_cast<size_t>(std::countr_zero(left))];
    its.index.SetHostFree(its.numbers.at(host), free_at);
  }
}

void ClassedIndex::SetHostGroup(HostId host, GroupId group) {
  if (!few_) common_.SetHostGroup(host, group);
  if (classes_ == nullptr || host.value() >= classes_->of_host.size()) return;
  for (ClassSet left = classes_->of_host[host.value()]; left != 0; left &= left - 1) {
    Class& its = *classes_->by_class[static_cast<size_t>(std::countr_zero(left))];
    its.index.SetHostGroup(its.numbers.at(host), group);
  }
}

void ClassedIndex::SetGroupFree(GroupId group, Instant free_at) {
  if (!few_) common_.SetGroupFree(group, free_at);
  if (classes_ == nullptr) return;
  for (ClassSet left = classes_->some; left != 0; left &= left - 1) {
    classes_->by_class[static_cast<size_t>(std::countr_zero(left))]->index.SetGroupFree(group,
                                                                                        free_at);
  }
}

std::optional<ClassedPick> ClassedIndex::Best(Instant at, ClassSet among) {
  std::optional<ClassedPick> best;
  if ((among & SetOf(0)) != 0 && !few_) {
    if (const auto pick = common_.Best(at)) best = ClassedPick{pick->page, pick->value, 0};
  }
  if (classes_ == nullptr) return best;
  for (ClassSet left = among & classes_->some; left != 0; left &= left - 1) {
    const auto crawl_class = static_cast<CrawlClass>(std::countr_zero(left));
    Class& its = *classes_->by_class[crawl_class];
    const auto pick = its.index.Best(at);
    if (!pick || (best && pick->value <= best->value)) continue;
    best = ClassedPick{its.pages[pick->page.value()], pick->value, crawl_class};
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
  const Class& its = In(page);
  return its.hosts[its.index.HostOf(NumberOf(page)).value()];
}

}  // namespace freshet
