// Pages that are forced now or will be forced later. A forced page must be crawled whatever its
// value.
//
// Each crawl id with forced pages has a lot: an index whose best page is the one that has been
// forced the longest. The host groups inside a lot are domains. When a page of a domain has been
// picked, the domain is blocked until no other domain of the lot has a page to pick. Between lots,
// the counts of recent turns decide (core/schedule/forced_turns.h). Clients share the lots as they
// share the places of other tables (core/base/shares.h). If a crawl id gets no lot and its client
// has lots, the crawl id shares an additional lot with other crawl ids of the client. If the client
// has no lot, the crawl id shares a lot with the crawl ids of all clients without lots.
#ifndef FRESHET_CORE_SCHEDULE_FORCED_PAGES_H_
#define FRESHET_CORE_SCHEDULE_FORCED_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/base/parted_map.h"
#include "core/base/segmented_array.h"
#include "core/base/shares.h"
#include "core/base/units.h"
#include "core/schedule/classed_index.h"
#include "core/schedule/crawl_table.h"
#include "core/schedule/forced_turns.h"
#include "core/schedule/host_gate.h"
#include "core/schedule/numbered_index.h"

namespace freshet {

// Owner thread only. Takes six bytes for each page of the shard, and about 30 KB per lot.
class ForcedPages {
 public:
  // Max lots for crawl ids of class 0. In addition, each other class has one lot, and so does each
  // client whose crawl ids share one.
  static constexpr uint64_t kMostLots = 256;

  // Both arguments must outlive this object, and must know every page before the page is put.
  // `crawls`: nullptr = all pages have the same crawl id.
  ForcedPages(const HostGate& hosts, const CrawlTable* crawls) : gate_(hosts), crawls_(crawls) {}
  ForcedPages(const ForcedPages&) = delete;
  ForcedPages& operator=(const ForcedPages&) = delete;

  // Adds or replaces a page. A suspended page stays suspended, unless the page changes its lot.
  void Put(PageId page, const IndexEntry& entry);
  [[nodiscard]] bool Has(PageId page) const {
    return page.value() < lot_of_.size() && lot_of_[page.value()] != 0;
  }
  // Moves the page to the lot of its crawl id, which might have changed. `suspended`: true if the
  // page is suspended.
  void Move(PageId page, bool suspended);
  // Precondition for the functions below, up to HostOf: the page is in a lot.
  void Remove(PageId page);
  void Suspend(PageId page) { In(page).its.index.Suspend(NumberOf(page)); }
  void Resume(PageId page) { In(page).its.index.Resume(NumberOf(page)); }
  [[nodiscard]] HostId HostOf(PageId page) const { return In(page).its.HostOf(NumberOf(page)); }
  // Sets the instant from which the host is free, as PriceIndex::SetHostFree does.
  void SetHostFree(HostId host, Instant free_at);

  // The page to pick next, among forced pages whose crawl ids are of these classes. `at` must not
  // be earlier than in the previous call. Cost: at most one index call for each lot with a page.
  [[nodiscard]] std::optional<ClassedPick> Best(Instant at, ClassSet among);
  // The turn that the page takes (core/schedule/forced_turns.h) when it is picked.
  [[nodiscard]] ForcedTurn TurnOf(PageId page) const;
  // Ends the turn of the page's domain in its lot, although no page was picked. For this `at`, Best
  // then picks no page of the domain in this lot, even if no other domain has a page.
  void PassOver(PageId page, Instant at);
  // Counts the turn of the page, and ends the turn of its domain.
  void TakeTurn(PageId page);

  [[nodiscard]] size_t lots() const { return lots_.size() - free_.size() - emptied_.size(); }
  // The number of hosts that any lot lists. The hosts of a dropped lot are removed from the list in
  // small batches.
  [[nodiscard]] size_t hosts() const { return of_host_.size(); }

