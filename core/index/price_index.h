// Exact argmax of the crawl value without touching all pages.
//
// The value of the page picked, the price, moves slowly. So a page whose value is below a wake
// threshold a little under the price cannot be picked: it sleeps in a timer wheel until the
// earliest time at which it can reach the wake threshold, whatever the wake threshold does
// meanwhile (WakeWheel). Those that the wake threshold has let through are awake and compete by
// upper bounds that a few evaluations make exact (AwakeBand). Pages whose value stands still, or
// crawls towards the wake threshold, and awake pages of hosts that are not free wait in heaps under
// a bound (BoundPools).
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

// Owner thread only. Pages are filed at the first pick, so that loading many costs little and needs
// no guess of the price; 38 bytes a page, and 5 to 9 in the wheels. No call allocates in steady
// state.
class PriceIndex {
 public:
  PriceIndex();
  ~PriceIndex();
  PriceIndex(const PriceIndex&) = delete;
  PriceIndex& operator=(const PriceIndex&) = delete;

  // Makes room for so many ids. Put and SetHostFree would make all that is missing at once.
  void GrowTo(size_t pages, size_t hosts);
  // Adds or replaces a page; the entry need not be canonical. One that is suspended stays so.
  void Put(PageId page, const IndexEntry& entry);
  // A crawl or a signal: the exponent is `exponent` at `since`, all else as it was put.
  // Precondition: the page is in.
  void Restart(PageId page, double exponent, Instant since);
  // Takes the page out; no-op when it is not in.
  void Remove(PageId page);
  // Takes the page out of competition, its record stays: no pick until Resume. For pages that are
  // being crawled. Precondition of both: the page is in.
  void Suspend(PageId page);
  void Resume(PageId page);
  // The pages of `host` are eligible from `free_at` on (infinite: until told otherwise). Hosts that
  // were never named are free. Cost: a few heap operations, whatever the number of its pages.
  void SetHostFree(HostId host, Instant free_at);
  // The pages of the host are eligible only while its group is free, too; group 0: it has none.
  void SetHostGroup(HostId host, GroupId group);
  // The hosts of the group may be free from `free_at` on (infinite: until told otherwise). Groups
  // that were never named are free. Cost: as above, whatever the number of its hosts. Precondition:
  // not group 0.
  void SetGroupFree(GroupId group, Instant free_at);

  // The page of highest deciding value among those that are eligible at `at`; of equal values the
  // one that has waited longest. Leaves it in. `at` must not be earlier than in the call before.
  [[nodiscard]] std::optional<IndexPick> Best(Instant at);

  // The canonical form of what was put and restarted, also while the page is suspended; none: not
  // in. An eligible_from that had passed when it was put is none.
  [[nodiscard]] std::optional<IndexEntry> Find(PageId page) const;
  // Precondition of these: the page is in.
  [[nodiscard]] HostId HostOf(PageId page) const;
  [[nodiscard]] double ExponentOf(PageId page, Instant at) const;
  // Pages that are in, suspended ones too.
  [[nodiscard]] size_t size() const;
  // Pages that compete, exact evaluations so far, entries of wheels (of pages that left, too).
  [[nodiscard]] size_t awake() const;
  [[nodiscard]] uint64_t evaluations() const;
  [[nodiscard]] uint64_t entries() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_PRICE_INDEX_H_
