// Politeness: which hosts may be fetched from now. A host is free when its block is over, its delay
// since the last assignment has passed, and fewer than its limit of pages are out.
#ifndef FRESHET_CORE_SCHEDULE_HOST_GATE_H_
#define FRESHET_CORE_SCHEDULE_HOST_GATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/model/page.h"

namespace freshet {

// Owner thread only. HostIds are dense and never reused while the process runs.
class HostGate {
 public:
  // Politeness of hosts that have none of their own; zero: none.
  HostGate(Duration default_min_delay, uint32_t default_max_in_flight);

  // The id of the host; a new one for an unknown name.
  HostId Intern(const std::string& host);
  [[nodiscard]] std::optional<HostId> Find(std::string_view host) const;
  [[nodiscard]] const HostRecord& record(HostId host) const;
  [[nodiscard]] uint32_t in_flight(HostId host) const;
  [[nodiscard]] size_t size() const { return hosts_.size(); }

  // Replaces what is known of the host of that name.
  HostId Put(const HostRecord& record);

  // One page of the host goes out (for the tick `at`) or comes back.
  void Enter(HostId host, Instant at);
  void Leave(HostId host);

  // The instant from which the host is free; infinite while its limit is reached.
  [[nodiscard]] Instant FreeAt(HostId host) const;

 private:
  struct Host {
    HostRecord record;
    uint32_t in_flight = 0;
  };

  Duration default_min_delay_;
  uint32_t default_max_in_flight_;
  std::vector<Host> hosts_;  // by HostId
  absl::flat_hash_map<std::string, HostId> ids_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_GATE_H_
