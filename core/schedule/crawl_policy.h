// Every crawl policy that a shard can follow, by name: an index policy picks the page of highest
// value, a rate policy executes a plan with a crawl rate for each page.
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

  Policy index;  // in force while there is no plan; used in explanations
  // Among pages worth more than the price, those that lose most by waiting go first
  // (core/schedule/urgency.h), not those of highest value; and values count times the chance that
  // the page exists (core/estimate/life.h).
  bool is_default = false;
  std::optional<PlanMethod> plan;
  bool operator==(const CrawlPolicy&) const = default;
};

// The policy of a name that operators give: `default` is greedy_ncis by urgency, other names are
// those of ParseCrawlPolicy.
[[nodiscard]] StatusOr<CrawlPolicy> ResolvePolicy(std::string_view name);
// The policy of a name, for use where signals are discarded for `signal_delay` after a crawl.
// InvalidArgument also for greedy_ncis_d without a delay: it would be greedy_ncis under another
// name.
[[nodiscard]] StatusOr<CrawlPolicy> ResolvePolicy(std::string_view name, Duration signal_delay);
// Reads the names of ParsePolicy and of ParsePlanMethod. InvalidArgument, with all names, for other
// text.
[[nodiscard]] StatusOr<CrawlPolicy> ParseCrawlPolicy(std::string_view name);
[[nodiscard]] std::string CrawlPolicyName(const CrawlPolicy& policy);
[[nodiscard]] std::vector<std::string_view> CrawlPolicyNames();

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_CRAWL_POLICY_H_
