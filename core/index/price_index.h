// Exact argmax of the crawl value without touching all pages.
//
// The value of the page picked, the price, moves slowly. So a page whose value is below a wake
// threshold a little under the price cannot be picked: it sleeps in a timer wheel until the
// earliest time at which it can reach the wake threshold, for any moves of the wake threshold
// meanwhile (WakeWheel). Pages above the wake threshold are awake and compete by upper bounds,
// which a few evaluations make exact (AwakeBand). Pages whose value stands still, or creeps towards
// the wake threshold, and awake pages of hosts that are not free wait in heaps under a bound
// (BoundPools).
//
// docs/index.md says why no page can be missed, docs/index-proofs.md derives the bounds.
#ifndef FRESHET_CORE_INDEX_PRICE_INDEX_H_
#define FRESHET_CORE_INDEX_PRICE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/units.h"
#include "core/index/index_entry.h"

namespace freshet {

// The index. Pages are filed at the first pick, so that loading many costs little and needs no
// guess of the price. 38 bytes a page, and 5 to 9 in the wheels. No call allocates in steady state.
// Owner thread only.
class PriceIndex {
 public:
  PriceIndex();
  ~PriceIndex();
  PriceIndex(const PriceIndex&) = delete;
  PriceIndex& operator=(const PriceIndex&) = delete;

  // Makes room for these numbers of ids. Put and SetHostFree would make all missing room at once.
  void GrowTo(size_t pages, size_t hosts);
  // Adds or replaces a page; the entry need not be canonical. A suspended page stays so.
  void Put(PageId page, const IndexEntry& entry);
  // Applies a crawl or a signal: sets the exponent to `exponent` at `since`, and keeps the rest of
  // the entry. Precondition: the page is in.
  void Restart(PageId page, double exponent, Instant since);
  // Takes the page out; no-op if it is not in.
  void Remove(PageId page);
  // Takes the page, which is being crawled, out of competition until Resume; its record stays.
  // Precondition of both: the page is in.
  void Suspend(PageId page);
  void Resume(PageId page);
  // Makes the pages of `host` eligible from `free_at` on (infinite = until told otherwise). Hosts
  // that were never named are free. Cost: a few heap operations, for any number of pages.
  void SetHostFree(HostId host, Instant free_at);
  // Makes the pages of the host eligible only while its group is free, too; group 0 = none.
  void SetHostGroup(HostId host, GroupId group);
  // Lets the hosts of the group be free from `free_at` on (infinite = until told otherwise). Groups
  // that were never named are free. Cost: as above, for any number of hosts. Precondition: not
  // group 0.
  void SetGroupFree(GroupId group, Instant free_at);

  // The page of highest deciding value among those eligible at `at`; among equal values the page
  // that has waited longest. The page stays in. `at` must not be earlier than in the call before.
  // If more than some thousands of pages and hosts become eligible at one instant, the next calls
  // handle the others. If more than some hundreds of pages of a host have values equal to within
  // 2^-7, the page is one of these.
  [[nodiscard]] std::optional<IndexPick> Best(Instant at);

  // The canonical entry of the page, also while suspended; nullopt = not in. An eligible_from that
  // had passed at Put reads as none.
  [[nodiscard]] std::optional<IndexEntry> Find(PageId page) const;
  // Precondition of these: the page is in.
  [[nodiscard]] HostId HostOf(PageId page) const;
  [[nodiscard]] double ExponentOf(PageId page, Instant at) const;
  // Pages in the index, suspended ones too.
  [[nodiscard]] size_t size() const;
  // Pages that compete, exact evaluations so far, entries of wheels (of pages that left, too).
  [[nodiscard]] size_t awake() const;
  [[nodiscard]] uint64_t evaluations() const;
  [[nodiscard]] uint64_t entries() const;
  // Alarms of pages that wait for an instant, some stale ones included.
  [[nodiscard]] size_t alarms() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_PRICE_INDEX_H_
