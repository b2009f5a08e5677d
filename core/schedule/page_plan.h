// A rate plan (core/plan/planner.h) for the pages of one or more shards: its input from the shards,
// and its output for them.
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

// The input of a rate plan, by page id. An id without a page has importance 0. Value type,
// thread-compatible.
struct PlanColumns {
  std::vector<PageNumber> page;  // 0 = no page
  std::vector<double> importance;
  std::vector<double> change_rate;  // per second
  std::vector<uint8_t> complete;    // 1 = every change is signalled

  void Append(const PlanColumns& other);
  // The number of ids that have a page.
  [[nodiscard]] size_t Pages() const;
};

// The plan for one page: poll it at `rate` per second, or crawl it on a signal with `probability`.
struct PlannedCrawls {
  PageNumber page;
  float rate = 0;
  float probability = 0;
};

// Plans the crawls of all pages in `columns` for a total of `rate`, in the order of ids. An id
// without a page gets neither a rate nor a probability. Not OK: the errors of MakePlan.
[[nodiscard]] StatusOr<std::vector<PlannedCrawls>> PlanCrawls(PlanMethod method,
                                                              const PlanColumns& columns, Rate rate,
                                                              const PlanOptions& options = {});

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PAGE_PLAN_H_
