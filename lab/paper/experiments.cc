// The table of all experiments, and those experiments that are the only ones of their paper.
#include <utility>

#include "core/plan/frontera.h"
#include "lab/paper/lambda_crawl.h"
#include "lab/paper/learn_to_crawl.h"
#include "lab/paper/noisy_signals.h"
#include "lab/paper/plan.h"

namespace freshet {
namespace {

// Two pages: one rarely has new content, but then much of it; the other often has a little.
constexpr double kFronteraValues[] = {1, 5};   // w
constexpr double kFronteraChanges[] = {5, 1};  // lambda

PaperPlan PlanFronteraTwoPages() {
  PaperPlan plan{
      .result = {.title = "Optimal crawl frequencies of two pages",
                 .x_name = "mean_frequency",
                 .x_label = "mean frequency, in crawls per unit of time",
                 .y_label = "frequency of each page, in crawls per unit of time",
                 .series = {{.name = "f1: w = 1, λ = 5"}, {.name = "f2: w = 5, λ = 1"}}}};
  constexpr int kPoints = 61;
  constexpr double kHighest = 3;
  for (int i = 0; i < kPoints; ++i) plan.result.x.push_back(kHighest * i / (kPoints - 1));
  for (size_t page = 0; page < 2; ++page) {
    plan.parts.push_back(
        {.series = page, .play = [page, means = plan.result.x]() -> StatusOr<std::vector<double>> {
           const PlanPages pages{
               .importance = kFronteraValues, .change_rate = kFronteraChanges, .complete = {}};
           std::vector<double> frequencies;
           for (const double mean : means) {
             ASSIGN_OR_RETURN(const RatePlan best, PlanFrontera(pages, 2 * mean));
             frequencies.push_back(best.rate[page]);
           }
           return frequencies;
         }});
  }
  return plan;
}

PaperExperiment FronteraTwoPages() {
  return {.summary = {"frontera-f1f2", "the best frequencies of two pages over their mean"},
          .random = false,
          .plan = [](const PaperOptions&) { return PlanFronteraTwoPages(); }};
}

std::vector<PaperExperiment> MakePaperExperiments() {
  std::vector<PaperExperiment> all = NoisySignalsExperiments();
  for (PaperExperiment& experiment : LambdaCrawlExperiments()) all.push_back(experiment);
  for (PaperExperiment& experiment : LearnToCrawlExperiments()) all.push_back(experiment);
  all.push_back(FronteraTwoPages());
  return all;
}

}  // namespace

const std::vector<PaperExperiment>& AllPaperExperiments() {
  static const std::vector<PaperExperiment> kAll = MakePaperExperiments();
  return kAll;
}

}  // namespace freshet
