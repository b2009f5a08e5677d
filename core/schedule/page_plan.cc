#include "core/schedule/page_plan.h"

#include <algorithm>

#include "core/base/check.h"

namespace freshet {
namespace {

// Copies the ids that have a page. Copies only some if `parallel` gives up.
PlanColumns OnlyPages(const PlanColumns& columns, size_t pages, const ParallelFor& parallel) {
  constexpr size_t kLook = 1 << 16;
  PlanColumns dense;
  dense.page.reserve(pages);
  dense.importance.reserve(pages);
  dense.change_rate.reserve(pages);
  dense.complete.reserve(pages);
  for (size_t i = 0; i < columns.page.size(); ++i) {
    if (i % kLook == 0 && parallel.given_up()) break;
    if (columns.page[i] == PageNumber()) continue;
    dense.page.push_back(columns.page[i]);
    dense.importance.push_back(columns.importance[i]);
    dense.change_rate.push_back(columns.change_rate[i]);
    dense.complete.push_back(columns.complete[i]);
  }
  return dense;
}

}  // namespace

size_t PlanColumns::Pages() const {
  return page.size() - static_cast<size_t>(std::count(page.begin(), page.end(), PageNumber()));
}

void PlanColumns::Append(const PlanColumns& other) {
  page.insert(page.end(), other.page.begin(), other.page.end());
  importance.insert(importance.end(), other.importance.begin(), other.importance.end());
  change_rate.insert(change_rate.end(), other.change_rate.begin(), other.change_rate.end());
  complete.insert(complete.end(), other.complete.begin(), other.complete.end());
}

StatusOr<std::vector<PlannedCrawls>> PlanCrawls(PlanMethod method, const PlanColumns& columns,
                                                Rate rate, const PlanOptions& options) {
  // Plans that use a mean rate or a minimum rate would count ids without a page.
  PlanColumns dense;
  const size_t size = columns.Pages();
  const bool gaps = size < columns.page.size();
  if (gaps) dense = OnlyPages(columns, size, options.parallel);
  const PlanColumns& used = gaps ? dense : columns;
  CHECK(used.importance.size() == used.page.size() && used.change_rate.size() == used.page.size() &&
            used.complete.size() == used.page.size(),
        "columns of unequal length");
  const PlanPages pages = {used.importance, used.change_rate, used.complete};
  ASSIGN_OR_RETURN(const RatePlan plan, MakePlan(method, pages, rate.per_second(), options));
  std::vector<PlannedCrawls> crawls(columns.page.size());
  size_t next = 0;
  for (size_t i = 0; i < crawls.size(); ++i) {
    crawls[i].page = columns.page[i];
    if (columns.page[i] == PageNumber()) continue;
    if (!plan.rate.empty()) crawls[i].rate = static_cast<float>(plan.rate[next]);
    if (!plan.probability.empty()) {
      crawls[i].probability = static_cast<float>(plan.probability[next]);
    }
    ++next;
  }
  return crawls;
}

}  // namespace freshet
