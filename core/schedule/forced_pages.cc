#include "core/schedule/forced_pages.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/check.h"

namespace freshet {
namespace {

// Each step forgets up to this many hosts of dropped lots. This is more than one step can add, so
// hosts are forgotten faster than they are added.
constexpr size_t kHostsForgottenAtATime = 64;

}  // namespace

// --- Lots ---

ForcedPages::LotId ForcedPages::LotOf(CrawlIndex crawl) {
  const bool classed = ClassOf(crawl) != 0;
  const uint64_t owner = OwnerOf(TurnOf(crawl));
  const uint64_t held = shares_.held(owner);
  const auto own = of_crawl_.find(crawl);
  const bool has_one = own != of_crawl_.end();
  if (has_one && (classed || !lots_[own->second]->over)) return own->second;
  const bool left = !has_one && ShareLeft(held, shares_.taken(), shares_.most()) > 0;
  if (left || (classed && !has_one)) return MakeLot(crawl, owner, !left);
  return SharedLotOf(held > 0 ? owner : 0);
}

ForcedPages::LotId ForcedPages::MakeLot(std::optional<CrawlIndex> crawl, uint64_t owner,
                                        bool over) {
  if (free_.empty()) {
    free_.push_back(static_cast<LotId>(lots_.size()));
    lots_.emplace_back();
  }
  const LotId lot = free_.back();
  free_.pop_back();
  lots_[lot] = std::make_unique<Lot>();
  lots_[lot]->crawl = crawl;
  lots_[lot]->owner = owner;
  lots_[lot]->over = over;
  if (crawl) {
    shares_.Take(owner);
    of_crawl_[*crawl] = lot;
  } else {
    shared_[owner] = lot;
  }
  return lot;
}

ForcedPages::LotId ForcedPages::SharedLotOf(uint64_t owner) {
  const auto its = shared_.find(owner);
  return its != shared_.end() ? its->second : MakeLot(std::nullopt, owner, /*over=*/false);
}

void ForcedPages::DropLot(LotId number) {
  const Lot& lot = *lots_[number];
  CHECK(lot.its.index.size() == 0, "lot {} has {} pages", number, lot.its.index.size());
  if (lot.crawl) {
    shares_.Give(lot.owner);
    of_crawl_.erase(*lot.crawl);
  } else {
    shared_.erase(lot.owner);
  }
  emptied_.emplace_back(number, lot.its.hosts().size());
  ForgetSomeHosts();
}

void ForcedPages::ForgetSomeHosts() {
  if (emptied_.empty()) return;
  const LotId number = emptied_.back().first;
  const std::vector<HostId>& hosts = lots_[number]->its.hosts();
  size_t left = emptied_.back().second;
  for (size_t steps = std::min(left, kHostsForgottenAtATime); steps > 0; --steps) {
    const HostId host = hosts[--left];
    std::vector<LotId>* const lots = of_host_.Find(host);
    std::erase(*lots, number);
    if (lots->empty()) of_host_.Erase(host);
  }
  emptied_.back().second = left;
  if (left > 0) return;
  lots_[number] = nullptr;
  free_.push_back(number);
  emptied_.pop_back();
}

// --- Pages and hosts ---

void ForcedPages::Put(PageId page, const IndexEntry& entry) {
  ForgetSomeHosts();
  const LotId lot = LotOf(CrawlOf(page));
  if (Has(page) && LotOf(page) != lot) Remove(page);
  lot_of_.GrowTo(page.value() + size_t{1});
  number_.GrowTo(page.value() + size_t{1});
  NumberedIndex& its = lots_[lot]->its;
  if (!Has(page)) {
    lot_of_[page.value()] = static_cast<LotId>(lot + 1);
    number_[page.value()] = its.Number(page);
  }
  IndexEntry numbered = entry;
  numbered.host = NumberOfHost(lot, entry.host);
  its.index.Put(NumberOf(page), numbered);
  FollowDomain(*lots_[lot], entry.host, numbered.host);
}

HostId ForcedPages::NumberOfHost(LotId lot, HostId host) {
  const auto [number, first] = lots_[lot]->its.NumberOf(host);
  if (!first) return number;
  of_host_.Add(host, {}).first->push_back(lot);
  lots_[lot]->its.index.SetHostFree(number, gate_.FreeAt(host));
  return number;
}

void ForcedPages::FollowDomain(Lot& lot, HostId host, HostId number) {
  const GroupId domain = gate_.host(host).domain;
  if (domain == GroupId()) return;
  const GroupId next(static_cast<uint32_t>(lot.domains.size() + 1));
  lot.its.index.SetHostGroup(number, lot.domains.try_emplace(domain, next).first->second);
}

void ForcedPages::Move(PageId page, bool suspended) {
  if (!Has(page) || LotOf(page) == LotOf(CrawlOf(page))) return;
  std::optional<IndexEntry> entry = In(page).its.index.Find(NumberOf(page));
  CHECK(entry, "page {} is in no index", page.value());
  entry->host = HostOf(page);
  Put(page, *entry);
  if (suspended) Suspend(page);
}

void ForcedPages::Remove(PageId page) {
  const LotId lot = LotOf(page);
  NumberedIndex& its = lots_[lot]->its;
  its.Remove(NumberOf(page));
  lot_of_[page.value()] = 0;
  if (its.index.size() == 0) DropLot(lot);
}

void ForcedPages::SetHostFree(HostId host, Instant free_at) {
  const std::vector<LotId>* const lots = of_host_.Find(host);
  if (lots == nullptr) return;
  for (const LotId lot : *lots) {
    NumberedIndex& its = lots_[lot]->its;
    its.index.SetHostFree(its.Known(host), free_at);
  }
}

// --- Turns ---

std::optional<PageId> ForcedPages::BestOf(Lot& lot, Instant at) {
  auto best = lot.its.index.Best(at);
  if (!best && !lot.had_turn.empty()) {
    const bool passes = lot.passed_over_at == at;
    const auto freed = absl::erase_if(lot.had_turn, [&](GroupId domain) {
      if (passes && lot.passed_over.contains(domain)) return false;
      lot.its.index.SetGroupFree(domain, at);
      return true;
    });
    if (freed > 0) best = lot.its.index.Best(at);
  }
  if (!best) return std::nullopt;
  return lot.its.PageOf(best->page);
}

std::optional<ClassedPick> ForcedPages::Best(Instant at, ClassSet among) {
  ForgetSomeHosts();
  std::optional<ClassedPick> best;
  ForcedTurns::Rank first;
  for (const std::unique_ptr<Lot>& lot : lots_) {
    if (lot == nullptr || lot->its.index.size() == 0) continue;
    const CrawlClass crawl_class = ClassOf(*lot);
    if ((among & SetOf(crawl_class)) == 0) continue;
    // A turn of the crawl id without a domain, forced since the earliest instant, ranks no later
    // than any page of the lot. If even this turn does not rank before the best page so far, the
    // lot is skipped.
    if (best && lot->crawl) {
      ForcedTurn earliest = TurnOf(*lot->crawl);
      earliest.since = Instant();
      if (!(turns_.Of(earliest) < first)) continue;
    }
    const std::optional<PageId> page = BestOf(*lot, at);
    if (!page) continue;
    const ForcedTurns::Rank rank = turns_.Of(TurnOf(*page));
    if (best && !(rank < first)) continue;
    best = ClassedPick{*page, std::numeric_limits<double>::infinity(), crawl_class};
    first = rank;
  }
  return best;
}

ForcedTurn ForcedPages::TurnOf(PageId page) const {
  ForcedTurn turn = TurnOf(CrawlOf(page));
  turn.domain = gate_.host(HostOf(page)).domain;
  turn.since = In(page).its.index.Find(NumberOf(page))->forced_at;
  return turn;
}

void ForcedPages::TakeTurn(PageId page) {
  const ForcedTurn turn = TurnOf(page);
  turns_.Note(turn);
  EndTurn(In(page), turn.domain);
  // In a shared lot, only domains take turns, not the crawl ids that share it. So a pick also ends
  // the domain's turn in all shared lots.
  for (const auto& [owner, lot] : shared_) EndTurn(*lots_[lot], turn.domain);
}

void ForcedPages::PassOver(PageId page, Instant at) {
  Lot& lot = In(page);
  const GroupId domain = gate_.host(HostOf(page)).domain;
  EndTurn(lot, domain);
  if (lot.passed_over_at != at) lot.passed_over.clear();
  lot.passed_over_at = at;
  const auto number = lot.domains.find(domain);
  if (number != lot.domains.end()) lot.passed_over.insert(number->second);
}

void ForcedPages::EndTurn(Lot& lot, GroupId domain) {
  const auto number = lot.domains.find(domain);
  if (number == lot.domains.end()) return;
  lot.its.index.SetGroupFree(number->second, Instant::Infinite());
  lot.had_turn.insert(number->second);
}

}  // namespace freshet
