// The pages that are forced now or will be: to be crawled by an instant, at any value.
//
// Each crawl id with such pages has its own lot, with an index in which the page that is late the
// longest goes first. The groups of hosts in a lot are domains: a domain that had its turn is
// blocked until no other of the lot has a page. Between the lots the turns of all picks decide
// (core/schedule/forced_turns.h). Lots are shared out like other tables of the clients
// (core/base/shares.h); crawl ids that find none share one more lot of their client.
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

// Owner thread only. Six bytes for each page of the shard, and some 30 KB a lot.
class ForcedPages {
 public:
  // Max lots for crawl ids of class 0. Each other class has one more, and so has each client whose
  // crawl ids share one.
  static constexpr uint64_t kMostLots = 256;

  // Both outlive this object, and know every page that is put. `crawls`: nullptr = all pages have
  // one crawl id.
  ForcedPages(const HostGate& hosts, const CrawlTable* crawls) : gate_(hosts), crawls_(crawls) {}
  ForcedPages(const ForcedPages&) = delete;
  ForcedPages& operator=(const ForcedPages&) = delete;

  // Adds or replaces a page. A suspended page stays so, unless Move would move it.
  void Put(PageId page, const IndexEntry& entry);
  [[nodiscard]] bool Has(PageId page) const {
    return page.value() < lot_of_.size() && lot_of_[page.value()] != 0;
  }
  // Moves the page to the lot that its crawl id now has.
  void Move(PageId page, bool suspended);
  // Precondition of these: the page is in.
  void Remove(PageId page);
  void Suspend(PageId page) { In(page).its.index.Suspend(NumberOf(page)); }
  void Resume(PageId page) { In(page).its.index.Resume(NumberOf(page)); }
  [[nodiscard]] HostId HostOf(PageId page) const { return In(page).its.HostOf(NumberOf(page)); }
  // Sets the host free from `free_at` on, as PriceIndex::SetHostFree does.
  void SetHostFree(HostId host, Instant free_at);

  // The page whose turn it is among crawl ids of these classes. `at` must not be earlier than in
  // the call before. Cost: at most an index call for each lot with a page.
  [[nodiscard]] std::optional<ClassedPick> Best(Instant at, ClassSet among);
  // The turn that the page takes.
  [[nodiscard]] ForcedTurn TurnOf(PageId page) const;
  // Ends the turn of the page's domain in its lot, although no page was taken.
  void PassOver(PageId page) { EndTurn(In(page), gate_.host(HostOf(page)).domain); }
  // Takes the page in its turn.
  void TakeTurn(PageId page);

  [[nodiscard]] size_t lots() const { return lots_.size() - free_.size() - emptied_.size(); }
  // Hosts that a lot lists. A step takes only some hosts of a lot without pages out of this list.
  [[nodiscard]] size_t hosts() const { return of_host_.size(); }

 private:
  using LotId = uint16_t;
  struct Lot {
    NumberedIndex its;
    std::optional<CrawlIndex> crawl;  // nullopt = for crawl ids of the owner without their own lot
    uint64_t owner = 0;               // the client for which the lot counts; 0 = for none
    bool over = false;                // made beyond kMostLots, for the class of its crawl id
    absl::flat_hash_map<GroupId, GroupId> domains;  // numbered, so that few take little memory
    absl::flat_hash_set<GroupId> had_turn;          // domains that had their turn
  };

  // Crawl ids that count for nobody belong to one client together.
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
  // Precondition of these: the page is in.
  [[nodiscard]] LotId LotOf(PageId page) const {
    return static_cast<LotId>(lot_of_[page.value()] - 1);
  }
  [[nodiscard]] Lot& In(PageId page) { return *lots_[LotOf(page)]; }
  [[nodiscard]] const Lot& In(PageId page) const { return *lots_[LotOf(page)]; }
  [[nodiscard]] PageId NumberOf(PageId page) const { return number_[page.value()]; }
  // The lot of the crawl id, perhaps a new one.
  [[nodiscard]] LotId LotOf(CrawlIndex crawl);
  [[nodiscard]] LotId MakeLot(std::optional<CrawlIndex> crawl, uint64_t owner, bool over);
  [[nodiscard]] LotId SharedLotOf(uint64_t owner);
  // Takes the lot from its crawl ids. Precondition: the lot has no pages.
  void DropLot(LotId lot);
  // Takes some hosts of the last dropped lot out of of_host_, and frees the lot after the last one.
  void ForgetSomeHosts();
  [[nodiscard]] HostId NumberOfHost(LotId lot, HostId host);
  void FollowDomain(Lot& lot, HostId host, HostId number);
  // Ends the turn of the domain in the lot, if it has pages there.
  static void EndTurn(Lot& lot, GroupId domain);
  // The best page of the lot; domains take turns. A lot without pages has none.
  [[nodiscard]] static std::optional<PageId> BestOf(Lot& lot, Instant at);

  const HostGate& gate_;
  const CrawlTable* const crawls_;
  SegmentedArray<LotId> lot_of_;   // by PageId, the lot + 1; 0 = not in
  SegmentedArray<PageId> number_;  // number of the page in its lot
  std::vector<std::unique_ptr<Lot>> lots_;
  std::vector<LotId> free_;
  // Dropped lots, and the number of their hosts that of_host_ still lists. A lot may have had
  // millions of hosts, too many for one step.
  std::vector<std::pair<LotId, size_t>> emptied_;
  absl::flat_hash_map<CrawlIndex, LotId> of_crawl_;  // crawl ids with their own lot
  absl::flat_hash_map<uint64_t, LotId> shared_;      // by owner
  PartedMap<HostId, std::vector<LotId>> of_host_;
  Shares shares_{kMostLots};
  ForcedTurns turns_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_FORCED_PAGES_H_
