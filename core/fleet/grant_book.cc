#include "core/fleet/grant_book.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"

namespace freshet {
namespace {

// Sums of doubles have rounding errors of about 1e-13. This share of R is never granted, to cover
// them.
constexpr double kRounding = 1e-12;

double Usable(Rate rate) { return rate.per_second() * (1 - kRounding); }

}  // namespace

GrantBook::GrantBook(const FleetRateOptions& options, uint64_t term, Rate rate, Instant now)
    : options_(options),
      term_(term),
      began_(now),
      quiet_until_(now + options.lifetime + options.clock_bound * 2),
      limits_{{Usable(rate), 1, 0}} {
  CHECK(Validate(options).ok());
  CHECK(term > 0 && rate.per_second() >= 0, "term {}, rate {}", term, rate.per_second());
}

void GrantBook::SetRate(Rate rate) {
  CHECK(rate.per_second() >= 0, "rate {}", rate.per_second());
  const double usable = Usable(rate);
  if (usable >= limits_.back().rate) {
    // No limit below `usable` applies any longer. These limits are merged into the oldest of them,
    // which covers the most grants, and that limit is raised to `usable`.
    while (limits_.size() > 1 && limits_[limits_.size() - 2].rate <= usable) limits_.pop_back();
    limits_.back().rate = usable;
    return;
  }
  if (limits_.back().first == next_number_) {
    limits_.back().rate = usable;  // no grant was made under this limit
    return;
  }
  limits_.push_back({usable, next_number_, 0});
  if (limits_.size() <= kMostLimits) return;
  // Merges the two oldest limits at the lower rate. The merged limit is stricter, so this can only
  // delay grants.
  limits_.front().rate = limits_[1].rate;
  limits_.erase(limits_.begin() + 1);
}

void GrantBook::Expire(Instant now) {
  quiet_ = now < quiet_until_;
  if (!quiet_) adopted_.clear();
  uint64_t oldest = next_number_;
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    Entries& entries = it->second;
    while (!entries.empty() && entries.front().over <= now) entries.pop_front();
    if (!entries.empty()) oldest = std::min(oldest, entries.front().number);
    const auto at = it++;
    if (entries.empty()) nodes_.erase(at);
  }
  // Drops a limit if the next, stricter limit covers all remaining grants too.
  while (limits_.size() > 1 && limits_[1].first <= oldest) limits_.erase(limits_.begin());
  AddUp();
}

void GrantBook::AddUp() {
  for (Limit& limit : limits_) limit.claimed = 0;
  for (const auto& [node, entries] : nodes_) {
    for (Limit& limit : limits_) limit.claimed += ClaimOf(entries, limit.first);
  }
}

double GrantBook::ClaimOf(const Entries& entries, uint64_t first) {
  for (const Entry& entry : entries) {
    if (entry.number >= first) return entry.rate;
  }
  return 0;
}

const GrantBook::Entries& GrantBook::EntriesOf(NodeId node) const {
  static const Entries kNone;
  const auto it = nodes_.find(node);
  return it == nodes_.end() ? kNone : it->second;
}

void GrantBook::Acknowledge(NodeId node, uint64_t number) {
  const auto it = nodes_.find(node);
  if (it == nodes_.end()) return;
  Entries& entries = it->second;
  for (Limit& limit : limits_) limit.claimed -= ClaimOf(entries, limit.first);
  while (!entries.empty() && entries.front().number < number) entries.pop_front();
  for (Limit& limit : limits_) {
    limit.claimed = std::max(0.0, limit.claimed + ClaimOf(entries, limit.first));
  }
}

void GrantBook::Adopt(const RateGrant& held, Instant sent, Instant now) {
  if (!quiet_ || held.term >= term_ || sent < began_ + options_.clock_bound) return;
  const bool obeyed = held.term > 0 && held.until > now;
  adopted_[held.node] = obeyed ? held.rate.per_second() : 0;
}

void GrantBook::Release(NodeId node) {
  if (nodes_.erase(node) > 0) AddUp();
  adopted_.erase(node);
}

Rate GrantBook::Claim(NodeId node) const {
  return Rate::PerSecond(ClaimOf(EntriesOf(node), limits_.front().first));
}

Rate GrantBook::Free() const {
  double free = std::numeric_limits<double>::infinity();
  for (const Limit& limit : limits_) free = std::min(free, limit.rate - limit.claimed);
  return Rate::PerSecond(std::max(0.0, free));
}

Rate GrantBook::Allowed(NodeId node) const {
  double allowed = std::numeric_limits<double>::infinity();
  const Entries& entries = EntriesOf(node);
  for (const Limit& limit : limits_) {
    allowed = std::min(allowed, limit.rate - (limit.claimed - ClaimOf(entries, limit.first)));
  }
  if (quiet_) {
    const auto it = adopted_.find(node);
    allowed = std::min(allowed, it == adopted_.end() ? 0 : it->second);
  }
  return Rate::PerSecond(std::max(0.0, allowed));
}

RateGrant GrantBook::Grant(NodeId node, Rate rate, Instant now) {
  CHECK(rate.per_second() >= 0 && rate <= Allowed(node), "{} of {}", rate.per_second(),
        Allowed(node).per_second());
  Entries& entries = nodes_[node];
  for (Limit& limit : limits_) limit.claimed -= ClaimOf(entries, limit.first);
  const RateGrant grant{node, term_, next_number_++, rate, now + options_.lifetime};
  while (!entries.empty() && entries.back().rate <= rate.per_second()) entries.pop_back();
  entries.push_back({grant.number, rate.per_second(), grant.until + options_.clock_bound});
  if (entries.size() > kMostEntries) {
    // Merges the oldest entry into the next, with the rate of the oldest, which is higher.
    entries[1].rate = entries[0].rate;
    entries.pop_front();
  }
  for (Limit& limit : limits_) {
    limit.claimed = std::max(0.0, limit.claimed) + ClaimOf(entries, limit.first);
  }
  return grant;
}

}  // namespace freshet
