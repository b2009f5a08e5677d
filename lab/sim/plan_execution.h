// Executes a rate plan slot by slot.
#ifndef FRESHET_LAB_SIM_PLAN_EXECUTION_H_
#define FRESHET_LAB_SIM_PLAN_EXECUTION_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/base/status.h"
#include "core/plan/plan.h"
#include "lab/methods/low_discrepancy.h"

namespace freshet {

// Picks polled pages by a low-discrepancy schedule. Pages that the plan crawls on signals come
// first, in the order of their signals. A signal leads to a crawl only with the probability that
// the plan gives its page. Thread-compatible.
class PlanExecution {
 public:
  // Creates an execution. Errors: those of LowDiscrepancySchedule.
  static StatusOr<PlanExecution> Create(const RatePlan& plan, double crawl_rate);

  // Continues with another plan for the same pages. Errors: see Create.
  [[nodiscard]] Status Replan(const RatePlan& plan, double crawl_rate);
  void Signal(uint32_t page);
  [[nodiscard]] std::optional<uint32_t> Pick();

 private:
  PlanExecution(LowDiscrepancySchedule schedule, std::vector<double> probability)
      : schedule_(std::move(schedule)), probability_(std::move(probability)) {}

  LowDiscrepancySchedule schedule_;
  std::vector<double> probability_;  // empty = signals are ignored
  std::vector<uint8_t> waits_;
  std::deque<uint32_t> signalled_;
  Random chance_{1};  // decides which signals count
};

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_PLAN_EXECUTION_H_
