// The columns of a plan, made from pages with known rates.
#ifndef FRESHET_CORE_PLAN_RATE_COLUMNS_H_
#define FRESHET_CORE_PLAN_RATE_COLUMNS_H_

#include <cstdint>
#include <vector>

#include "core/model/crawl_value.h"
#include "core/plan/plan.h"

namespace freshet {

// Returns true if every change of the page is signalled and there are no false signals.
[[nodiscard]] inline bool HasCompleteSignals(const PaperRates& page) {
  return page.recall == 1 && page.false_signal_rate == 0;
}

// Value type, thread-compatible.
struct RateColumns {
  std::vector<double> importance;
  std::vector<double> change_rate;
  std::vector<uint8_t> complete;

  // Views of the columns. polled(): as if no page had complete signals.
  [[nodiscard]] PlanPages pages() const { return {importance, change_rate, complete}; }
  [[nodiscard]] PlanPages polled() const { return {importance, change_rate, {}}; }
};

[[nodiscard]] inline RateColumns ColumnsOf(const std::vector<PaperRates>& pages) {
  RateColumns columns;
  for (const PaperRates& page : pages) {
    columns.importance.push_back(page.importance);
    columns.change_rate.push_back(page.change_rate);
    columns.complete.push_back(HasCompleteSignals(page) ? 1 : 0);
  }
  return columns;
}

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_RATE_COLUMNS_H_
