// ncis-fig10 and -fig11: the errors when precision and recall are estimated.
#include <cmath>
#include <utility>

#include "core/estimate/mle.h"
#include "core/estimate/signals.h"
#include "lab/paper/instances.h"
#include "lab/paper/noisy_signals.h"
#include "lab/sim/synthetic_worlds.h"

namespace freshet {
namespace {

constexpr int kQualityPages = 200;
constexpr double kMeanInterval = 1;  // between crawls, in the papers' unit of time
constexpr int kQualityCrawls[] = {10, 30, 100, 300, 1000, 3000};

enum class Quality : uint8_t { kPrecision, kRecall };

// Observes a page with crawls at random times. The events in an interval depend only on its length.
Status WatchPage(const PaperRates& page, int crawls, Random& random, Observations& seen) {
  const PageRates rates = RatesFromPaper(page);
  while (seen.size() < static_cast<size_t>(crawls)) {
    const double elapsed = random.Exponential(1 / kMeanInterval);
    const int told = random.Poisson(page.recall * page.change_rate * elapsed);
    const int untold = random.Poisson(rates.unsignalled_rate * elapsed);
    const double signals = told + random.Poisson(page.false_signal_rate * elapsed);
    if (elapsed == 0) continue;
    RETURN_IF_ERROR(seen.Add(elapsed, {&signals, 1}, told + untold > 0));
  }
  return {};
}

struct QualityErrors {
  double naive = 0;
  double mle = 0;
};

// Returns the errors; NaN if one of the estimates does not exist.
QualityErrors ErrorsOf(const PaperRates& page, const Observations& seen, Quality quality) {
  const PageRates rates = RatesFromPaper(page);
  const bool precision = quality == Quality::kPrecision;
  const double truth = precision ? page.recall * page.change_rate / rates.signal_rate : page.recall;
  const NaiveQuality naive = NaiveSignalQuality(seen, 0);
  const SignalEstimate estimate = EstimateMle(seen);
  const SignalQuality mle =
      QualityOf(MleChangeRate(seen, estimate), SignalRate(seen, 0), estimate.signal_weight[0]);
  return {.naive = (precision ? naive.precision : naive.recall) - truth,
          .mle = (precision ? mle.precision : mle.recall) - truth};
}

// The errors of one series. A page that lacks one of the two estimates is left out of both.
struct QualityLine {
  const char* name;
  bool naive;
  bool absolute;
};
constexpr QualityLine kQualityLines[] = {{"naive, bias", true, false},
                                         {"MLE, bias", false, false},
                                         {"naive, absolute error", true, true},
                                         {"MLE, absolute error", false, true}};

StatusOr<std::vector<double>> QualityOverCrawls(const QualityLine& line, Quality quality, int size,
                                                InstanceSeeds seeds) {
  ASSIGN_OR_RETURN(const SyntheticWorld world, ParseSyntheticWorld("ncis-fig4"));
  const std::vector<PaperRates> pages = DrawPages(world, size, seeds.pages);
  std::vector<double> sums(std::size(kQualityCrawls));
  std::vector<double> counts(std::size(kQualityCrawls));
  for (const PaperRates& page : pages) {
    Random events = seeds.events.Split();
    Observations seen(1);
    for (size_t i = 0; i < std::size(kQualityCrawls); ++i) {
      RETURN_IF_ERROR(WatchPage(page, kQualityCrawls[i], events, seen));
      const QualityErrors errors = ErrorsOf(page, seen, quality);
      if (!std::isfinite(errors.naive) || !std::isfinite(errors.mle)) continue;
      const double error = line.naive ? errors.naive : errors.mle;
      sums[i] += line.absolute ? std::abs(error) : error;
      ++counts[i];
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) sums[i] /= counts[i];
  return sums;
}

PaperPlan PlanQuality(Quality quality, const PaperOptions& options) {
  const int size = options.pages.empty() ? kQualityPages : options.pages.front();
  const bool precision = quality == Quality::kPrecision;
  PaperPlan plan{.result = {.title = precision ? "Estimates of precision" : "Estimates of recall",
                            .x_name = "crawls",
                            .x_label = "crawls of each page",
                            .y_label = precision ? "estimated less true precision"
                                                 : "estimated less true recall",
                            .log_x = true,
                            .x = {std::begin(kQualityCrawls), std::end(kQualityCrawls)}}};
  for (const QualityLine& line : kQualityLines) {
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      const InstanceSeeds seeds = SeedsOf(options.seed, size, repeat);
      plan.parts.push_back({.series = plan.result.series.size(),
                            .repeat = repeat,
                            .play = [=]() -> StatusOr<std::vector<double>> {
                              return QualityOverCrawls(line, quality, size, seeds);
                            }});
    }
    plan.result.series.push_back({.name = line.name});
  }
  return plan;
}

}  // namespace

std::vector<PaperExperiment> NoisyQualityExperiments() {
  return {
      {.summary = {"ncis-fig10", "estimates of precision: naive and by maximum likelihood"},
       .many_sizes = false,
       .timed = false,
       .plan =
           [](const PaperOptions& options) { return PlanQuality(Quality::kPrecision, options); }},
      {.summary = {"ncis-fig11", "estimates of recall: naive and by maximum likelihood"},
       .many_sizes = false,
       .timed = false,
       .plan = [](const PaperOptions& options) { return PlanQuality(Quality::kRecall, options); }}};
}

}  // namespace freshet
