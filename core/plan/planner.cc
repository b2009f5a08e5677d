#include "core/plan/planner.h"

#include <array>
#include <string>

#include "core/base/check.h"
#include "core/plan/binary.h"
#include "core/plan/frontera.h"
#include "core/plan/lambda_crawl.h"
#include "core/plan/lds.h"

namespace freshet {
namespace {

constexpr std::array kMethods = {
    PlanMethod::kLds,        PlanMethod::kLambdaCrawl,       PlanMethod::kLcIncomplete,
    PlanMethod::kLcComplete, PlanMethod::kLambdaCrawlApprox, PlanMethod::kBlc,
    PlanMethod::kBlcEps,     PlanMethod::kUniform,           PlanMethod::kChangeRate,
    PlanMethod::kFrontera,   PlanMethod::kFronteraClustered,
};

StatusOr<RatePlan> Make(PlanMethod method, const PlanPages& pages, double crawl_rate,
                        const PlanOptions& options) {
  const ParallelFor& parallel = options.parallel;
  switch (method) {
    case PlanMethod::kLds:
      return PlanLds(pages, crawl_rate, parallel);
    case PlanMethod::kLambdaCrawl:
      return PlanLambdaCrawl(pages, crawl_rate, parallel);
    case PlanMethod::kLcIncomplete:
      return PlanLambdaCrawlIncomplete(pages, crawl_rate, parallel);
    case PlanMethod::kLcComplete:
      return PlanLambdaCrawlComplete(pages, crawl_rate, parallel);
    case PlanMethod::kLambdaCrawlApprox:
      return PlanLambdaCrawlApprox(pages, crawl_rate, parallel);
    case PlanMethod::kBlc:
      return PlanBlc(pages, crawl_rate, parallel);
    case PlanMethod::kBlcEps:
      return PlanBlcWithFloor(pages, crawl_rate, options.epsilon, parallel);
    case PlanMethod::kUniform:
      return PlanUniform(pages, crawl_rate, parallel);
    case PlanMethod::kChangeRate:
      return PlanChangeRate(pages, crawl_rate, parallel);
    case PlanMethod::kFrontera:
      return PlanFrontera(pages, crawl_rate, parallel);
    case PlanMethod::kFronteraClustered:
      return PlanFronteraClustered(pages, crawl_rate, options.clusters, parallel);
  }
  CHECK(false, "method {}", static_cast<int>(method));
  return InvalidArgument("unknown method");
}

}  // namespace

std::span<const PlanMethod> AllPlanMethods() { return kMethods; }

std::string_view PlanMethodName(PlanMethod method) {
  switch (method) {
    case PlanMethod::kLds:
      return "lds";
    case PlanMethod::kLambdaCrawl:
      return "lambda_crawl";
    case PlanMethod::kLcIncomplete:
      return "lc_incompl";
    case PlanMethod::kLcComplete:
      return "lc_compl";
    case PlanMethod::kLambdaCrawlApprox:
      return "lambda_crawl_approx";
    case PlanMethod::kBlc:
      return "blc";
    case PlanMethod::kBlcEps:
      return "blc_eps";
    case PlanMethod::kUniform:
      return "uniform";
    case PlanMethod::kChangeRate:
      return "change_rate";
    case PlanMethod::kFrontera:
      return "frontera";
    case PlanMethod::kFronteraClustered:
      return "frontera_clustered";
  }
  return "unknown";
}

StatusOr<PlanMethod> ParsePlanMethod(std::string_view name) {
  for (const PlanMethod method : kMethods) {
    if (PlanMethodName(method) == name) return method;
  }
  return NotFound("'{}' is not a rate plan", std::string(name));
}

CrawlTimes CrawlTimesOf(PlanMethod method) {
  const bool even = method == PlanMethod::kLds || method == PlanMethod::kFrontera ||
                    method == PlanMethod::kFronteraClustered;
  return even ? CrawlTimes::kEqualIntervals : CrawlTimes::kPoisson;
}

StatusOr<RatePlan> MakePlan(PlanMethod method, const PlanPages& pages, double crawl_rate,
                            const PlanOptions& options) {
  const Status given_up = MakeStatus(absl::StatusCode::kCancelled, "the plan was given up");
  if (options.parallel.given_up()) return given_up;
  StatusOr<RatePlan> plan = Make(method, pages, crawl_rate, options);
  if (options.parallel.given_up()) return given_up;
  return plan;
}

}  // namespace freshet
