// What the index knows of hosts: whether their pages may be picked, how many are in, and the pool
// in which those wait that are awake but for their host.
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
  uint32_t pool = 0;  // in BoundPools; 0: none of its pages waits
  uint32_t pages : 31 = 0;
  uint32_t blocked : 1 = 0;  // `free_at` had not come when this was last looked at
};

// Owner thread only. 16 bytes a host; hosts that were never named are free.
class IndexHosts {
 public:
  void GrowTo(size_t hosts) { hosts_.GrowTo(hosts); }
  // Precondition: the host was named, by GrowTo.
  [[nodiscard]] IndexHost& operator[](HostId host) { return hosts_[host.value()]; }
  [[nodiscard]] const IndexHost& operator[](HostId host) const { return hosts_[host.value()]; }
  [[nodiscard]] bool Blocked(HostId host) const {
    return host.value() < hosts_.size() && hosts_[host.value()].blocked;
  }
  // Pages that are in, of hosts that are blocked.
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

  // The host is free from `free_at` on (infinite: until told otherwise). Whether it is blocked now
  // and was not, or the other way round.
  [[nodiscard]] bool SetFree(HostId host, Instant free_at, Instant now) {
    GrowTo(size_t{host.value()} + 1);
    IndexHost& its = hosts_[host.value()];
    const bool blocked = free_at > now;
    // Told again, it has its alarm.
    const bool same = its.blocked == 1 && its.free_at == free_at;
    its.free_at = free_at;
    if (blocked && !free_at.infinite() && !same) alarms_.Push({free_at, host});
    if (blocked == (its.blocked == 1)) return false;
    SetBlocked(its, blocked);
    return true;
  }
  [[nodiscard]] bool Rings(Instant now) const { return alarms_.Rings(now); }
  // A host that has become free by `now`; nothing: there is none left.
  [[nodiscard]] std::optional<HostId> NextFree(Instant now) {
    while (alarms_.Rings(now)) {
      const HostId host = alarms_.Pop().id;
      IndexHost& its = hosts_[host.value()];
      if (its.blocked == 0 || its.free_at > now) continue;
      SetBlocked(its, false);
      return host;
    }
    return std::nullopt;
  }

 private:
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
