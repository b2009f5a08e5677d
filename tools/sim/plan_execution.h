// Executes a rate plan slot by slot.
#ifndef FRESHET_TOOLS_SIM_PLAN_EXECUTION_H_
#define FRESHET_TOOLS_SIM_PLAN_EXECUTION_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/base/status.h"
#include "core/plan/low_discrepancy.h"
#include "core/plan/plan.h"

namespace freshet {

// Pages that the plan polls come by a low-discrepancy schedule; a page that it crawls on signals is
// taken when it signals, with its probability and in the order of the signals, before all others.
// Thread-compatible.
class PlanExecution {
 public:
  // Errors of LowDiscrepancySchedule.
  static StatusOr<PlanExecution> Create(const RatePlan& plan, double crawl_rate);

  // Goes on with another plan for the same pages. Errors as Create.
  [[nodiscard]] Status Replan(const RatePlan& plan, double crawl_rate);
  void Signal(uint32_t page);
  [[nodiscard]] std::optional<uint32_t> Pick();

 private:
  PlanExecution(LowDiscrepancySchedule schedule, std::vector<double> probability)
      : schedule_(std::move(schedule)), probability_(std::move(probability)) {}

  LowDiscrepancySchedule schedule_;
  std::vector<double> probability_;  // empty: signals are not heeded
  std::vector<uint8_t> waits_;
  std::deque<uint32_t> signalled_;
  Random chance_{1};  // whose signals are heeded
};

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_PLAN_EXECUTION_H_
