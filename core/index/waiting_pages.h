// The pages that wait under a bound of their value: those of hosts that are not free, those whose
// value stands still, and those that creep towards the wake threshold.
#ifndef FRESHET_CORE_INDEX_WAITING_PAGES_H_
#define FRESHET_CORE_INDEX_WAITING_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/index/alarm.h"
#include "core/index/bound_pools.h"
#include "core/index/index_groups.h"
#include "core/index/index_hosts.h"
#include "core/index/index_pages.h"
#include "core/index/waiting_queues.h"

namespace freshet {

// The place of a page in its row, its pool and its queue always agree. Owner thread only.
class WaitingPages {
 private:
  [[nodiscard]] auto Turns() const {
    return [this](PageId page, double bound) { return TurnOf(page, bound); };
  }
  [[nodiscard]] auto Placed() {
    return [this](PageId page, uint32_t position) { pages_[page].record().position = position; };
  }

 public:
  static constexpr uint32_t kNone = BoundPools::kNone;

  // All outlive this object.
  WaitingPages(IndexPages& pages, IndexHosts& hosts, const IndexGroups& groups)
      : pages_(pages), hosts_(hosts), groups_(groups) {}

  // The pool of pages that wait for the host or its group, made if missing.
  [[nodiscard]] uint32_t PoolOf(HostId host);
  // Makes the page, whose place says that it waits, wait in the pool until `expires`; infinite =
  // for good, in pool 0 behind others of the same bound if it fits there.
  void Add(PageRow row, uint32_t pool, double bound, double expires);
  void Remove(PageRow row);

  // Follow a host or a group that has become free or blocked, and a host that moves to a group.
  void SetOpen(const IndexHost& host) {
    if (host.pool != 0) pools_.SetOpen(host.pool, !host.blocked, Turns());
  }
  void SetOpen(GroupId group) { pools_.SetGroupOpen(group, !groups_.IsBlocked(group), Turns()); }
  void Move(HostId host, GroupId group) {
    if (hosts_[host].pool != 0) pools_.Move(hosts_[host].pool, group, Turns());
  }

  // The open pool whose first page precedes all; kNone = no page waits in an open pool.
  [[nodiscard]] uint32_t Top() const { return pools_.Top(Turns()); }
  // See BoundPools.
  [[nodiscard]] BoundPools& pools() { return pools_; }
  [[nodiscard]] const BoundPools& pools() const { return pools_; }
  // Whether the first page of the pool precedes another of this bound.
  [[nodiscard]] bool FirstPrecedes(uint32_t pool, double bound, PageId page) const {
    return BoundPools::Precedes(pools_.First(pool), {bound, page}, Turns());
  }
  [[nodiscard]] double BoundOf(PageId page) const;

  // Whether the bound of a page expires by `t`.
  [[nodiscard]] bool Expires(double t) const { return expiries_.Rings(t); }
  // The page of the next bound that expires; nullopt = the page has left since. Precondition:
  // Expires(t), for any t.
  [[nodiscard]] std::optional<PageId> PopExpired();

 private:
  static constexpr uint16_t kQueueLevel = 2;  // the level of the first queue
  // Among equal values the page crawled longest ago comes first; among forced pages, which have
  // infinite bounds, the one forced first.
  [[nodiscard]] int64_t TurnOf(PageId page, double bound) const;
  void AddInTurn(PageRow row, double bound);

  IndexPages& pages_;
  IndexHosts& hosts_;
  const IndexGroups& groups_;
  BoundPools pools_;
  WaitingQueues queues_;                // of pool 0
  AlarmHeap<double, PageId> expiries_;  // the expiries of bounds in pools
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_WAITING_PAGES_H_
