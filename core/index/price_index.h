// Finds the page with the highest crawl value exactly, without visiting all pages.
//
// The price, which is the value of the picked page, moves slowly. The wake threshold is a value a
// little below the price, so a page whose value is below the threshold cannot be picked. It sleeps
// in a timer wheel until the earliest time at which it can reach the threshold, no matter how the
// threshold moves meanwhile (WakeWheel). Pages above the threshold are awake and compete by upper
// bounds, which a few evaluations make exact (AwakeBand). Other pages wait in heaps under an upper
// bound (BoundPools): pages whose value stands still or approaches the threshold very slowly, and
// awake pages of hosts that are not free.
//
// docs/index.md explains why no page can be missed. docs/index-proofs.md derives the bounds.
#ifndef FRESHET_CORE_INDEX_PRICE_INDEX_H_
#define FRESHET_CORE_INDEX_PRICE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/units.h"
#include "core/index/index_entry.h"

namespace freshet {

// The index. It files pages only at the first pick, so loading many pages is cheap and needs no
// guess of the price. Takes 38 bytes per page, and 5 to 9 more in the wheels. Allocates nothing in
// steady state. Owner thread only.
class PriceIndex {
 public:
  PriceIndex();
  ~PriceIndex();
  PriceIndex(const PriceIndex&) = delete;
  PriceIndex& operator=(const PriceIndex&) = delete;

  // Allocates room for `pages` page ids and `hosts` host ids. Without this call, Put and
  // SetHostFree allocate all missing room at once.
  void GrowTo(size_t pages, size_t hosts);
  // Adds or replaces a page. The entry need not be canonical. A suspended page stays suspended.
  void Put(PageId page, const IndexEntry& entry);
  // Applies a crawl or a signal: sets the exponent to `exponent` at `since`, and keeps the rest of
  // the entry. Precondition: the page is in the index.
  void Restart(PageId page, double exponent, Instant since);
  // Removes the page. No-op if it is not in the index.
  void Remove(PageId page);
  // Suspend keeps a page that is being crawled from being picked until Resume. The index keeps its
  // record. Precondition of both: the page is in the index.
  void Suspend(PageId page);
  void Resume(PageId page);
  // Makes the pages of `host` eligible only from `free_at` on (infinite = not before the next
  // call). Hosts that were never passed to this function are free. Takes a few heap operations for
  // any number of pages.
  void SetHostFree(HostId host, Instant free_at);
  // From now on, the pages of the host are eligible only while its group is free, too. Group 0 = no
  // group.
  void SetHostGroup(HostId host, GroupId group);
  // Makes the pages of the group's hosts eligible only from `free_at` on (infinite = not before the
  // next call). Groups that were never passed to this function are free. Takes a few heap
  // operations for any number of hosts. Precondition: not group 0.
  void SetGroupFree(GroupId group, Instant free_at);

  // Returns the page of highest value (DecidingValue) among those eligible at `at`; among equal
  // values, the page that has waited longest. The page stays in the index. `at` must not be earlier
  // than in the previous call. There are two exceptions to this rule. If more than a few thousand
  // pages and hosts become eligible at one instant, later calls handle the rest of them. If more
  // than a few hundred pages of one host have values equal to within 2^-7, Best returns one of
  // these pages.
  [[nodiscard]] std::optional<IndexPick> Best(Instant at);

  // The canonical entry of the page, even while the page is suspended; nullopt = not in the index.
  // An eligible_from that had already passed at Put reads as none.
  [[nodiscard]] std::optional<IndexEntry> Find(PageId page) const;
  // Precondition of these: the page is in the index.
  [[nodiscard]] HostId HostOf(PageId page) const;
  [[nodiscard]] double ExponentOf(PageId page, Instant at) const;
  // Number of pages in the index, including suspended ones.
  [[nodiscard]] size_t size() const;
  // `awake`: number of awake pages; pages that share a line count once. `evaluations`: number of
  // exact evaluations so far. `entries`: number of entries in the wheels, including those of pages
  // that left.
  [[nodiscard]] size_t awake() const;
  [[nodiscard]] uint64_t evaluations() const;
  [[nodiscard]] uint64_t entries() const;
  // Number of alarms of pages that wait for an instant, including some stale ones.
  [[nodiscard]] size_t alarms() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_PRICE_INDEX_H_
