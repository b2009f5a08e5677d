#include "server/api/worker_crawls.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/url.h"
#include "core/schedule/crawl_policy.h"
#include "server/base/limits.h"
#include "server/engine/crawls.h"
#include "server/engine/runtime_settings.h"

namespace freshet {

bool PlansAllPages(const ServerContext& context) {
  const StatusOr<CrawlPolicy> policy = ResolvePolicy(context.settings.policy());
  return policy.ok() && policy->plan;
}

StatusOr<TakenClasses> ClassesOfWorker(
    const ServerContext& context, const google::protobuf::RepeatedPtrField<std::string>& crawl_ids,
    const Caller& caller) {
  const std::shared_ptr<const std::vector<std::string>> allowed = caller.crawl_ids();
  if (crawl_ids.empty() && allowed == nullptr) return TakenClasses();
  std::vector<std::string> canonical;
  if (crawl_ids.empty()) canonical = *allowed;
  for (const std::string& crawl_id : crawl_ids) {
    StatusOr<std::string> id = CanonicalCrawlId(crawl_id);
    if (!id.ok()) return InvalidArgument("crawl_ids: {}", std::string(id.status().message()));
    RETURN_IF_ERROR(caller.CheckCrawlId(*id));
    canonical.push_back(*std::move(id));
  }
  const size_t named = std::max(canonical.size(), static_cast<size_t>(crawl_ids.size()));
  if (named > limits::kMaxCrawlsPerWorker) {
    return InvalidArgument("crawl_ids: the request names {}, and at most {} are allowed", named,
                           limits::kMaxCrawlsPerWorker);
  }
  if (PlansAllPages(context)) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "crawl_ids: the policy {} plans the rates of all pages itself, and hands out "
                      "pages of every crawl id: name no crawl ids, or set another policy first",
                      context.settings.policy());
  }
  return context.crawls.ClassesOf(canonical, caller.claim(), context.clock.Now());
}

}  // namespace freshet
