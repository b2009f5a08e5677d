// Politeness that an operator configures for hosts by name: for listed hosts, or for a domain and
// all hosts below it. The hosts need not be known.
#ifndef FRESHET_CORE_SCHEDULE_HOST_RULES_H_
#define FRESHET_CORE_SCHEDULE_HOST_RULES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/day_hours.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/crawl_cap.h"
#include "core/schedule/domain.h"
#include "core/schedule/host_group.h"

namespace freshet {

// A rule. Hosts are written as in canonical URLs. Value type, thread-compatible.
struct HostRule {
  std::string name;                // a-z, 0-9, '_', '-', '.'
  std::vector<std::string> hosts;  // the rule matches these hosts
  std::string suffix;              // and this domain with all hosts below it; empty = none
  // The terms of each matched host; unset = the rule does not set the term.
  std::optional<Duration> min_delay;
  std::optional<uint32_t> max_in_flight;
  std::optional<Duration> min_page_interval;
  std::optional<CrawlCap> max_crawls;
  std::optional<DayHours> hours;
  std::optional<GroupTerms> group;  // terms for all matched hosts together
  bool operator==(const HostRule&) const = default;
};

// The group terms of hosts whose rule has no group; 0 = none. A host is in only one group, so at
// most one of the two is set. Value type, thread-compatible.
struct SharedTerms {
  GroupTerms by_address;
  GroupTerms by_domain;
  RegistrableDomain domain_of = nullptr;  // nullptr = every host counts as a domain
};

// All rules. Finding a rule costs one hash lookup for each label of the host's name. Immutable, so
// thread-safe.
class HostRules {
 public:
  HostRules() = default;
  // Not OK: InvalidArgument, with the name of the rule, if a rule matches no hosts, sets nothing,
  // or has the name, a host or the suffix of another rule, or if there are more than
  // limits::kMaxHostRules.
  [[nodiscard]] static StatusOr<std::shared_ptr<const HostRules>> Make(std::vector<HostRule> rules,
                                                                       const SharedTerms& shared);

  // The rule that lists the host, or else the rule with the longest matching suffix; nullptr =
  // none.
  [[nodiscard]] const HostRule* Find(std::string_view host) const;
  // The group of the rule; nullptr = none. Precondition: the rule is one of these rules.
  [[nodiscard]] std::shared_ptr<const HostGroup> GroupOf(const HostRule& rule) const;
  [[nodiscard]] const SharedTerms& shared() const { return shared_; }
  [[nodiscard]] size_t size() const { return rules_.size(); }

 private:
  [[nodiscard]] Status Add(uint32_t index);

  std::vector<HostRule> rules_;
  std::vector<std::shared_ptr<const HostGroup>> groups_;  // by rule; nullptr = none
  absl::flat_hash_map<std::string, uint32_t> by_host_;
  absl::flat_hash_map<std::string, uint32_t> by_suffix_;
  SharedTerms shared_;
};

// The groups by address and by domain. Each group is one object for as long as a host uses it.
// Owner thread only.
class SharedGroups {
 public:
  // The group with this name, made if needed. Messages show `name`.
  [[nodiscard]] std::shared_ptr<const HostGroup> Of(std::string name, const GroupTerms& terms);
  // The number of groups, including some without hosts.
  [[nodiscard]] size_t size() const { return groups_.size(); }

 private:
  absl::flat_hash_map<std::string, std::weak_ptr<const HostGroup>> groups_;
  size_t sweep_at_ = 1024;  // at this size, groups without hosts are dropped
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_RULES_H_
