// The pages with workers or on their way to one, and the ends of their leases. A worker fetches a
// page that is removed meanwhile all the same: its lease is out until it ends.
#ifndef FRESHET_CORE_SCHEDULE_PAGES_OUT_H_
#define FRESHET_CORE_SCHEDULE_PAGES_OUT_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "core/base/parted_map.h"
#include "core/base/units.h"

namespace freshet {

// Owner thread only. Life of a page that is out: Pick, Lease once the lease is installed, End; or
// Pick and End, if it is put back. A hash lookup a call, unless said otherwise.
class PagesOut {
 public:
  struct Out {
    LeaseId lease;         // 0 = picked, lease not installed yet
    Instant deadline;      // of the lease
    HostId host;           // under which it was picked
    bool planned = false;  // picked by a plan
  };

  // Precondition: the page is not out.
  void Pick(PageId page, HostId host, bool planned);
  // Installs the lease of a picked page. Precondition: the page has none.
  const Out& Lease(PageId page, LeaseId lease, Instant deadline);
  // Takes back a page. Precondition: the page is out.
  Out End(PageId page);
  // Keeps the lease of a page that is removed. Precondition: the page is leased.
  void Orphan(PageId page);
  // Adds the lease of a page that was removed before the start. Precondition: the lease is not
  // known.
  void AddOrphan(LeaseId lease, HostId host, Instant deadline);
  // Ends the lease of a removed page, and returns the host under which it was picked. Precondition:
  // IsOrphan(lease).
  HostId EndOrphan(LeaseId lease);
  [[nodiscard]] bool IsOrphan(LeaseId lease) const { return orphans_.Find(lease) != nullptr; }
  // nullptr = the page is not out. Valid until the next Pick or End.
  [[nodiscard]] const Out* Find(PageId page) const { return out_.Find(page); }
  [[nodiscard]] bool Has(PageId page) const { return Find(page) != nullptr; }
  // Pages out, removed pages with leases included.
  [[nodiscard]] size_t size() const { return out_.size() + orphans_.size(); }

  // Appends at most `max` leases whose deadline has come, each once, in order of their deadlines.
  void TakeExpired(Instant now, size_t max, std::vector<LeaseId>* expired);
  // When TakeExpired has something to do; infinite = it never has.
  [[nodiscard]] Instant next_deadline() const {
    return deadlines_.empty() ? Instant::Infinite() : deadlines_.begin()->first;
  }

 private:
  PartedMap<PageId, Out> out_;
  PartedMap<LeaseId, Out> orphans_;  // leases of removed pages
  // The deadlines of all leases that TakeExpired has not told.
  absl::btree_set<std::pair<Instant, LeaseId>> deadlines_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PAGES_OUT_H_
