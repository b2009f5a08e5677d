// Exact argmax of the crawl value without touching all pages.
//
// The value of the page picked, the price, moves slowly. So a page whose value is below a claim a
// little under the price cannot be picked: it sleeps until the earliest instant at which its value
// can reach the claim (core/model/crossing.h). The others are awake, in a heap on an upper bound of
// their value that holds until a horizon.
//
// Invariants, for the instants asked for so far and any later one:
//  1. A sleeping page wakes no later than the instant at which its value reaches the claim in force
//     when it went to sleep; the claim in force now is at least that one, or the page was seen
//     again.
//  2. The bound of an awake page is at least its value at every instant up to the horizon.
//  3. A pick is only answered when its exact value is at least the claim and at least every other
//     bound; else the claim is lowered by a scan of all pages.
//  4. A parked page belongs to a host that is not free; it is awake again when the host is.
// Hence the answer is what a full scan would give (BruteIndex is the twin that tests compare with).
//
// Cost: a pick evaluates the pages at the top of the heap; the bounds are renewed when that has
// cost as much as renewing them; a scan happens when the price has fallen by more than the claim's
// margin.
#ifndef FRESHET_CORE_INDEX_PRICE_INDEX_H_
#define FRESHET_CORE_INDEX_PRICE_INDEX_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <vector>

#include "core/index/index_entry.h"

namespace freshet {

// Owner thread only.
class PriceIndex {
 public:
  // Adds or replaces a page. One that is withheld stays so.
  void Put(PageId page, const IndexEntry& entry);
  // A crawl or a signal: the exponent is `exponent` at `since`, all else as it was put.
  // Precondition: the page is in.
  void Restart(PageId page, double exponent, Instant since);
  // Takes the page out; no-op when it is not in.
  void Remove(PageId page);
  // Takes the page out of competition, its record stays: no pick until Offer. For pages that are
  // being crawled. Precondition of both: the page is in.
  void Withhold(PageId page);
  void Offer(PageId page);
  // The pages of `host` are eligible from `free_at` on (infinite: until told otherwise). Hosts that
  // were never named are free.
  void SetHostFree(HostId host, Instant free_at);

  // The page of highest deciding value among those that are eligible at `at`; of equal values the
  // one that has waited longest. Leaves it in. `at` must not be earlier than in the call before.
  [[nodiscard]] std::optional<IndexPick> Best(Instant at);

  // The canonical form of what was put and restarted, also while the page is withheld; none: not
  // in.
  [[nodiscard]] std::optional<IndexEntry> Find(PageId page) const;
  // Precondition: the page is in.
  [[nodiscard]] double ExponentOf(PageId page, Instant at) const;
  // Pages that are in, withheld ones too.
  [[nodiscard]] size_t size() const { return size_; }
  // Exact evaluations and full scans so far, for benchmarks.
  [[nodiscard]] uint64_t evaluations() const { return evaluations_; }
  [[nodiscard]] uint64_t scans() const { return scans_; }

 private:
  enum class Place : uint8_t { kNone, kAsleep, kAwake, kParked, kWithheld };
  struct Page {
    IndexEntry entry;
    ValueParameters value;
    uint32_t version = 0;  // of the last filing; older entries in queues are void
    Place place = Place::kNone;
  };
  struct Wake {
    Instant at;
    PageId page;
    uint32_t version;
    bool operator>(const Wake& other) const { return at > other.at; }
  };
  struct Awake {
    double bound;
    Instant waiting_since;
    PageId page;
    uint32_t version;
    // Max-heap: the larger bound on top, of equal ones the page that has waited longer.
    bool operator<(const Awake& other) const {
      if (bound != other.bound) return bound < other.bound;
      if (waiting_since != other.waiting_since) return waiting_since > other.waiting_since;
      return page > other.page;
    }
  };
  struct Host {
    Instant free_at;
    std::vector<std::pair<PageId, uint32_t>> parked;
  };
  struct HostWake {
    Instant at;
    HostId host;
    bool operator>(const HostWake& other) const { return at > other.at; }
  };

  template <typename T>
  using MinQueue = std::priority_queue<T, std::vector<T>, std::greater<T>>;

  [[nodiscard]] bool Current(PageId page, uint32_t version) const;
  [[nodiscard]] Instant HostFreeAt(HostId host) const;
  // Puts the page where it belongs at the current instant.
  void File(PageId page);
  [[nodiscard]] double BoundUntilHorizon(const Page& page) const;
  void WakeDue();
  void RenewBounds();
  // False only if the page cannot win against `best` at the current instant.
  [[nodiscard]] bool MayBeat(const Awake& awake, const IndexPick& best) const;
  // The best of the awake pages, or none if nothing awake is eligible.
  std::optional<IndexPick> BestAwake();
  // Evaluates every page, sets the claim below the best eligible one and files all anew.
  std::optional<IndexPick> Scan();
  void NotePrice(double price);

  std::vector<Page> pages_;  // by PageId
  std::vector<Host> hosts_;  // by HostId
  MinQueue<Wake> asleep_;
  MinQueue<HostWake> host_wakes_;
  std::vector<Awake> awake_;  // a heap
  std::vector<Awake> examined_;
  size_t size_ = 0;
  Instant now_;
  Instant horizon_;
  Instant last_renewal_;
  // Nothing is eligible before this instant unless something changes.
  Instant barren_until_;
  double claim_ = 0;
  double lowest_price_ = 0;         // of this window of picks
  double lowest_price_before_ = 0;  // of the window before
  uint64_t picks_in_window_ = 0;
  uint64_t examined_since_renewal_ = 0;
  uint64_t evaluations_ = 0;
  uint64_t scans_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_PRICE_INDEX_H_
