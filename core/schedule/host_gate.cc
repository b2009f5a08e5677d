#include "core/schedule/host_gate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/base/check.h"
#include "core/base/ip_address.h"

namespace freshet {
namespace {

// The first of the terms that is set.
template <typename T>
Term<T> FirstOf(const std::optional<T>& of_host, const std::optional<T>* of_rule,
                const T& of_crawls, const T& usual) {
  if (of_host) return {*of_host, TermOrigin::kHost};
  if (of_rule != nullptr && *of_rule) return {**of_rule, TermOrigin::kRule};
  return {of_crawls, of_crawls == usual ? TermOrigin::kDefault : TermOrigin::kCrawlId};
}

}  // namespace

void HostGate::SetDefaults(const PolitenessDefaults& defaults) {
  CHECK(defaults.min_delay >= Duration() && defaults.min_page_interval >= Duration());
  defaults_ = defaults;
}

void HostGate::SetDefaultsOf(HostId host, const std::optional<PolitenessDefaults>& defaults) {
  std::unique_ptr<PolitenessDefaults>& its = hosts_.at(host.value()).defaults;
  its = defaults ? std::make_unique<PolitenessDefaults>(*defaults) : nullptr;
}

void HostGate::SetGroup(HostId host, std::shared_ptr<const HostGroup> group) {
  GatedHost& its = hosts_.at(host.value());
  const GroupId before = its.group;
  if (group == nullptr && before == GroupId()) return;
  if (group != nullptr && groups_.group(before) == group) return;
  // Joins the new group before it leaves the old one. If only the terms have changed, old and new
  // are the same group, which would otherwise be removed in between.
  its.group = group == nullptr ? GroupId() : groups_.Join(std::move(group), LoadOf(its));
  if (before != GroupId()) groups_.Leave(before, LoadOf(its));
}

HostId HostGate::Intern(const std::string& host) {
  const HostId next = free_ids_.empty() ? HostId(id_limit()) : free_ids_.back();
  const auto [id, added] = ids_.Add(host, next);
  if (added) {
    free_ids_.empty() ? hosts_.GrowTo(hosts_.size() + 1) : free_ids_.pop_back();
    GatedHost& entry = hosts_[next.value()];
    entry.record.host = host;
    entry.rule = rules_->Find(host);
    if (domains_) entry.domain = domains_(host);
    Regroup(next);
  }
  return *id;
}

std::optional<HostId> HostGate::Find(std::string_view host) const {
  const HostId* id = ids_.Find(absl::string_view(host.data(), host.size()));
  return id == nullptr ? std::nullopt : std::optional(*id);
}

HostId HostGate::Put(const HostRecord& record) {
  const HostId host = Intern(record.host);
  GatedHost& entry = hosts_.at(host.value());
  const bool moved = entry.record.address != record.address;
  const bool assigned = entry.record.last_assignment < record.last_assignment;
  if (assigned) entry.assigned_before = entry.record.last_assignment;
  entry.record = record;
  if (moved) Regroup(host);
  if (assigned && entry.group != GroupId()) {
    groups_.NoteAssignment(entry.group, record.last_assignment);
  }
  return host;
}

void HostGate::Regroup(HostId host) {
  const GatedHost& its = hosts_[host.value()];
  const SharedTerms& shared = rules_->shared();
  if (its.rule != nullptr && its.rule->group) {
    SetGroup(host, rules_->GroupOf(*its.rule));
  } else if (shared.by_domain != GroupTerms()) {
    const std::string_view name = its.record.host;
    const std::string_view domain = shared.domain_of == nullptr ? name : shared.domain_of(name);
    SetGroup(host, shared_groups_.Of("domain " + std::string(domain), shared.by_domain));
  } else if (shared.by_address != GroupTerms() && !its.record.address.none()) {
    SetGroup(host,
             shared_groups_.Of("address " + IpAddressText(its.record.address), shared.by_address));
  } else {
    SetGroup(host, nullptr);
  }
}

void HostGate::Pick(HostId host, Instant at) {
  GatedHost& entry = hosts_.at(host.value());
  ++entry.in_flight;
  ++entry.picks;
  entry.last_pick = std::max(entry.last_pick, at);
  if (entry.group != GroupId()) groups_.Pick(entry.group, at);
}

void HostGate::OpenLease(HostId host, Instant assigned) {
  GatedHost& entry = hosts_.at(host.value());
  CHECK(entry.picks > 0, "nothing of host {} is picked", entry.record.host);
  NoteAssignment(entry, assigned);
  if (--entry.picks == 0) entry.last_pick = Instant();
  if (entry.group != GroupId()) groups_.OpenLease(entry.group, assigned);
}

void HostGate::NoteAssignment(GatedHost& host, Instant at) {
  if (at <= host.record.last_assignment) return;
  host.assigned_before = std::exchange(host.record.last_assignment, at);
}

void HostGate::TakeBackAssignment(HostId host, Instant at, Instant left) {
  GatedHost& entry = hosts_.at(host.value());
  Instant& last = entry.record.last_assignment;
  if (last == at) last = entry.assigned_before;
  last = std::max(last, left);
  entry.assigned_before = last;
  UncountCrawl(at, &entry.record.recent_crawls);
}

void HostGate::NoteAssignment(HostId host, Instant at) {
  GatedHost& entry = hosts_.at(host.value());
  NoteAssignment(entry, at);
  if (entry.group != GroupId()) groups_.NoteAssignment(entry.group, at);
}

void HostGate::EndLease(HostId host) {
  GatedHost& entry = hosts_.at(host.value());
  CHECK(entry.in_flight > entry.picks, "host {} has no lease open", entry.record.host);
  --entry.in_flight;
  if (entry.group != GroupId()) groups_.EndLease(entry.group);
}

void HostGate::PutBack(HostId host) {
  GatedHost& entry = hosts_.at(host.value());
  CHECK(entry.picks > 0, "nothing of host {} is picked", entry.record.host);
  --entry.in_flight;
  if (--entry.picks == 0) entry.last_pick = Instant();
  if (entry.group != GroupId()) groups_.PutBack(entry.group);
}

HostTerms HostGate::TermsOf(HostId id) const {
  const GatedHost& gated = host(id);
  const HostRecord& record = gated.record;
  const HostRule* rule = gated.rule;
  const PolitenessDefaults& crawls = gated.defaults == nullptr ? defaults_ : *gated.defaults;
  HostTerms terms;
  terms.min_delay = FirstOf(record.min_delay, rule == nullptr ? nullptr : &rule->min_delay,
                            crawls.min_delay, defaults_.min_delay);
  terms.max_in_flight =
      FirstOf(record.max_in_flight, rule == nullptr ? nullptr : &rule->max_in_flight,
              crawls.max_in_flight, defaults_.max_in_flight);
  terms.min_page_interval =
      FirstOf(record.min_page_interval, rule == nullptr ? nullptr : &rule->min_page_interval,
              crawls.min_page_interval, defaults_.min_page_interval);
  terms.max_crawls = FirstOf(record.max_crawls, rule == nullptr ? nullptr : &rule->max_crawls,
                             crawls.max_crawls, defaults_.max_crawls);
  terms.hours = FirstOf(record.hours, rule == nullptr ? nullptr : &rule->hours, crawls.hours,
                        defaults_.hours);
  const Duration reported = std::min(record.crawl_delay, max_crawl_delay_);
  if (reported > terms.min_delay.value) terms.min_delay = {reported, TermOrigin::kReported};
  return terms;
}

void HostGate::Forget(HostId host) {
  GatedHost& entry = hosts_.at(host.value());
  CHECK(entry.in_flight == 0, "host {} is in use", entry.record.host);
  SetGroup(host, nullptr);
  ids_.Erase(entry.record.host);
  entry = GatedHost();
  free_ids_.push_back(host);
}

}  // namespace freshet
