// Every crawl policy that a shard can follow, by name: an index policy picks the page of highest
// value, a rate policy executes a plan of how often each page is crawled.
#ifndef FRESHET_CORE_SCHEDULE_CRAWL_POLICY_H_
#define FRESHET_CORE_SCHEDULE_CRAWL_POLICY_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/model/policy.h"
#include "core/plan/planner.h"

namespace freshet {

// Value type, thread-compatible.
struct CrawlPolicy {
  CrawlPolicy() = default;
  CrawlPolicy(const Policy& policy) : index(policy) {}  // NOLINT: an index policy is a crawl policy
  explicit CrawlPolicy(PlanMethod method) : plan(method) {}

  Policy index;  // in force while there is no plan; what explanations speak of
  std::optional<PlanMethod> plan;
  bool operator==(const CrawlPolicy&) const = default;
};

// The policy that a name stands for which operators give: `default` is greedy_ncis, other names are
// those of ParseCrawlPolicy.
[[nodiscard]] StatusOr<CrawlPolicy> ResolvePolicy(std::string_view name);
// The names of ParsePolicy and of ParsePlanMethod. InvalidArgument, with all names, for any other.
[[nodiscard]] StatusOr<CrawlPolicy> ParseCrawlPolicy(std::string_view name);
[[nodiscard]] std::string CrawlPolicyName(const CrawlPolicy& policy);
[[nodiscard]] std::vector<std::string_view> CrawlPolicyNames();

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CRAWL_POLICY_H_
