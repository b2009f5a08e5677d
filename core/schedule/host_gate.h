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

// Politeness of hosts that have none of their own; zero: none. Value type, thread-compatible.
struct PolitenessDefaults {
  Duration min_delay;          // between two assignments of a host
  uint32_t max_in_flight = 0;  // pages of a host that are out at a time
  Duration min_page_interval;  // between two crawls of a page
  bool operator==(const PolitenessDefaults&) const = default;
};

// Owner thread only. HostIds are dense and never reused while the process runs.
class HostGate {
 public:
  explicit HostGate(const PolitenessDefaults& defaults) { SetDefaults(defaults); }

  void SetDefaults(const PolitenessDefaults& defaults);
  [[nodiscard]] const PolitenessDefaults& defaults() const { return defaults_; }

  // The id of the host; a new one for an unknown name.
  HostId Intern(const std::string& host);
  [[nodiscard]] std::optional<HostId> Find(std::string_view host) const;
  [[nodiscard]] const HostRecord& record(HostId host) const;
  [[nodiscard]] uint32_t in_flight(HostId host) const;
  [[nodiscard]] size_t size() const { return hosts_.size(); }

  // Replaces what is known of the host of that name.
  HostId Put(const HostRecord& record);

  // A page of the host is picked for the tick `at`. Then either its lease opens, and ends later, or
  // it is put back: the host is then as if it had not been picked, once no other pick is out.
  void Pick(HostId host, Instant at);
  void OpenLease(HostId host, Instant assigned);
  void EndLease(HostId host);
  void PutBack(HostId host);

  // The instant from which the host is free; infinite while its limit is reached.
  [[nodiscard]] Instant FreeAt(HostId host) const;
  // The least time between two crawls of a page of the host.
  [[nodiscard]] Duration PageInterval(HostId host) const;

 private:
  struct Host {
    HostRecord record;
    uint32_t in_flight = 0;  // picks and leases
    uint32_t picks = 0;      // whose lease is not open yet
    Instant last_pick;       // of these
  };

  PolitenessDefaults defaults_;
  std::vector<Host> hosts_;  // by HostId
  absl::flat_hash_map<std::string, HostId> ids_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_GATE_H_
