// How many hosts may be fetched from, and what holds the others: counted by looking at a part of
// them at a time, so that nobody waits for it however many there are.
#ifndef FRESHET_CORE_SCHEDULE_HOST_CENSUS_H_
#define FRESHET_CORE_SCHEDULE_HOST_CENSUS_H_

#include <cstddef>
#include <cstdint>

#include "core/base/units.h"
#include "core/schedule/host_standing.h"

namespace freshet {

class HostGate;

// Owner thread only.
class HostCensus {
 public:
  // Looks at the next `most` hosts, each as of `now`: some 50 ns a host. After the last one the
  // counts are those of this pass, and the next call begins another.
  void Look(const HostGate& hosts, Instant now, size_t most);
  // Of the last pass that came to its end, hosts without pages left out. Zero before the first.
  [[nodiscard]] const HostCounts& counts() const { return counts_; }

 private:
  uint32_t next_ = 0;
  HostCounts pass_;
  HostCounts counts_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_CENSUS_H_
