// The hosts of the index: whether their pages can be picked, how many pages each has, and the pool
// (core/index/bound_pools.h) of the pages that would compete for picks if the host were free.
#ifndef FRESHET_CORE_INDEX_INDEX_HOSTS_H_
#define FRESHET_CORE_INDEX_INDEX_HOSTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/check.h"
#include "core/base/segmented_array.h"
#include "core/base/units.h"
#include "core/index/alarm.h"

namespace freshet {

// Value type, thread-compatible.
struct IndexHost {
  Instant free_at;
  uint32_t pool = 0;  // in BoundPools; 0 = no page waits for the host
  uint32_t pages : 28 = 0;
  uint32_t tag : 3 = 0;      // tag of the valid alarm
  uint32_t blocked : 1 = 0;  // `free_at` was in the future when last checked
};

// Takes 16 bytes per host. Hosts that were never passed to SetFree are free. Owner thread only.
class IndexHosts {
 public:
  void GrowTo(size_t hosts) { hosts_.GrowTo(hosts); }
  // Precondition: GrowTo has made room for the host.
  [[nodiscard]] IndexHost& operator[](HostId host) { return hosts_[host.value()]; }
  [[nodiscard]] const IndexHost& operator[](HostId host) const { return hosts_[host.value()]; }
  [[nodiscard]] bool Blocked(HostId host) const {
    return host.value() < hosts_.size() && hosts_[host.value()].blocked;
  }
  // Pages in the index whose hosts are blocked.
  [[nodiscard]] size_t blocked_pages() const { return blocked_pages_; }

  void AddPage(HostId host) {
    IndexHost& its = hosts_[host.value()];
    ++its.pages;
    if (its.blocked) ++blocked_pages_;
  }
  void RemovePage(HostId host) {
    IndexHost& its = hosts_[host.value()];
    DCHECK(its.pages > 0);
    --its.pages;
    if (its.blocked) --blocked_pages_;
  }

  // Blocks the host until `free_at` (infinite = until the next call), or frees it if `free_at` is
  // not after `now`. Returns true if this call has made a free host blocked or a blocked host free.
  [[nodiscard]] bool SetFree(HostId host, Instant free_at, Instant now) {
    GrowTo(size_t{host.value()} + 1);
    IndexHost& its = hosts_[host.value()];
    const bool blocked = free_at > now;
    // If `free_at` has not changed, the host already has a valid alarm.
    const bool same = its.blocked == 1 && its.free_at == free_at;
    its.free_at = free_at;
    if (blocked && !free_at.infinite() && !same) {
      alarms_.Push({free_at, host, ++its.tag}, [this](const auto& alarm) { return Counts(alarm); });
    }
    if (blocked == (its.blocked == 1)) return false;
    SetBlocked(its, blocked);
    return true;
  }
  [[nodiscard]] bool Rings(Instant now) const { return alarms_.Rings(now); }
  // Returns a host that has become free by `now`. Each alarm that is checked decrements `left`.
  // nullopt = no host is left, or `left` has reached 0. Hosts whose alarms were not checked stay
  // blocked until a later call, so their pages can be picked a few picks late.
  [[nodiscard]] std::optional<HostId> NextFree(Instant now, size_t* left) {
    const std::optional<HostId> host =
        alarms_.NextDue(now, left, [this](const auto& alarm) { return Counts(alarm); });
    if (host) SetBlocked(hosts_[host->value()], false);
    return host;
  }

 private:
  // Returns true if this is the valid alarm of its host.
  [[nodiscard]] bool Counts(const Alarm<Instant, HostId>& alarm) const {
    const IndexHost& its = hosts_[alarm.id.value()];
    return its.blocked == 1 && its.free_at == alarm.at && its.tag == alarm.tag;
  }
  void SetBlocked(IndexHost& host, bool blocked) {
    host.blocked = blocked ? 1 : 0;
    if (blocked) {
      blocked_pages_ += host.pages;
    } else {
      DCHECK(blocked_pages_ >= host.pages);
      blocked_pages_ -= host.pages;
    }
  }

  SegmentedArray<IndexHost> hosts_;  // by HostId
  AlarmHeap<Instant, HostId> alarms_;
  size_t blocked_pages_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_INDEX_HOSTS_H_
