// A rate plan for the pages of one or several shards: its input from the shards, and its output for
// them.
#ifndef FRESHET_CORE_SCHEDULE_PAGE_PLAN_H_
#define FRESHET_CORE_SCHEDULE_PAGE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/page_number.h"
#include "core/plan/planner.h"

namespace freshet {

// The input of a rate plan, by page id: ids without a page have no importance. Value type,
// thread-compatible.
struct PlanColumns {
  std::vector<PageNumber> page;  // 0 = no page
  std::vector<double> importance;
  std::vector<double> change_rate;  // per second
  std::vector<uint8_t> complete;    // 1 = every change is signalled

  void Append(const PlanColumns& other);
  // The number of ids with a page.
  [[nodiscard]] size_t Pages() const;
};

// A page's part of a plan: polled at `rate` per second, or crawled on a signal with `probability`.
struct PlannedCrawls {
  PageNumber page;
  float rate = 0;
  float probability = 0;
};

// The plan of all pages of `columns` for a total of `rate`, in the order of ids; ids without a page
// have no part. Errors of MakePlan.
[[nodiscard]] StatusOr<std::vector<PlannedCrawls>> PlanCrawls(PlanMethod method,
                                                              const PlanColumns& columns, Rate rate,
                                                              const PlanOptions& options = {});

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PAGE_PLAN_H_
