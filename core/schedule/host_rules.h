// Politeness that an operator has configured for hosts by name: for hosts of a list, and for a
// domain with all that is below it, also before any of them is known.
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

// Value type, thread-compatible. Hosts as in canonical URLs.
struct HostRule {
  std::string name;                // a-z, 0-9, '_', '-', '.'
  std::vector<std::string> hosts;  // each is matched
  std::string suffix;              // this domain and all below it are; empty: none
  // Of each host that is matched; unset: not by this rule.
  std::optional<Duration> min_delay;
  std::optional<uint32_t> max_in_flight;
  std::optional<Duration> min_page_interval;
  std::optional<CrawlCap> max_crawls;
  std::optional<DayHours> hours;
  std::optional<GroupTerms> group;  // of all hosts that are matched together
  bool operator==(const HostRule&) const = default;
};

// What hosts bear together that no rule names; terms of zero: nothing is asked for. A host is in
// one group, so that at most one of the two is set. Value type, thread-compatible.
struct SharedTerms {
  GroupTerms by_address;
  GroupTerms by_domain;
  RegistrableDomain domain_of = nullptr;  // null: every host is a domain of its own
};

// Immutable, so thread-safe. Finding costs a hash lookup for each label of a host's name.
class HostRules {
 public:
  HostRules() = default;
  // InvalidArgument names the rule that is empty, sets nothing or names what another one does.
  [[nodiscard]] static StatusOr<std::shared_ptr<const HostRules>> Make(std::vector<HostRule> rules,
                                                                       const SharedTerms& shared);

  // That of the host itself, else that of the longest suffix; null: none.
  [[nodiscard]] const HostRule* Find(std::string_view host) const;
  // The group of that rule; null: it has none.
  [[nodiscard]] std::shared_ptr<const HostGroup> GroupOf(const HostRule& rule) const;
  [[nodiscard]] const SharedTerms& shared() const { return shared_; }
  [[nodiscard]] size_t size() const { return rules_.size(); }

 private:
  [[nodiscard]] Status Add(uint32_t index);

  std::vector<HostRule> rules_;
  std::vector<std::shared_ptr<const HostGroup>> groups_;  // of each
  absl::flat_hash_map<std::string, uint32_t> by_host_;
  absl::flat_hash_map<std::string, uint32_t> by_suffix_;
  SharedTerms shared_;
};

// The groups of addresses and domains, one object each for as long as a host has it. Owner thread
// only.
class SharedGroups {
 public:
  // `name` as messages have it.
  [[nodiscard]] std::shared_ptr<const HostGroup> Of(std::string name, const GroupTerms& terms);
  // Those of which no host is any more included.
  [[nodiscard]] size_t size() const { return groups_.size(); }

 private:
  absl::flat_hash_map<std::string, std::weak_ptr<const HostGroup>> groups_;
  size_t sweep_at_ = 1024;  // with so many, those that are over are dropped
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_RULES_H_
