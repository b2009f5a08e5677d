#include "lab/paper/paper.h"

#include <algorithm>
#include <utility>

#include "core/base/wrong_value.h"
#include "lab/common/threaded_for.h"
#include "lab/paper/plan.h"
#include "lab/sim/slot_policies.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

// The values, by series, x and repeat. No two parts write the same value.
using PaperValues = std::vector<std::vector<std::vector<double>>>;

Status ValidatePaper(const PaperOptions& options, const PaperExperiment& experiment) {
  const std::string& name = experiment.summary.name;
  if (options.repeats < 1 || options.repeats > 1000) {
    return InvalidArgument("--repeats {}: must be from 1 to 1000", options.repeats);
  }
  if (!(options.horizon >= 0 && options.horizon <= kLongestHorizon)) {
    return InvalidArgument("--horizon {}: must be from 0 to {}", options.horizon, kLongestHorizon);
  }
  for (const int pages : options.pages) {
    if (pages < 1 || pages > 10'000'000) {
      return InvalidArgument("--pages {}: must be from 1 to 10000000", pages);
    }
  }
  if (!std::is_sorted(options.pages.begin(), options.pages.end(), std::less_equal<>())) {
    return InvalidArgument("--pages: not in rising order");
  }
  if (!experiment.random && (!options.pages.empty() || options.horizon != 0)) {
    return InvalidArgument(
        "--pages, --horizon: experiment {} only computes a formula: leave out both", name);
  }
  if (!experiment.timed && options.horizon != 0) {
    return InvalidArgument("--horizon: experiment {} does not run over time: leave out --horizon",
                           name);
  }
  if (!experiment.many_sizes && options.pages.size() > 1) {
    return InvalidArgument("--pages: experiment {} takes only one number of pages", name);
  }
  return {};
}

Status PlayParts(PaperPlan& plan, unsigned threads,
                 const std::function<void(const PaperProgress&)>& progress, PaperValues& values) {
  // Starts with the most expensive part, so that it does not run alone at the end.
  std::stable_sort(plan.parts.begin(), plan.parts.end(),
                   [](const PaperPart& a, const PaperPart& b) { return a.cost > b.cost; });
  double cost = 0;
  for (const PaperPart& part : plan.parts) cost += part.cost;
  Mutex mutex;
  Status failed;
  PaperProgress so_far{.parts = plan.parts.size()};
  ThreadedFor(threads)(plan.parts.size(), [&](size_t i) {
    {
      const MutexLock lock(mutex);
      if (!failed.ok()) return;
    }
    const PaperPart& part = plan.parts[i];
    const StatusOr<std::vector<double>> played = part.play();
    const MutexLock lock(mutex);
    if (!played.ok()) {
      failed = played.status();
      return;
    }
    for (size_t k = 0; k < played->size(); ++k) {
      values[part.series][part.first_x + k][static_cast<size_t>(part.repeat)] = (*played)[k];
    }
    ++so_far.done;
    so_far.share += part.cost / cost;
    progress(so_far);
  });
  return failed;
}

void GatherPaper(const PaperValues& values, PaperResult& result) {
  for (size_t s = 0; s < result.series.size(); ++s) {
    for (size_t i = 0; i < result.x.size(); ++i) {
      PaperPoint point{.value = MeanOf(values[s][i])};
      if (result.reference.has_value()) {
        std::vector<double> above = values[s][i];
        for (size_t k = 0; k < above.size(); ++k) above[k] -= values[*result.reference][i][k];
        point.above = MeanOf(above);
      }
      result.series[s].points.push_back(point);
    }
  }
}

}  // namespace

std::vector<PaperSummary> PaperExperiments() {
  std::vector<PaperSummary> all;
  for (const PaperExperiment& experiment : AllPaperExperiments()) {
    all.push_back(experiment.summary);
  }
  return all;
}

StatusOr<PaperResult> PlayPaper(const std::string& name, const PaperOptions& options,
                                const std::function<void(const PaperProgress&)>& progress) {
  std::vector<std::string> names;
  for (const PaperExperiment& experiment : AllPaperExperiments()) {
    names.push_back(experiment.summary.name);
    if (experiment.summary.name != name) continue;
    RETURN_IF_ERROR(ValidatePaper(options, experiment));
    PaperOptions played = options;
    if (!experiment.random) played.repeats = 1;
    ASSIGN_OR_RETURN(PaperPlan plan, experiment.plan(played));
    plan.result.name = name;
    plan.result.repeats = played.repeats;
    const std::vector<double> repeats(static_cast<size_t>(played.repeats));
    PaperValues values(plan.result.series.size(),
                       std::vector<std::vector<double>>(plan.result.x.size(), repeats));
    RETURN_IF_ERROR(PlayParts(plan, options.threads, progress, values));
    GatherPaper(values, plan.result);
    return std::move(plan.result);
  }
  return InvalidArgument("{}", WrongName(name, "an experiment", names));
}

}  // namespace freshet
