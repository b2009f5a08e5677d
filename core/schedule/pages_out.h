// The pages that are out: picked, or leased to workers, and the deadlines of their leases. If a
// page is removed while it is leased, its worker still fetches it, so the lease stays out until it
// ends.
#ifndef FRESHET_CORE_SCHEDULE_PAGES_OUT_H_
#define FRESHET_CORE_SCHEDULE_PAGES_OUT_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "core/base/parted_map.h"
#include "core/base/units.h"

namespace freshet {

// Owner thread only. The calls for one page are Pick, then Lease when its lease is installed, then
// End; or Pick and End if the page is put back. Each call costs a hash lookup unless a comment says
// otherwise.
class PagesOut {
 public:
  struct Out {
    LeaseId lease;         // 0 = picked, but its lease is not installed yet
    Instant deadline;      // of the lease
    HostId host;           // the host under which the page was picked
    bool planned = false;  // picked by a plan
  };

  // Records a pick. Precondition: the page is not out.
  void Pick(PageId page, HostId host, bool planned);
  // Records the lease of a picked page. Precondition: the page is picked and has no lease.
  const Out& Lease(PageId page, LeaseId lease, Instant deadline);
  // Takes back a page. Precondition: the page is out.
  Out End(PageId page);
  // Keeps the lease of a page that is being removed. Precondition: the page is leased.
  void Orphan(PageId page);
  // Adds the lease of a page that was removed before the start. Precondition: the lease is not
  // known.
  void AddOrphan(LeaseId lease, HostId host, Instant deadline);
  // Ends the lease of a removed page. Returns the host under which the page was picked.
  // Precondition: IsOrphan(lease).
  HostId EndOrphan(LeaseId lease);
  [[nodiscard]] bool IsOrphan(LeaseId lease) const { return orphans_.Find(lease) != nullptr; }
  // nullptr = the page is not out. Valid until the next Pick or End.
  [[nodiscard]] const Out* Find(PageId page) const { return out_.Find(page); }
  [[nodiscard]] bool Has(PageId page) const { return Find(page) != nullptr; }
  // The number of pages that are out, including removed pages with open leases.
  [[nodiscard]] size_t size() const { return out_.size() + orphans_.size(); }

  // Appends at most `max` leases whose deadlines have passed, in the order of deadlines. Each lease
  // is appended only once.
  void TakeExpired(Instant now, size_t max, std::vector<LeaseId>* expired);
  // The time at which TakeExpired next has something to do; infinite = never.
  [[nodiscard]] Instant next_deadline() const {
    return deadlines_.empty() ? Instant::Infinite() : deadlines_.begin()->first;
  }

 private:
  PartedMap<PageId, Out> out_;
  PartedMap<LeaseId, Out> orphans_;  // leases of removed pages
  // Deadlines of all leases that TakeExpired has not handed out.
  absl::btree_set<std::pair<Instant, LeaseId>> deadlines_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PAGES_OUT_H_
