#ifndef FRESHET_TESTS_CORE_PLAN_PLAN_COLUMNS_H_
#define FRESHET_TESTS_CORE_PLAN_PLAN_COLUMNS_H_

#include <cstdint>
#include <vector>

#include "core/plan/plan.h"

namespace freshet {

// The vectors behind a PlanPages.
struct PlanColumns {
  std::vector<double> importance;
  std::vector<double> change_rate;
  std::vector<uint8_t> complete;
  [[nodiscard]] PlanPages pages() const { return {importance, change_rate, complete}; }
};

}  // namespace freshet

#endif  // FRESHET_TESTS_CORE_PLAN_PLAN_COLUMNS_H_
