#include "core/schedule/page_plan.h"

namespace freshet {

void PlanColumns::Append(const PlanColumns& other) {
  page.insert(page.end(), other.page.begin(), other.page.end());
  importance.insert(importance.end(), other.importance.begin(), other.importance.end());
  change_rate.insert(change_rate.end(), other.change_rate.begin(), other.change_rate.end());
  complete.insert(complete.end(), other.complete.begin(), other.complete.end());
}

StatusOr<std::vector<PlannedCrawls>> PlanCrawls(PlanMethod method, const PlanColumns& columns,
                                                Rate rate, const PlanOptions& options) {
  const PlanPages pages = {columns.importance, columns.change_rate, columns.complete};
  ASSIGN_OR_RETURN(const RatePlan plan, MakePlan(method, pages, rate.per_second(), options));
  std::vector<PlannedCrawls> crawls(pages.size());
  for (size_t i = 0; i < crawls.size(); ++i) {
    crawls[i].page = columns.page[i];
    if (!plan.rate.empty()) crawls[i].rate = static_cast<float>(plan.rate[i]);
    if (!plan.probability.empty()) {
      crawls[i].probability = static_cast<float>(plan.probability[i]);
    }
  }
  return crawls;
}

}  // namespace freshet
