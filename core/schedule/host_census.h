// Counts hosts by standing: free, or the reason why not. Each call visits only some of the hosts,
// so that no call takes long.
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
  // Visits the next `most` hosts and counts each by its standing at `now`. Costs about 50 ns per
  // host. After the last host, counts() shows this pass, and the next call starts another.
  // Precondition: most > 0.
  void Look(const HostGate& gate, const HostUse& use, Instant now, size_t most);
  // The counts of the last complete pass, over hosts with pages. 0 before the first.
  [[nodiscard]] const HostCounts& counts() const { return counts_; }

 private:
  uint32_t next_ = 0;
  HostCounts pass_;
  HostCounts counts_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_CENSUS_H_
