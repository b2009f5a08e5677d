// Counts hosts by standing: free, or what holds them. Each call looks at a part of the hosts, so
// that nobody waits for a pass over all.
#ifndef FRESHET_CORE_SCHEDULE_HOST_CENSUS_H_
#define FRESHET_CORE_SCHEDULE_HOST_CENSUS_H_

#include <cstddef>
#include <cstdint>

#include "core/base/units.h"
#include "core/schedule/host_standing.h"

namespace freshet {

class HostGate;
class HostUse;

// Owner thread only.
class HostCensus {
 public:
  // Looks at the next `most` hosts, each as of `now`: some 50 ns a host. After the last one the
  // counts are those of this pass, and the next call begins another.
  void Look(const HostGate& gate, const HostUse& use, Instant now, size_t most);
  // The counts of the last complete pass, without hosts without pages. 0 before the first.
  [[nodiscard]] const HostCounts& counts() const { return counts_; }

 private:
  uint32_t next_ = 0;
  HostCounts pass_;
  HostCounts counts_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_CENSUS_H_
