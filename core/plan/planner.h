// All rate plans by name: exactly the methods of docs/model.md, "Plans".
#ifndef FRESHET_CORE_PLAN_PLANNER_H_
#define FRESHET_CORE_PLAN_PLANNER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/status.h"
#include "core/plan/parallel.h"
#include "core/plan/plan.h"

namespace freshet {

enum class PlanMethod : uint8_t {
  kLds,                // "lds"
  kLambdaCrawl,        // "lambda_crawl"
  kLcIncomplete,       // "lc_incompl"
  kLcComplete,         // "lc_compl"
  kLambdaCrawlApprox,  // "lambda_crawl_approx"
  kBlc,                // "blc"
  kBlcEps,             // "blc_eps"
  kUniform,            // "uniform"
  kChangeRate,         // "change_rate"
  kFrontera,           // "frontera"
  kFronteraClustered,  // "frontera_clustered"
};

// All methods, in the order of the enum.
[[nodiscard]] std::span<const PlanMethod> AllPlanMethods();
[[nodiscard]] std::string_view PlanMethodName(PlanMethod method);
// NotFound for any other name.
[[nodiscard]] StatusOr<PlanMethod> ParsePlanMethod(std::string_view name);

// The crawl times that a method assumes: equal intervals for lds and both forms of frontera,
// otherwise Poisson.
[[nodiscard]] CrawlTimes CrawlTimesOf(PlanMethod method);

struct PlanOptions {
  double epsilon = 0.4;    // blc_eps: the floor, as a share of R/m
  size_t clusters = 1000;  // frontera_clustered: at least 1
  ParallelFor parallel = SerialFor;
};

// Makes a plan by the given method. The header of each method describes its plan. The result is the
// same for every executor. Returns Cancelled if the executor has given up.
[[nodiscard]] StatusOr<RatePlan> MakePlan(PlanMethod method, const PlanPages& pages,
                                          double crawl_rate, const PlanOptions& options = {});

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_PLANNER_H_
