// Politeness that an operator has configured for hosts by name: for hosts of a list, and for a
// domain with all hosts below it, known or not.
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

// A rule. Hosts are as in canonical URLs. Value type, thread-compatible.
struct HostRule {
  std::string name;                // a-z, 0-9, '_', '-', '.'
  std::vector<std::string> hosts;  // the rule matches each of these
  std::string suffix;              // and this domain with all below it; empty = none
  // The terms of each matched host; unset = not by this rule.
  std::optional<Duration> min_delay;
  std::optional<uint32_t> max_in_flight;
  std::optional<Duration> min_page_interval;
  std::optional<CrawlCap> max_crawls;
  std::optional<DayHours> hours;
  std::optional<GroupTerms> group;  // the terms of all matched hosts together
  bool operator==(const HostRule&) const = default;
};

// The group terms of hosts without a rule; 0 = none. A host is in one group, so at most one of the
// two is set. Value type, thread-compatible.
struct SharedTerms {
  GroupTerms by_address;
  GroupTerms by_domain;
  RegistrableDomain domain_of = nullptr;  // nullptr = every host is a domain of its own
};

// All rules. Finding costs a hash lookup for each label of a host's name. Immutable, so
// thread-safe.
class HostRules {
 public:
  HostRules() = default;
  // InvalidArgument names the rule that is empty, sets nothing or repeats a host or suffix of
  // another.
  [[nodiscard]] static StatusOr<std::shared_ptr<const HostRules>> Make(std::vector<HostRule> rules,
                                                                       const SharedTerms& shared);

  // The rule of the host itself, else of the longest suffix; nullptr = none.
  [[nodiscard]] const HostRule* Find(std::string_view host) const;
  // The group of the rule; nullptr = none.
  [[nodiscard]] std::shared_ptr<const HostGroup> GroupOf(const HostRule& rule) const;
  [[nodiscard]] const SharedTerms& shared() const { return shared_; }
  [[nodiscard]] size_t size() const { return rules_.size(); }

 private:
  [[nodiscard]] Status Add(uint32_t index);

  std::vector<HostRule> rules_;
  std::vector<std::shared_ptr<const HostGroup>> groups_;  // the group of each rule
  absl::flat_hash_map<std::string, uint32_t> by_host_;
  absl::flat_hash_map<std::string, uint32_t> by_suffix_;
  SharedTerms shared_;
};

// The groups of addresses and domains, one object each for as long as a host has it. Owner thread
// only.
class SharedGroups {
 public:
  // The group; `name` is as in messages.
  [[nodiscard]] std::shared_ptr<const HostGroup> Of(std::string name, const GroupTerms& terms);
  // Groups without hosts included.
  [[nodiscard]] size_t size() const { return groups_.size(); }

 private:
  absl::flat_hash_map<std::string, std::weak_ptr<const HostGroup>> groups_;
  size_t sweep_at_ = 1024;  // size at which groups without hosts are dropped
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_RULES_H_