 private:
  using LotId = uint16_t;
  struct Lot {
    NumberedIndex its;
    std::optional<CrawlIndex> crawl;  // nullopt = shared by crawl ids without a lot
    uint64_t owner = 0;               // client of the lot; 0 = all clients without a lot
    bool over = false;                // exceeds kMostLots, because its crawl id has a class
    absl::flat_hash_map<GroupId, GroupId> domains;  // from a domain to its group number in this lot
    absl::flat_hash_set<GroupId> had_turn;          // groups of domains that have taken their turn
    // The domains that PassOver passed over at `passed_over_at`. They are in `had_turn`, too.
    absl::flat_hash_set<GroupId> passed_over;
    Instant passed_over_at;
  };

  // All crawl ids without a client share the client number 1.
  static uint64_t OwnerOf(const ForcedTurn& turn) { return turn.owner == 0 ? 1 : turn.owner; }
  [[nodiscard]] CrawlIndex CrawlOf(PageId page) const {
    return crawls_ == nullptr ? CrawlIndex() : crawls_->Of(page);
  }
  [[nodiscard]] CrawlClass ClassOf(CrawlIndex crawl) const {
    return crawls_ == nullptr ? CrawlClass{0} : (*crawls_)[crawl].crawl_class();
  }
  [[nodiscard]] ForcedTurn TurnOf(CrawlIndex crawl) const {
    return crawls_ == nullptr ? ForcedTurn() : (*crawls_)[crawl].turn();
  }
  [[nodiscard]] CrawlClass ClassOf(const Lot& lot) const {
    return lot.crawl ? ClassOf(*lot.crawl) : CrawlClass{0};
  }
  // Precondition for LotOf, In and NumberOf: the page is in a lot.
  [[nodiscard]] LotId LotOf(PageId page) const {
    return static_cast<LotId>(lot_of_[page.value()] - 1);
  }
  [[nodiscard]] Lot& In(PageId page) { return *lots_[LotOf(page)]; }
  [[nodiscard]] const Lot& In(PageId page) const { return *lots_[LotOf(page)]; }
  [[nodiscard]] PageId NumberOf(PageId page) const { return number_[page.value()]; }
  // The lot of the crawl id. Makes one if needed.
  [[nodiscard]] LotId LotOf(CrawlIndex crawl);
  [[nodiscard]] LotId MakeLot(std::optional<CrawlIndex> crawl, uint64_t owner, bool over);
  [[nodiscard]] LotId SharedLotOf(uint64_t owner);
  // Withdraws the lot from its crawl ids. Its number is reused once its hosts are forgotten
  // (ForgetSomeHosts). Precondition: the lot has no pages.
  void DropLot(LotId lot);
  // Removes some hosts of the last dropped lot from of_host_. When none is left, frees the lot's
  // number.
  void ForgetSomeHosts();
  [[nodiscard]] HostId NumberOfHost(LotId lot, HostId host);
  void FollowDomain(Lot& lot, HostId host, HostId number);
  // Ends the turn of the domain in the lot. No-op if the domain has no pages there.
  static void EndTurn(Lot& lot, GroupId domain);
  // The best page of the lot; nullopt = none can be picked now. Its domains take turns.
  [[nodiscard]] static std::optional<PageId> BestOf(Lot& lot, Instant at);

  const HostGate& gate_;
  const CrawlTable* const crawls_;
  SegmentedArray<LotId> lot_of_;   // by PageId: the lot + 1; 0 = not in a lot
  SegmentedArray<PageId> number_;  // by PageId: the page's number in its lot
  std::vector<std::unique_ptr<Lot>> lots_;
  std::vector<LotId> free_;
  // Dropped lots, each with the number of its hosts that of_host_ still lists. A lot can have had
  // millions of hosts, too many for one step.
  std::vector<std::pair<LotId, size_t>> emptied_;
  absl::flat_hash_map<CrawlIndex, LotId> of_crawl_;  // crawl ids that have a lot
  absl::flat_hash_map<uint64_t, LotId> shared_;      // shared lots, by owner
  // The lots that list each host.
  PartedMap<HostId, std::vector<LotId>> of_host_;
  Shares shares_{kMostLots};
  ForcedTurns turns_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_FORCED_PAGES_H_
