#include "core/schedule/host_gate.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "core/base/check.h"
#include "core/schedule/host_backoff.h"

namespace freshet {

void HostGate::SetDefaults(const PolitenessDefaults& defaults) {
  CHECK(defaults.min_delay >= Duration() && defaults.min_page_interval >= Duration());
  defaults_ = defaults;
}

void HostGate::SetDefaultsOf(HostId host, const std::optional<PolitenessDefaults>& defaults) {
  std::unique_ptr<PolitenessDefaults>& its = hosts_.at(host.value()).defaults;
  its = defaults ? std::make_unique<PolitenessDefaults>(*defaults) : nullptr;
}

void HostGate::SetGroup(HostId host, std::shared_ptr<const HostGroup> group) {
  Host& its = hosts_.at(host.value());
  const GroupId before = its.group;
  if (group == nullptr && before == GroupId()) return;
  if (group != nullptr && groups_.group(before) == group) return;
  // Joins first: where only the terms are others, the group is not to be gone meanwhile.
  its.group = group == nullptr ? GroupId() : groups_.Join(std::move(group), LoadOf(its));
  if (before != GroupId()) groups_.Leave(before, LoadOf(its));
}

HostId HostGate::Intern(const std::string& host) {
  const HostId next = free_ids_.empty() ? HostId(id_limit()) : free_ids_.back();
  const auto [it, inserted] = ids_.try_emplace(host, next);
  if (inserted) {
    free_ids_.empty() ? hosts_.resize(hosts_.size() + 1) : free_ids_.pop_back();
    hosts_[next.value()].record.host = host;
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
  if (entry.group != GroupId()) groups_.Pick(entry.group, at);
}

void HostGate::OpenLease(HostId host, Instant assigned) {
  Host& entry = hosts_.at(host.value());
  CHECK(entry.picks > 0, "nothing of host {} is picked", entry.record.host);
  entry.record.last_assignment = std::max(entry.record.last_assignment, assigned);
  if (--entry.picks == 0) entry.last_pick = Instant();
  if (entry.group != GroupId()) groups_.OpenLease(entry.group, assigned);
}

void HostGate::NoteAssignment(HostId host, Instant at) {
  Host& entry = hosts_.at(host.value());
  entry.record.last_assignment = std::max(entry.record.last_assignment, at);
  if (entry.group != GroupId()) groups_.NoteAssignment(entry.group, at);
}

void HostGate::EndLease(HostId host) {
  Host& entry = hosts_.at(host.value());
  CHECK(entry.in_flight > entry.picks, "host {} has no lease open", entry.record.host);
  --entry.in_flight;
  if (entry.group != GroupId()) groups_.EndLease(entry.group);
}

void HostGate::PutBack(HostId host) {
  Host& entry = hosts_.at(host.value());
  CHECK(entry.picks > 0, "nothing of host {} is picked", entry.record.host);
  --entry.in_flight;
  if (--entry.picks == 0) entry.last_pick = Instant();
  if (entry.group != GroupId()) groups_.PutBack(entry.group);
}

Instant HostGate::FreeAt(HostId host) const {
  const Host& entry = hosts_.at(host.value());
  const uint32_t limit = entry.record.max_in_flight.value_or(DefaultsOf(entry).max_in_flight);
  if (limit != 0 && entry.in_flight >= limit) return Instant::Infinite();
  return std::max(RestedAt(entry), Delayed(entry, entry.last_pick));
}

Duration HostGate::MinDelay(HostId host) const {
  return record(host).min_delay.value_or(DefaultsOf(host).min_delay);
}

Duration HostGate::PageInterval(HostId host) const {
  return record(host).min_page_interval.value_or(defaults_.min_page_interval);
}

Instant HostGate::Delayed(const Host& host, Instant last) const {
  if (last == Instant()) return {};
  return last + host.record.min_delay.value_or(DefaultsOf(host).min_delay);
}

Instant HostGate::RestedAt(const Host& host) const {
  return std::max(host.record.blocked_until, Delayed(host, host.record.last_assignment));
}

Instant HostGate::ForgottenAt(const Host& host) const {
  const HostRecord& record = host.record;
  // Each throttled answer stands for a quiet time.
  return std::max(RestedAt(host), QuietSince(record) + throttles_forgiven_in_ * record.throttles);
}

void HostGate::RemovePage(HostId host) {
  Host& entry = hosts_.at(host.value());
  CHECK(entry.pages > 0, "host {} has no page", entry.record.host);
  --entry.pages;
  Rest(host);
}

void HostGate::Rest(HostId host) {
  Host& entry = hosts_.at(host.value());
  const Instant until = ForgottenAt(entry);
  if (entry.pages > 0 || until >= entry.resting_until) return;
  entry.resting_until = until;
  resting_.push({until, host});
}

void HostGate::TakeRested(Instant now, size_t max, std::vector<HostId>* hosts) {
  while (max > 0 && next_rested() <= now) {
    const auto [until, host] = resting_.top();
    resting_.pop();
    Host& entry = hosts_[host.value()];
    if (until != entry.resting_until) continue;
    entry.resting_until = Instant::Infinite();
    if (CanForget(host, now)) {
      hosts->push_back(host);
      --max;
    } else if (ForgottenAt(entry) > now) {
      Rest(host);
    }
  }
}

bool HostGate::CanForget(HostId host, Instant now) const {
  const Host& entry = hosts_.at(host.value());
  // A record is forgotten for what it no longer says, whatever else a host may come to have.
  HostRecord plain = entry.record;
  plain.blocked_until = plain.last_assignment = plain.last_throttled = Instant();
  plain.throttles = 0;
  return entry.pages == 0 && entry.in_flight == 0 && !entry.record.host.empty() &&
         ForgottenAt(entry) <= now && plain == HostRecord{.host = entry.record.host};
}

void HostGate::Forget(HostId host) {
  Host& entry = hosts_.at(host.value());
  CHECK(entry.pages == 0 && entry.in_flight == 0, "host {} is in use", entry.record.host);
  SetGroup(host, nullptr);
  ids_.erase(entry.record.host);
  entry = Host();
  free_ids_.push_back(host);
}

}  // namespace freshet
