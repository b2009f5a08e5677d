#include "core/schedule/pages_out.h"

#include "core/base/check.h"

namespace freshet {

void PagesOut::Pick(PageId page, HostId host, bool planned) {
  const bool picked = out_.try_emplace(page, Out{LeaseId(), host, planned}).second;
  CHECK(picked, "page {} is out", page.value());
}

const PagesOut::Out& PagesOut::Lease(PageId page, LeaseId lease, Instant deadline) {
  CHECK(lease != LeaseId(), "a lease without an id");
  const auto it = out_.find(page);
  CHECK(it != out_.end(), "page {} is not out", page.value());
  CHECK(it->second.lease == LeaseId(), "page {} has lease {:x}", page.value(),
        it->second.lease.value());
  it->second.lease = lease;
  deadlines_.push({deadline, lease});
  return it->second;
}

PagesOut::Out PagesOut::End(PageId page) {
  const auto it = out_.find(page);
  CHECK(it != out_.end(), "page {} is not out", page.value());
  const Out ended = it->second;
  out_.erase(it);
  return ended;
}

void PagesOut::Orphan(PageId page) {
  const Out removed = End(page);
  CHECK(removed.lease != LeaseId(), "page {} is not leased", page.value());
  orphans_.emplace(removed.lease, removed.host);
}

HostId PagesOut::EndOrphan(LeaseId lease) {
  const auto it = orphans_.find(lease);
  CHECK(it != orphans_.end(), "lease {:x} is of no removed page", lease.value());
  const HostId host = it->second;
  orphans_.erase(it);
  return host;
}

const PagesOut::Out* PagesOut::Find(PageId page) const {
  const auto it = out_.find(page);
  return it == out_.end() ? nullptr : &it->second;
}

void PagesOut::TakeExpired(Instant now, const Leases& leases, size_t max,
                           std::vector<LeaseId>* expired) {
  for (; !deadlines_.empty() && deadlines_.top().at <= now && max > 0; deadlines_.pop()) {
    const Deadline end = deadlines_.top();
    const LeaseRecord* lease = leases.Find(end.lease);
    if (lease == nullptr || lease->deadline != end.at) continue;
    expired->push_back(end.lease);
    --max;
  }
}

}  // namespace freshet
