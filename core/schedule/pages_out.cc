#include "core/schedule/pages_out.h"

#include "core/base/check.h"

namespace freshet {

void PagesOut::Pick(PageId page, HostId host, bool planned) {
  const bool picked = out_.Add(page, {.host = host, .planned = planned}).second;
  CHECK(picked, "page {} is out", page.value());
}

const PagesOut::Out& PagesOut::Lease(PageId page, LeaseId lease, Instant deadline) {
  CHECK(lease != LeaseId(), "a lease without an id");
  Out* const out = out_.Find(page);
  CHECK(out != nullptr, "page {} is not out", page.value());
  CHECK(out->lease == LeaseId(), "page {} has lease {:x}", page.value(), out->lease.value());
  out->lease = lease;
  out->deadline = deadline;
  deadlines_.emplace(deadline, lease);
  return *out;
}

PagesOut::Out PagesOut::End(PageId page) {
  const Out* const out = out_.Find(page);
  CHECK(out != nullptr, "page {} is not out", page.value());
  const Out ended = *out;
  deadlines_.erase({ended.deadline, ended.lease});
  out_.Erase(page);
  return ended;
}

void PagesOut::Orphan(PageId page) {
  const Out removed = End(page);
  CHECK(removed.lease != LeaseId(), "page {} is not leased", page.value());
  AddOrphan(removed.lease, removed.host, removed.deadline);
}

void PagesOut::AddOrphan(LeaseId lease, HostId host, Instant deadline) {
  const Out orphan = {.lease = lease, .deadline = deadline, .host = host};
  CHECK(orphans_.Add(lease, orphan).second, "lease {:x} is known", lease.value());
  deadlines_.emplace(deadline, lease);
}

HostId PagesOut::EndOrphan(LeaseId lease) {
  const Out* const orphan = orphans_.Find(lease);
  CHECK(orphan != nullptr, "lease {:x} is of no removed page", lease.value());
  const HostId host = orphan->host;
  deadlines_.erase({orphan->deadline, lease});
  orphans_.Erase(lease);
  return host;
}

void PagesOut::TakeExpired(Instant now, size_t max, std::vector<LeaseId>* expired) {
  for (; next_deadline() <= now && max > 0; --max) {
    expired->push_back(deadlines_.begin()->second);
    deadlines_.erase(deadlines_.begin());
  }
}

}  // namespace freshet
