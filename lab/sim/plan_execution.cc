#include "lab/sim/plan_execution.h"

namespace freshet {
namespace {

// Returns the rate at which slots go to polled pages: the slots that crawls on signals do not use.
double PolledRate(const RatePlan& plan, double crawl_rate) {
  if (plan.probability.empty()) return crawl_rate;
  double polled = 0;
  for (const double rate : plan.rate) polled += rate;
  return polled > 0 ? polled : crawl_rate;
}

}  // namespace

StatusOr<PlanExecution> PlanExecution::Create(const RatePlan& plan, double crawl_rate) {
  ASSIGN_OR_RETURN(LowDiscrepancySchedule schedule,
                   LowDiscrepancySchedule::Create(plan.rate, PolledRate(plan, crawl_rate)));
  return PlanExecution(std::move(schedule), plan.probability);
}

Status PlanExecution::Replan(const RatePlan& plan, double crawl_rate) {
  RETURN_IF_ERROR(schedule_.Replan(plan.rate, PolledRate(plan, crawl_rate)));
  probability_ = plan.probability;
  return {};
}

void PlanExecution::Signal(uint32_t page) {
  if (probability_.empty()) return;
  if (waits_.empty()) waits_.resize(probability_.size());
  if (waits_[page] != 0 || chance_.Uniform() >= probability_[page]) return;
  waits_[page] = 1;
  signalled_.push_back(page);
}

std::optional<uint32_t> PlanExecution::Pick() {
  if (!signalled_.empty()) {
    const uint32_t page = signalled_.front();
    signalled_.pop_front();
    waits_[page] = 0;
    return page;
  }
  const std::optional<size_t> page = schedule_.Next();
  if (!page.has_value()) return std::nullopt;
  return static_cast<uint32_t>(*page);
}

}  // namespace freshet
