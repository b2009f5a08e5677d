// The pages that are with workers or on their way to one, and when their leases end. A page that is
// removed meanwhile is fetched all the same: its lease is out until it ends.
#ifndef FRESHET_CORE_SCHEDULE_PAGES_OUT_H_
#define FRESHET_CORE_SCHEDULE_PAGES_OUT_H_

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/schedule/leases.h"

namespace freshet {

// Owner thread only. Life of a page that is out: Pick, Lease once the lease is installed, End; or
// Pick and End, when it is put back. A hash lookup a call, unless said otherwise.
//
// A lease that ends before its deadline leaves its deadline behind, 16 bytes, until that has passed
// or there are more such than leases that are open: a deadline may be a day away.
class PagesOut {
 public:
  struct Out {
    LeaseId lease;         // zero: picked, lease not installed yet
    HostId host;           // under which it was picked
    bool planned = false;  // picked by a plan
  };

  // Precondition: the page is not out.
  void Pick(PageId page, HostId host, bool planned);
  // The lease of a page that was picked is installed. Precondition: it has none.
  const Out& Lease(PageId page, LeaseId lease, Instant deadline);
  // The page is not out any more. Precondition: it is.
  Out End(PageId page);
  // The page is removed, its lease goes on. Precondition: it is leased.
  void Orphan(PageId page);
  // The lease of a page that was removed before the start. Precondition: it is not known.
  void AddOrphan(LeaseId lease, HostId host, Instant deadline);
  // The lease of a removed page ends; the host under which it was picked. Precondition: it is one.
  HostId EndOrphan(LeaseId lease);
  [[nodiscard]] bool IsOrphan(LeaseId lease) const { return orphans_.contains(lease); }
  // nullptr: the page is not out. Valid until the next Pick or End.
  [[nodiscard]] const Out* Find(PageId page) const;
  [[nodiscard]] bool Has(PageId page) const { return out_.contains(page); }
  // Removed pages whose leases go on included.
  [[nodiscard]] size_t size() const { return out_.size() + orphans_.size(); }

  // Appends the leases whose deadline has come, of those that are open, at most `max`. Each is told
  // once. A heap operation for each, and for each that ended before. Precondition: `leases` are all
  // that are open.
  void TakeExpired(Instant now, const Leases& leases, size_t max, std::vector<LeaseId>* expired);
  // When TakeExpired may have something to do; infinite: no lease was given out.
  [[nodiscard]] Instant next_deadline() const {
    return deadlines_.empty() ? Instant::Infinite() : deadlines_.front().at;
  }
  // Those of leases that have ended included.
  [[nodiscard]] size_t deadlines() const { return deadlines_.size(); }

 private:
  struct Deadline {
    Instant at;
    LeaseId lease;
    bool operator>(const Deadline& other) const { return at > other.at; }
  };
  void AddDeadline(Instant at, LeaseId lease);
  // Leaves the deadlines of open leases alone.
  void DropEnded(const Leases& leases);

  absl::flat_hash_map<PageId, Out> out_;
  absl::flat_hash_map<LeaseId, HostId> orphans_;  // leases of removed pages
  std::vector<Deadline> deadlines_;               // a heap, the earliest first
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PAGES_OUT_H_
