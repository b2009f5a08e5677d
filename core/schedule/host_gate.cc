#include "core/schedule/host_gate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/base/check.h"
#include "core/base/ip_address.h"
#include "core/schedule/host_backoff.h"

namespace freshet {
namespace {

// Entries of hosts to be looked at, beyond two for each host: then those that do not count go.
constexpr size_t kMostVoid = 4096;

// When the delay since an assignment is over; none: there was no assignment.
Instant Delayed(Duration delay, Instant last) { return last == Instant() ? last : last + delay; }

// The term of what says something first.
template <typename T>
Term<T> FirstOf(const std::optional<T>& of_host, const std::optional<T>* of_rule,
                const T& of_crawls, const T& usual) {
  if (of_host) return {*of_host, TermOrigin::kHost};
  if (of_rule != nullptr && *of_rule) return {**of_rule, TermOrigin::kRule};
  return {of_crawls, of_crawls == usual ? TermOrigin::kDefault : TermOrigin::kCrawlId};
}

// Whether the record says nothing but what a host at rest is known for.
bool IsPlain(const HostRecord& record) {
  // A record is forgotten for what it no longer says, whatever else a host may come to have.
  HostRecord plain = record;
  plain.blocked_until = plain.last_assignment = plain.last_throttled = Instant();
  plain.throttles = 0;
  plain.recent_crawls.clear();
  // A worker that fetches from it again tells these again.
  plain.crawl_delay = Duration();
  plain.address = IpAddress();
  return plain == HostRecord{.host = record.host};
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
    if (quota_ != nullptr) quota_->Add(1);
    Host& entry = hosts_[next.value()];
    entry.record.host = host;
    entry.rule = rules_->Find(host);
    if (domains_) entry.domain = domains_(host);
    Regroup(next);
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
  const Host& its = hosts_[host.value()];
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
  Host& entry = hosts_.at(host.value());
  ++entry.in_flight;
  ++entry.picks;
  entry.last_pick = std::max(entry.last_pick, at);
  if (entry.group != GroupId()) groups_.Pick(entry.group, at);
}

void HostGate::OpenLease(HostId host, Instant assigned) {
  Host& entry = hosts_.at(host.value());
  CHECK(entry.picks > 0, "nothing of host {} is picked", entry.record.host);
  NoteAssignment(entry, assigned);
  if (--entry.picks == 0) entry.last_pick = Instant();
  if (entry.group != GroupId()) groups_.OpenLease(entry.group, assigned);
}

void HostGate::NoteAssignment(Host& host, Instant at) {
  if (at <= host.record.last_assignment) return;
  host.assigned_before = std::exchange(host.record.last_assignment, at);
}

void HostGate::TakeBackAssignment(HostId host, Instant at, Instant left) {
  Host& entry = hosts_.at(host.value());
  Instant& last = entry.record.last_assignment;
  if (last == at) last = entry.assigned_before;
  last = std::max(last, left);
  entry.assigned_before = last;
  UncountCrawl(at, &entry.record.recent_crawls);
}

void HostGate::NoteAssignment(HostId host, Instant at) {
  Host& entry = hosts_.at(host.value());
  NoteAssignment(entry, at);
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

HostTerms HostGate::TermsOf(const Host& host) const {
  const HostRecord& record = host.record;
  const HostRule* rule = host.rule;
  const PolitenessDefaults& crawls = DefaultsOf(host);
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

Instant HostGate::FreeAt(HostId host, Instant now) const {
  const Host& entry = hosts_.at(host.value());
  const HostTerms terms = TermsOf(entry);
  const uint32_t limit = terms.max_in_flight.value;
  if (limit != 0 && entry.in_flight >= limit) return Instant::Infinite();
  const Instant free =
      std::max(RestedAt(entry, terms), Delayed(terms.min_delay.value, entry.last_pick));
  const DayHours& hours = terms.hours.value;
  return hours.always() ? free : hours.NextOpen(std::max(free, now));
}

Instant HostGate::AllowedAt(HostId host, Instant now) const {
  const Host& entry = hosts_.at(host.value());
  const HostTerms terms = TermsOf(entry);
  return terms.hours.value.NextOpen(std::max(RestedAt(entry, terms), now));
}

HostStanding HostGate::StandingOf(HostId host, Instant now) const {
  const Host& entry = hosts_.at(host.value());
  const HostTerms terms = TermsOf(entry);
  const uint32_t limit = terms.max_in_flight.value;
  if (entry.record.blocked_until > now) return HostStanding::kBlocked;
  if (limit != 0 && entry.in_flight >= limit) return HostStanding::kInFlight;
  const Instant rested =
      std::max(RestedAt(entry, terms), Delayed(terms.min_delay.value, entry.last_pick));
  if (rested > now) return HostStanding::kDelayed;
  if (terms.hours.value.NextOpen(now) > now) return HostStanding::kHours;
  const bool group_free = entry.group == GroupId() || groups_.FreeAt(entry.group) <= now;
  return group_free ? HostStanding::kFree : HostStanding::kGroup;
}

Duration HostGate::Spacing(HostId host) const {
  // No assignment comes later than that.
  constexpr Duration kLatest = Duration::Seconds(1);
  const HostTerms terms = TermsOf(host);
  const CrawlCap& cap = terms.max_crawls.value;
  return cap.per <= kLatest ? std::max(terms.min_delay.value, cap.per) : terms.min_delay.value;
}

Duration HostGate::LongestDelay(HostId host) const {
  const Host& entry = hosts_.at(host.value());
  const Duration own = TermsOf(entry).min_delay.value;
  const auto& group = groups_.group(entry.group);
  return group == nullptr ? own : std::max(own, group->terms.min_delay);
}

Duration HostGate::PageInterval(HostId host) const {
  const Host& entry = hosts_.at(host.value());
  if (entry.record.min_page_interval) return *entry.record.min_page_interval;
  if (entry.rule != nullptr && entry.rule->min_page_interval) return *entry.rule->min_page_interval;
  return defaults_.min_page_interval;
}

bool HostGate::HasPageInterval(HostId host) const {
  const Host& entry = hosts_.at(host.value());
  return entry.record.min_page_interval || (entry.rule != nullptr && entry.rule->min_page_interval);
}

Instant HostGate::RestedAt(const Host& host, const HostTerms& terms) {
  const HostRecord& record = host.record;
  const Instant delayed = Delayed(terms.min_delay.value, record.last_assignment);
  // What is picked is as good as assigned.
  const Instant capped =
      CapAllows(terms.max_crawls.value, record.recent_crawls, host.picks, host.last_pick);
  return std::max({record.blocked_until, delayed, capped});
}

Instant HostGate::ForgottenAt(const Host& host) const {
  const HostRecord& record = host.record;
  const HostTerms terms = TermsOf(host);
  Instant at = RestedAt(host, terms);
  if (!record.recent_crawls.empty()) {
    at = std::max(at, record.recent_crawls.back().last + terms.max_crawls.value.per);
  }
  // Each throttled answer stands for a quiet time.
  return std::max(at, QuietSince(record) + throttles_forgiven_in_ * record.throttles);
}

void HostGate::SetAtRest(Host& host, bool at_rest) {
  if (std::exchange(host.leaves, false)) --leaving_;
  if (std::exchange(host.at_rest, at_rest) == at_rest) return;
  at_rest ? ++at_rest_ : --at_rest_;
  if (quota_ == nullptr) return;
  at_rest ? quota_->Give(1) : quota_->Add(1);
}

void HostGate::AddPage(HostId host) {
  Host& entry = hosts_.at(host.value());
  ++entry.pages;
  SetAtRest(entry, false);
}

void HostGate::RemovePage(HostId host) {
  Host& entry = hosts_.at(host.value());
  CHECK(entry.pages > 0, "host {} has no page", entry.record.host);
  --entry.pages;
  Rest(host);
}

void HostGate::Rest(HostId host) {
  Host& entry = hosts_.at(host.value());
  SetAtRest(entry, entry.pages == 0 && entry.in_flight == 0 && !entry.record.host.empty() &&
                       IsPlain(entry.record));
  const Instant until = ForgottenAt(entry);
  if (entry.pages > 0 || until >= entry.resting_until) return;
  entry.resting_until = until;
  resting_.push({until, host});
  // On a standby nobody takes them.
  if (resting_.size() > 2 * hosts_.size() + kMostVoid) DropVoid();
}

void HostGate::DropVoid() {
  std::vector<Resting> count;
  for (uint32_t i = 0; i < id_limit(); ++i) {
    const Instant until = hosts_[i].resting_until;
    if (!until.infinite()) count.push_back({until, HostId(i)});
  }
  resting_ = decltype(resting_)(std::greater<>(), std::move(count));
  DCHECK(resting_.size() <= hosts_.size());
}

void HostGate::TakeRested(Instant now, size_t max, std::vector<HostId>* hosts) {
  while (max > 0 && !resting_.empty() && resting_.top().until <= now) {
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
  TakeTooMany(max, hosts);
}

void HostGate::TakeTooMany(size_t max, std::vector<HostId>* hosts) {
  while (max > 0 && TooManyAtRest() && !resting_.empty()) {
    const auto [until, host] = resting_.top();
    resting_.pop();
    Host& entry = hosts_[host.value()];
    if (until != entry.resting_until) continue;
    entry.resting_until = Instant::Infinite();
    if (ForgottenAt(entry) > until) {
      Rest(host);
    } else if (entry.at_rest) {
      entry.leaves = true;
      ++leaving_;
      hosts->push_back(host);
      --max;
    }
  }
}

bool HostGate::CanForget(HostId host, Instant now) const {
  const Host& entry = hosts_.at(host.value());
  return entry.pages == 0 && entry.in_flight == 0 && !entry.record.host.empty() &&
         (entry.leaves || ForgottenAt(entry) <= now) && IsPlain(entry.record);
}

void HostGate::Forget(HostId host) {
  Host& entry = hosts_.at(host.value());
  CHECK(entry.pages == 0 && entry.in_flight == 0, "host {} is in use", entry.record.host);
  SetGroup(host, nullptr);
  SetAtRest(entry, false);
  ids_.erase(entry.record.host);
  entry = Host();
  free_ids_.push_back(host);
  if (quota_ != nullptr) quota_->Give(1);
}

}  // namespace freshet
