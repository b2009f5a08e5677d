#include "core/schedule/host_gate.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "core/base/check.h"

namespace freshet {

HostGate::HostGate(Duration default_min_delay, uint32_t default_max_in_flight)
    : default_min_delay_(default_min_delay), default_max_in_flight_(default_max_in_flight) {
  CHECK(default_min_delay >= Duration());
}

HostId HostGate::Intern(const std::string& host) {
  const auto [it, inserted] = ids_.try_emplace(host, HostId(static_cast<uint32_t>(hosts_.size())));
  if (inserted) {
    hosts_.emplace_back();
    hosts_.back().record.host = host;
  }
  return it->second;
}

std::optional<HostId> HostGate::Find(std::string_view host) const {
  const auto it = ids_.find(absl::string_view(host.data(), host.size()));
  if (it == ids_.end()) return std::nullopt;
  return it->second;
}

const HostRecord& HostGate::record(HostId host) const { return hosts_.at(host.value()).record; }

uint32_t HostGate::in_flight(HostId host) const { return hosts_.at(host.value()).in_flight; }

HostId HostGate::Put(const HostRecord& record) {
  const HostId host = Intern(record.host);
  Host& entry = hosts_[host.value()];
  // A pick that is still on its way to its lease may be later than what the store has heard of.
  const Instant last = std::max(entry.record.last_assignment, record.last_assignment);
  entry.record = record;
  entry.record.last_assignment = last;
  return host;
}

void HostGate::Enter(HostId host, Instant at) {
  Host& entry = hosts_.at(host.value());
  ++entry.in_flight;
  entry.record.last_assignment = std::max(entry.record.last_assignment, at);
}

void HostGate::Leave(HostId host) {
  Host& entry = hosts_.at(host.value());
  CHECK(entry.in_flight > 0, "host {} has nothing in flight", entry.record.host);
  --entry.in_flight;
}

Instant HostGate::FreeAt(HostId host) const {
  const Host& entry = hosts_.at(host.value());
  const uint32_t limit = entry.record.max_in_flight.value_or(default_max_in_flight_);
  if (limit != 0 && entry.in_flight >= limit) return Instant::Infinite();
  const Duration delay = entry.record.min_delay.value_or(default_min_delay_);
  if (entry.record.last_assignment == Instant()) return entry.record.blocked_until;
  return std::max(entry.record.blocked_until, entry.record.last_assignment + delay);
}

}  // namespace freshet
