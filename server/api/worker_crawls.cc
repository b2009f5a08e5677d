#include "server/api/worker_crawls.h"

#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/url.h"

namespace freshet {

bool PlansAllPages(const ServerContext& context) {
  const StatusOr<CrawlPolicy> policy = ResolvePolicy(context.settings.policy());
  return policy.ok() && policy->plan;
}

StatusOr<ClassSet> ClassesOfWorker(
    const ServerContext& context,
    const google::protobuf::RepeatedPtrField<std::string>& crawl_ids) {
  if (crawl_ids.empty()) return kAllClasses;
  if (static_cast<size_t>(crawl_ids.size()) > limits::kMaxCrawlsPerWorker) {
    return InvalidArgument("crawl_ids: {} are named, at most {} may be", crawl_ids.size(),
                           limits::kMaxCrawlsPerWorker);
  }
  std::vector<std::string> canonical;
  for (const std::string& crawl_id : crawl_ids) {
    StatusOr<std::string> id = CanonicalCrawlId(crawl_id);
    if (!id.ok()) return InvalidArgument("crawl_ids: {}", std::string(id.status().message()));
    canonical.push_back(*std::move(id));
  }
  if (PlansAllPages(context)) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "crawl_ids: the policy {} plans the rates of all pages itself, and hands out "
                      "those of any crawl id; set another policy first, or name none",
                      context.settings.policy());
  }
  return context.crawls.ClassesOf(canonical);
}

}  // namespace freshet
