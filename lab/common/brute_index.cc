#include "lab/common/brute_index.h"

#include "core/base/check.h"

namespace freshet {

bool BruteIndex::Has(PageId page) const {
  return page.value() < pages_.size() && pages_[page.value()].in;
}

void BruteIndex::Put(PageId page, const IndexEntry& entry) {
  if (page.value() >= pages_.size()) pages_.resize(page.value() + 1);
  Page& slot = pages_[page.value()];
  if (!slot.in) {
    ++size_;
    slot.suspended = false;
  }
  slot.in = true;
  slot.entry = Canonical(entry);
  slot.value = freshet::ValueOf(slot.entry);
}

std::optional<IndexEntry> BruteIndex::Find(PageId page) const {
  if (!Has(page)) return std::nullopt;
  return pages_[page.value()].entry;
}

double BruteIndex::ExponentOf(PageId page, Instant at) const {
  CHECK(Has(page));
  return ExponentAt(pages_[page.value()].entry, pages_[page.value()].value, at);
}

double BruteIndex::ValueOf(PageId page, Instant at) const {
  CHECK(Has(page));
  return DecidingValue(pages_[page.value()].entry, pages_[page.value()].value, at);
}

void BruteIndex::Restart(PageId page, double exponent, Instant since) {
  CHECK(Has(page));
  IndexEntry& entry = pages_[page.value()].entry;
  entry.exponent = exponent;
  entry.since = since;
  entry = Canonical(entry);
}

void BruteIndex::Remove(PageId page) {
  if (!Has(page)) return;
  pages_[page.value()].in = false;
  --size_;
}

void BruteIndex::Suspend(PageId page) {
  CHECK(Has(page));
  pages_[page.value()].suspended = true;
}

void BruteIndex::Resume(PageId page) {
  CHECK(Has(page));
  pages_[page.value()].suspended = false;
}

void BruteIndex::SetHostFree(HostId host, Instant free_at) { free_at_[host] = free_at; }

void BruteIndex::SetHostGroup(HostId host, GroupId group) { group_of_[host] = group; }

void BruteIndex::SetGroupFree(GroupId group, Instant free_at) { group_free_at_[group] = free_at; }

bool BruteIndex::Free(HostId host, Instant at) const {
  const auto own = free_at_.find(host);
  if (own != free_at_.end() && own->second > at) return false;
  const auto group = group_of_.find(host);
  if (group == group_of_.end()) return true;
  const auto shared = group_free_at_.find(group->second);
  return shared == group_free_at_.end() || shared->second <= at;
}

std::optional<IndexPick> BruteIndex::Best(Instant at) const {
  std::optional<IndexPick> best;
  for (uint32_t i = 0; i < pages_.size(); ++i) {
    const Page& page = pages_[i];
    if (!page.in || page.suspended || page.entry.eligible_from > at) continue;
    if (!Free(page.entry.host, at)) continue;
    const double value = DecidingValue(page.entry, page.value, at);
    const bool wins =
        !best || value > best->value ||
        (value == best->value &&
         WaitsLonger(page.entry, PageId(i), pages_[best->page.value()].entry, best->page));
    if (wins) best = IndexPick{PageId(i), value};
  }
  return best;
}

}  // namespace freshet
