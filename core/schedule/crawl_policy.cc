#include "core/schedule/crawl_policy.h"

#include "core/base/wrong_value.h"

namespace freshet {
namespace {

// In a name like this, only the number can be wrong. A list of all names would not help the user.
bool IsApproximation(std::string_view name) { return name.starts_with("ncis_approx_"); }

// The error for an unknown policy name. It lists all names, with `first` before the others unless
// `first` is empty.
Status UnknownPolicy(std::string_view name, std::string_view first) {
  const std::vector<std::string_view> known = CrawlPolicyNames();
  std::vector<std::string> names(known.begin(), known.end());
  if (!first.empty()) names.insert(names.begin(), std::string(first));
  return InvalidArgument("policy: {}", WrongName(name, "a policy", names));
}

}  // namespace

StatusOr<CrawlPolicy> ParseCrawlPolicy(std::string_view name) {
  if (const StatusOr<PlanMethod> plan = ParsePlanMethod(name); plan.ok()) return CrawlPolicy(*plan);
  const StatusOr<Policy> policy = ParsePolicy(name);
  if (policy.ok()) return CrawlPolicy(*policy);
  if (IsApproximation(name)) return policy.status();
  return UnknownPolicy(name, "");
}

StatusOr<CrawlPolicy> ResolvePolicy(std::string_view name) {
  if (name == "default") {
    CrawlPolicy policy(Policy{.kind = PolicyKind::kGreedyNcis});
    policy.is_default = true;
    return policy;
  }
  StatusOr<CrawlPolicy> policy = ParseCrawlPolicy(name);
  if (policy.ok() || IsApproximation(name)) return policy;
  return UnknownPolicy(name, "default");
}

StatusOr<CrawlPolicy> ResolvePolicy(std::string_view name, Duration signal_delay) {
  ASSIGN_OR_RETURN(const CrawlPolicy policy, ResolvePolicy(name));
  if (!policy.plan && policy.index.kind == PolicyKind::kGreedyNcisDelay &&
      signal_delay <= Duration()) {
    return InvalidArgument(
        "policy: '{}' discards signals that come within signals.delay after a crawl, and "
        "signals.delay is 0: set signals.delay, or use greedy_ncis",
        name);
  }
  return policy;
}

std::string CrawlPolicyName(const CrawlPolicy& policy) {
  if (policy.is_default) return "default";
  return policy.plan ? std::string(PlanMethodName(*policy.plan)) : PolicyName(policy.index);
}

std::vector<std::string_view> CrawlPolicyNames() {
  std::vector<std::string_view> names = PolicyNames();
  for (const PlanMethod method : AllPlanMethods()) names.push_back(PlanMethodName(method));
  return names;
}

}  // namespace freshet
