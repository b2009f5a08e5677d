// All crawl policies that a shard can follow, by name. An index policy picks the page with the
// highest value. A rate policy executes a plan that has a crawl rate for each page.
#ifndef FRESHET_CORE_SCHEDULE_CRAWL_POLICY_H_
#define FRESHET_CORE_SCHEDULE_CRAWL_POLICY_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/policy.h"
#include "core/plan/planner.h"

namespace freshet {

// Value type, thread-compatible.
struct CrawlPolicy {
  CrawlPolicy() = default;
  CrawlPolicy(const Policy& policy) : index(policy) {}  // NOLINT: an index policy is a crawl policy
  explicit CrawlPolicy(PlanMethod method) : plan(method) {}

  Policy index;  // used while there is no plan, and in explanations
  // Pages that are worth more than the price are ordered by what they lose by waiting
  // (core/schedule/urgency.h), not by value. Also, each value is multiplied by the probability that
  // the page exists (core/estimate/life.h).
  bool is_default = false;
  std::optional<PlanMethod> plan;
  bool operator==(const CrawlPolicy&) const = default;
};

// The policy for a name that an operator gives. `default` is greedy_ncis ordered by urgency. Other
// names are those of ParseCrawlPolicy.
[[nodiscard]] StatusOr<CrawlPolicy> ResolvePolicy(std::string_view name);
// Like ResolvePolicy above, for a server that discards signals within `signal_delay` after a crawl.
// Not OK: InvalidArgument also for greedy_ncis_d if `signal_delay` is 0, because it would be the
// same as greedy_ncis.
[[nodiscard]] StatusOr<CrawlPolicy> ResolvePolicy(std::string_view name, Duration signal_delay);
// Accepts the names of ParsePolicy and of ParsePlanMethod. Not OK: InvalidArgument, with all names,
// for any other text.
[[nodiscard]] StatusOr<CrawlPolicy> ParseCrawlPolicy(std::string_view name);
[[nodiscard]] std::string CrawlPolicyName(const CrawlPolicy& policy);
[[nodiscard]] std::vector<std::string_view> CrawlPolicyNames();

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CRAWL_POLICY_H_
