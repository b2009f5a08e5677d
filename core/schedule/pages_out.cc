#include "core/schedule/pages_out.h"

#include <algorithm>
#include <functional>

#include "core/base/check.h"

namespace freshet {
namespace {

// Of leases that have ended, beyond as many as are open.
constexpr size_t kMostEnded = 4096;

// Whether this is still the deadline of a lease that is open.
bool IsOpen(const LeaseRecord* lease, Instant deadline) {
  return lease != nullptr && lease->deadline == deadline;
}

}  // namespace

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
  AddDeadline(deadline, lease);
  return it->second;
}

void PagesOut::AddDeadline(Instant at, LeaseId lease) {
  deadlines_.push_back({at, lease});
  std::push_heap(deadlines_.begin(), deadlines_.end(), std::greater<>());
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

void PagesOut::AddOrphan(LeaseId lease, HostId host, Instant deadline) {
  CHECK(orphans_.emplace(lease, host).second, "lease {:x} is known", lease.value());
  AddDeadline(deadline, lease);
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
  while (!deadlines_.empty() && deadlines_.front().at <= now && max > 0) {
    const Deadline end = deadlines_.front();
    std::pop_heap(deadlines_.begin(), deadlines_.end(), std::greater<>());
    deadlines_.pop_back();
    if (!IsOpen(leases.Find(end.lease), end.at)) continue;
    expired->push_back(end.lease);
    --max;
  }
  // As many leases have been opened or have ended since the last time: a look at each of them.
  if (deadlines_.size() > 2 * leases.size() + kMostEnded) DropEnded(leases);
}

void PagesOut::DropEnded(const Leases& leases) {
  std::erase_if(deadlines_,
                [&](const Deadline& end) { return !IsOpen(leases.Find(end.lease), end.at); });
  std::make_heap(deadlines_.begin(), deadlines_.end(), std::greater<>());
  CHECK(deadlines_.size() <= leases.size(), "{} deadlines of {} leases", deadlines_.size(),
        leases.size());
}

}  // namespace freshet
