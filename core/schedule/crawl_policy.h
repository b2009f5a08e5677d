// Every crawl policy that a shard can follow, by name: an index policy picks the page of highest
// value, a rate policy executes a plan of how often each page is crawled.
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

  Policy index;  // in force while there is no plan; what explanations speak of
  // Of the pages that are worth more than the price those go first that lose most by waiting
  // (core/schedule/urgency.h), not those of highest value; and pages count as far as they are
  // likely there (core/estimate/life.h).
  bool is_default = false;
  std::optional<PlanMethod> plan;
  bool operator==(const CrawlPolicy&) const = default;
};

// The policy that a name stands for which operators give: `default` is greedy_ncis by urgency,
// other names are those of ParseCrawlPolicy.
[[nodiscard]] StatusOr<CrawlPolicy> ResolvePolicy(std::string_view name);
// The same for a policy that is to come into force where signals are discarded for `signal_delay`
// after a crawl. InvalidArgument also for greedy_ncis_d without a delay: it would be greedy_ncis
// under another name.
[[nodiscard]] StatusOr<CrawlPolicy> ResolvePolicy(std::string_view name, Duration signal_delay);
// The names of ParsePolicy and of ParsePlanMethod. InvalidArgument, with all names, for any other.
[[nodiscard]] StatusOr<CrawlPolicy> ParseCrawlPolicy(std::string_view name);
[[nodiscard]] std::string CrawlPolicyName(const CrawlPolicy& policy);
[[nodiscard]] std::vector<std::string_view> CrawlPolicyNames();

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CRAWL_POLICY_H_
