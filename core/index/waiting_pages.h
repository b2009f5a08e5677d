// The pages that wait under an upper bound of their value: pages of hosts that are not free, pages
// whose value stands still, and pages that approach the wake threshold
// (core/index/wake_threshold.h) very slowly.
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

// Keeps a page's row, its pool and its queue consistent. Owner thread only.
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

  // All arguments must outlive this object.
  WaitingPages(IndexPages& pages, IndexHosts& hosts, const IndexGroups& groups)
      : pages_(pages), hosts_(hosts), groups_(groups) {}

  // The pool of pages that wait for the host or its group. Creates the pool if it does not exist.
  [[nodiscard]] uint32_t PoolOf(HostId host);
  // Makes the page wait in the pool until `expires`; infinite = the bound never expires. In pool 0,
  // a page whose bound never expires queues behind others with the same bound if possible.
  // Precondition: the record's place is kWaiting.
  void Add(PageRow row, uint32_t pool, double bound, double expires);
  void Remove(PageRow row);

  // Call these when a host or a group has become free or blocked, and when a host moves to a group.
  void SetOpen(const IndexHost& host) {
    if (host.pool != 0) pools_.SetOpen(host.pool, !host.blocked, Turns());
  }
  void SetOpen(GroupId group) { pools_.SetGroupOpen(group, !groups_.IsBlocked(group), Turns()); }
  void Move(HostId host, GroupId group) {
    if (hosts_[host].pool != 0) pools_.Move(hosts_[host].pool, group, Turns());
  }

  // The open pool whose first page precedes all others; kNone = no page waits in an open pool.
  [[nodiscard]] uint32_t Top() const { return pools_.Top(Turns()); }
  // See BoundPools.
  [[nodiscard]] BoundPools& pools() { return pools_; }
  [[nodiscard]] const BoundPools& pools() const { return pools_; }
  // Returns true if the first page of the pool precedes `page`, whose bound is `bound`.
  [[nodiscard]] bool FirstPrecedes(uint32_t pool, double bound, PageId page) const {
    return BoundPools::Precedes(pools_.First(pool), {bound, page}, Turns());
  }
  [[nodiscard]] double BoundOf(PageId page) const;

  // Returns true if the bound of some page expires by `t`.
  [[nodiscard]] bool Expires(double t) const { return expiries_.Rings(t); }
  // Removes the next expiry and returns its page; nullopt = the page no longer waits under this
  // bound. Precondition: Expires(t), for some t.
  [[nodiscard]] std::optional<PageId> PopExpired();

 private:
  static constexpr uint16_t kQueueLevel = 2;  // the level of the first queue
  // The order among equal bounds. Forced pages, whose bounds are infinite, are ordered by the time
  // of forcing, and all other pages by their last crawl. The earlier page comes first.
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
