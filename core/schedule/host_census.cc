#include "core/schedule/host_census.h"

#include <utility>

#include "core/base/check.h"
#include "core/schedule/host_gate.h"

namespace freshet {

void HostCensus::Look(const HostGate& hosts, Instant now, size_t most) {
  CHECK(most > 0);
  const uint32_t end = hosts.id_limit();
  for (; next_ < end && most > 0; ++next_, --most) {
    const HostId host(next_);
    if (hosts.pages(host) == 0) continue;
    ++pass_.by_standing[static_cast<size_t>(hosts.StandingOf(host, now))];
  }
  if (next_ < end) return;
  next_ = 0;
  counts_ = std::exchange(pass_, {});
}

}  // namespace freshet
