#include "core/schedule/crawl_policy.h"

#include "fmt/ranges.h"

namespace freshet {

StatusOr<CrawlPolicy> ParseCrawlPolicy(std::string_view name) {
  if (const StatusOr<PlanMethod> plan = ParsePlanMethod(name); plan.ok()) return CrawlPolicy(*plan);
  if (const StatusOr<Policy> policy = ParsePolicy(name); policy.ok()) return CrawlPolicy(*policy);
  return InvalidArgument("policy: '{}' is none of {}", name, fmt::join(CrawlPolicyNames(), ", "));
}

StatusOr<CrawlPolicy> ResolvePolicy(std::string_view name) {
  if (name == "default") return CrawlPolicy(Policy{.kind = PolicyKind::kGreedyNcis});
  StatusOr<CrawlPolicy> policy = ParseCrawlPolicy(name);
  if (policy.ok()) return policy;
  return InvalidArgument("{}, default", std::string(policy.status().message()));
}

std::string CrawlPolicyName(const CrawlPolicy& policy) {
  return policy.plan ? std::string(PlanMethodName(*policy.plan)) : PolicyName(policy.index);
}

std::vector<std::string_view> CrawlPolicyNames() {
  std::vector<std::string_view> names = PolicyNames();
  for (const PlanMethod method : AllPlanMethods()) names.push_back(PlanMethodName(method));
  return names;
}

}  // namespace freshet
