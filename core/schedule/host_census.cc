#include "core/schedule/host_census.h"

#include <utility>

#include "core/base/check.h"
#include "core/schedule/host_gate.h"
#include "core/schedule/host_use.h"

namespace freshet {

void HostCensus::Look(const HostGate& gate, const HostUse& use, Instant now, size_t most) {
  CHECK(most > 0);
  const uint32_t end = gate.id_limit();
  for (; next_ < end && most > 0; ++next_, --most) {
    const HostId host(next_);
    if (use.pages(host) == 0) continue;
    const GroupId group = gate.host(host).group;
    const Instant group_free = group == GroupId() ? Instant() : gate.groups().FreeAt(group);
    const HostStanding standing = StandingOf(gate.host(host), gate.TermsOf(host), group_free, now);
    ++pass_.by_standing[static_cast<size_t>(standing)];
  }
  if (next_ < end) return;
  next_ = 0;
  counts_ = std::exchange(pass_, {});
}

}  // namespace freshet
