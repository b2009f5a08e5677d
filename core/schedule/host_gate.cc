#include "core/schedule/host_gate.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "core/base/check.h"

namespace freshet {

void HostGate::SetDefaults(const PolitenessDefaults& defaults) {
  CHECK(defaults.min_delay >= Duration() && defaults.min_page_interval >= Duration());
  defaults_ = defaults;
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
  hosts_[host.value()].record = record;
  return host;
}

void HostGate::Pick(HostId host, Instant at) {
  Host& entry = hosts_.at(host.value());
  ++entry.in_flight;
  ++entry.picks;
  entry.last_pick = std::max(entry.last_pick, at);
}

void HostGate::OpenLease(HostId host, Instant assigned) {
  Host& entry = hosts_.at(host.value());
  CHECK(entry.picks > 0, "nothing of host {} is picked", entry.record.host);
  entry.record.last_assignment = std::max(entry.record.last_assignment, assigned);
  if (--entry.picks == 0) entry.last_pick = Instant();
}

void HostGate::EndLease(HostId host) {
  Host& entry = hosts_.at(host.value());
  CHECK(entry.in_flight > entry.picks, "host {} has no lease open", entry.record.host);
  --entry.in_flight;
}

void HostGate::PutBack(HostId host) {
  Host& entry = hosts_.at(host.value());
  CHECK(entry.picks > 0, "nothing of host {} is picked", entry.record.host);
  --entry.in_flight;
  if (--entry.picks == 0) entry.last_pick = Instant();
}

Instant HostGate::FreeAt(HostId host) const {
  const Host& entry = hosts_.at(host.value());
  const uint32_t limit = entry.record.max_in_flight.value_or(defaults_.max_in_flight);
  if (limit != 0 && entry.in_flight >= limit) return Instant::Infinite();
  const Instant last = std::max(entry.record.last_assignment, entry.last_pick);
  if (last == Instant()) return entry.record.blocked_until;
  const Duration delay = entry.record.min_delay.value_or(defaults_.min_delay);
  return std::max(entry.record.blocked_until, last + delay);
}

Duration HostGate::PageInterval(HostId host) const {
  return record(host).min_page_interval.value_or(defaults_.min_page_interval);
}

}  // namespace freshet
