#include "core/index/brute_index.h"

#include "core/base/check.h"

namespace freshet {

void BruteIndex::Put(PageId page, const IndexEntry& entry) {
  if (page.value() >= pages_.size()) pages_.resize(page.value() + 1);
  if (!pages_[page.value()]) ++size_;
  pages_[page.value()] = entry;
}

const IndexEntry* BruteIndex::Find(PageId page) const {
  if (page.value() >= pages_.size() || !pages_[page.value()]) return nullptr;
  return &*pages_[page.value()];
}

double BruteIndex::ExponentOf(PageId page, Instant at) const { return ExponentAt(*Find(page), at); }

void BruteIndex::Restart(PageId page, double exponent, Instant since) {
  CHECK(Find(page) != nullptr);
  pages_[page.value()]->exponent = exponent;
  pages_[page.value()]->since = since;
}

void BruteIndex::Remove(PageId page) {
  if (page.value() >= pages_.size() || !pages_[page.value()]) return;
  pages_[page.value()].reset();
  --size_;
}

void BruteIndex::SetHostFree(HostId host, Instant free_at) { free_at_[host] = free_at; }

std::optional<IndexPick> BruteIndex::Best(Instant at) const {
  std::optional<IndexPick> best;
  for (uint32_t i = 0; i < pages_.size(); ++i) {
    if (!pages_[i] || pages_[i]->eligible_from > at) continue;
    const auto host = free_at_.find(pages_[i]->host);
    if (host != free_at_.end() && host->second > at) continue;
    const double value = DecidingValue(*pages_[i], at);
    const bool wins = !best || value > best->value ||
                      (value == best->value &&
                       WaitsLonger(*pages_[i], PageId(i), *pages_[best->page.value()], best->page));
    if (wins) best = IndexPick{PageId(i), value};
  }
  return best;
}

}  // namespace freshet
