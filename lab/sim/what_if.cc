#include "lab/sim/what_if.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/model/crossing.h"
#include "core/model/ncis_value.h"
#include "core/plan/continuous_optimum.h"
#include "core/plan/plan.h"
#include "core/plan/planner.h"
#include "lab/common/threaded_for.h"
#include "lab/common/wrong_flag.h"
#include "lab/sim/mean_and_error.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

constexpr double kNormal95 = 1.96;  // 95% lie within this many standard deviations of the mean

// Draws a number with mean 1, by Marsaglia and Tsang, "A simple method for generating gamma
// variables" (2000).
double DrawGamma(double shape, Random& random) {
  if (shape < 1) {
    return DrawGamma(shape + 1, random) * (shape + 1) / shape *
           std::pow(1 - random.Uniform(), 1 / shape);
  }
  const double d = shape - 1.0 / 3;
  while (true) {
    // Draws a normal number by the method of Box and Muller.
    const double x =
        std::sqrt(-2 * std::log1p(-random.Uniform())) * std::cos(2 * M_PI * random.Uniform());
    const double v = std::pow(1 + x / std::sqrt(9 * d), 3);
    if (v > 0 && std::log1p(-random.Uniform()) < x * x / 2 + d * (1 - v + std::log(v))) {
      return d * v / shape;
    }
  }
}

double DrawChangeRate(const WhatIfPage& page, Random& random) {
  const double mean = page.rates.change_rate;
  if (!(page.high > page.low) || (mean == 0 && std::isinf(page.high))) return mean;
  // The smallest rate that is drawn. With it, plans accept the rates for any interval.
  constexpr double kLeast = 1e-12;
  // If no change was observed, the distribution is exponential, with a probability of 1/40 above
  // the interval.
  if (mean == 0) {
    return std::clamp(page.high / std::log(40) * DrawGamma(1, random), kLeast, kLargestPlanNumber);
  }
  const double deviation = std::isinf(page.high) ? mean : (page.high - page.low) / (2 * kNormal95);
  const double shape = std::clamp(mean / deviation * (mean / deviation), 0.05, 1e6);
  return std::clamp(mean * DrawGamma(shape, random), kLeast, kLargestPlanNumber);
}

std::vector<PaperRates> DrawPages(const std::vector<WhatIfPage>& pages, bool sampled,
                                  Random random) {
  std::vector<PaperRates> drawn;
  drawn.reserve(pages.size());
  for (size_t i = 0; i < pages.size(); ++i) {
    const WhatIfPage& page = sampled ? pages[random.Below(pages.size())] : pages[i];
    drawn.push_back(page.rates);
    drawn.back().change_rate = DrawChangeRate(page, random);
  }
  return drawn;
}

FreshnessBand BandOf(const std::vector<double>& values) {
  const MeanAndError mean = MeanOf(values);
  const double deviation = mean.error * std::sqrt(static_cast<double>(values.size()));
  return {mean.mean, std::max(0.0, mean.mean - kNormal95 * deviation),
          std::min(1.0, mean.mean + kNormal95 * deviation)};
}

// Plans crawls of the sampled pages. Crawl rates are scaled down to the size of the sample.
class Planner {
 public:
  Planner(const std::vector<WhatIfPage>& pages, const WhatIfOptions& options)
      : pages_(pages),
        options_(options),
        scale_(static_cast<double>(options.all_pages) / static_cast<double>(pages.size())),
        rate_(options.crawls_per_day / scale_) {
    for (const WhatIfPage& page : pages) {
      rates_.push_back(page.rates);
      importance_.push_back(page.rates.importance);
      change_rate_.push_back(page.rates.change_rate);
      complete_.push_back(page.rates.recall == 1 ? 1 : 0);
    }
  }

  [[nodiscard]] StatusOr<std::vector<WhatIfRate>> Curve(
      const std::function<void(double)>& progress) const;
  // Fills in the answers at the current rate.
  [[nodiscard]] Status Answer(WhatIfAnswer* answer) const;

 private:
  [[nodiscard]] PlanPages columns() const { return {importance_, change_rate_, complete_}; }
  [[nodiscard]] bool Matters(size_t page) const {
    return importance_[page] > 0 && change_rate_[page] > 0;
  }
  [[nodiscard]] StatusOr<double> CrawlsWithoutSignals(double freshness) const;
  [[nodiscard]] WhatIfPolicy PlayThreshold(double freshness, double price) const;
  [[nodiscard]] StatusOr<WhatIfPolicy> PlayPlan(PlanMethod method) const;
  void CountPage(size_t page, double crawls_per_day, WhatIfPolicy* policy) const;

  const std::vector<WhatIfPage>& pages_;
  const WhatIfOptions& options_;
  double scale_;
  double rate_;
  std::vector<PaperRates> rates_;
  std::vector<double> importance_;
  std::vector<double> change_rate_;
  std::vector<uint8_t> complete_;
};

StatusOr<std::vector<WhatIfRate>> Planner::Curve(
    const std::function<void(double)>& progress) const {
  const size_t points = options_.factors.size();
  std::vector<std::vector<double>> with(points, std::vector<double>(options_.draws));
  std::vector<std::vector<double>> without = with;
  std::vector<Random> random;
  Random seeds(options_.seed);
  for (size_t draw = 0; draw < options_.draws; ++draw) random.push_back(seeds.Split());
  Mutex mutex;
  size_t done = 0;
  Status failed;
  ThreadedFor(options_.threads)(options_.draws, [&](size_t draw) {
    const std::vector<PaperRates> drawn = DrawPages(pages_, scale_ > 1, random[draw]);
    for (size_t i = 0; i < points; ++i) {
      const double rate = rate_ * options_.factors[i];
      with[i][draw] = SignalOptimum(drawn, rate);
      const StatusOr<double> plain = PlainOptimum(drawn, rate);
      const MutexLock lock(mutex);
      if (!plain.ok()) failed = plain.status();
      if (!plain.ok()) return;
      without[i][draw] = *plain;
    }
    const MutexLock lock(mutex);
    progress(static_cast<double>(++done) / static_cast<double>(options_.draws));
  });
  RETURN_IF_ERROR(failed);
  std::vector<WhatIfRate> curve;
  for (size_t i = 0; i < points; ++i) {
    curve.push_back(
        {options_.crawls_per_day * options_.factors[i], BandOf(with[i]), BandOf(without[i])});
  }
  return curve;
}

void Planner::CountPage(size_t page, double crawls_per_day, WhatIfPolicy* policy) const {
  if (!Matters(page)) return;
  if (crawls_per_day <= 0) policy->never += scale_;
  if (crawls_per_day < 1 / options_.starve_days) policy->starving += scale_;
}

WhatIfPolicy Planner::PlayThreshold(double freshness, double price) const {
  WhatIfPolicy policy{.name = "greedy_ncis", .freshness = freshness};
  for (size_t page = 0; page < rates_.size(); ++page) {
    const PageRates rates = RatesFromPaper(rates_[page]);
    const ValueParameters value =
        MakeValueParameters({.kind = PolicyKind::kGreedyNcis}, importance_[page], rates);
    const double s = ExponentReaching(value, price);
    CountPage(page, std::isinf(s) ? 0 : EvaluateThreshold(rates, s).crawl_rate, &policy);
  }
  return policy;
}

StatusOr<WhatIfPolicy> Planner::PlayPlan(PlanMethod method) const {
  ASSIGN_OR_RETURN(const RatePlan plan, MakePlan(method, columns(), rate_));
  WhatIfPolicy policy{.name = std::string(PlanMethodName(method))};
  policy.freshness = ComputePlanCosts(columns(), plan, CrawlTimesOf(method)).accuracy;
  for (size_t page = 0; page < rates_.size(); ++page) {
    const double on_signals =
        plan.probability.empty() ? 0 : plan.probability[page] * change_rate_[page];
    CountPage(page, plan.rate[page] + on_signals, &policy);
  }
  return policy;
}

StatusOr<double> Planner::CrawlsWithoutSignals(double freshness) const {
  constexpr double kMostFactor = 1e6;
  ASSIGN_OR_RETURN(const double most, PlainOptimum(rates_, rate_ * kMostFactor));
  if (most < freshness) return std::numeric_limits<double>::infinity();
  double low = 0;
  double high = std::log(kMostFactor);
  while (high - low > 1e-6) {
    const double middle = (low + high) / 2;
    ASSIGN_OR_RETURN(const double at, PlainOptimum(rates_, rate_ * std::exp(middle)));
    (at < freshness ? low : high) = middle;
  }
  return options_.crawls_per_day * std::exp(high);
}

Status Planner::Answer(WhatIfAnswer* answer) const {
  answer->with_signals = SignalOptimum(rates_, rate_);
  ASSIGN_OR_RETURN(answer->without_signals, PlainOptimum(rates_, rate_));
  ASSIGN_OR_RETURN(answer->crawls_without_signals, CrawlsWithoutSignals(answer->with_signals));
  // The step is small enough for a linear approximation, and large enough for differences of an
  // optimum that is exact to only nine digits.
  const double step = 0.005 * rate_;
  const double slope =
      (SignalOptimum(rates_, rate_ + step) - SignalOptimum(rates_, rate_ - step)) / (2 * step);
  answer->gain_of_one_a_day = slope / scale_;
  answer->gain_of_one_a_second =
      SignalOptimum(rates_, rate_ + 86400 / scale_) - answer->with_signals;
  double importance = 0;
  for (const double one : importance_) importance += one;
  answer->policies.push_back(PlayThreshold(answer->with_signals, slope * importance));
  for (const PlanMethod method :
       {PlanMethod::kLds, PlanMethod::kLambdaCrawl, PlanMethod::kLambdaCrawlApprox,
        PlanMethod::kBlc, PlanMethod::kBlcEps, PlanMethod::kUniform, PlanMethod::kChangeRate}) {
    ASSIGN_OR_RETURN(WhatIfPolicy policy, PlayPlan(method));
    answer->policies.push_back(std::move(policy));
  }
  return {};
}

Status ValidateOptions(const WhatIfOptions& options, size_t pages) {
  if (!(options.crawls_per_day >= 1e-12 && options.crawls_per_day <= 1e12)) {
    return WrongFlag("--crawls-per-day", options.crawls_per_day, "a number from 1e-12 to 1e12");
  }
  if (options.all_pages < pages) {
    return InvalidArgument(
        "pages: the sample has {} pages, more than the {} pages from which it is drawn", pages,
        options.all_pages);
  }
  for (const double factor : options.factors) {
    if (!(factor >= 1e-6 && factor <= 1e6)) {
      return WrongFlag("--factors", factor, "a number from 1e-6 to 1e6");
    }
  }
  if (options.draws < 2 || options.draws > 10'000) {
    return WrongFlag("--draws", options.draws, "a whole number from 2 to 10000");
  }
  if (!(options.starve_days > 0 && std::isfinite(options.starve_days))) {
    return WrongFlag("--starve-days", options.starve_days, "a number above 0");
  }
  return {};
}

Status ValidatePages(const std::vector<WhatIfPage>& pages) {
  bool some = false;
  for (const WhatIfPage& page : pages) {
    RETURN_IF_ERROR(ValidatePaperRates(page.rates));
    some |= page.rates.importance > 0 && page.rates.change_rate > 0;
  }
  if (!some) return InvalidArgument("no page has an importance and a change rate above 0");
  return {};
}

}  // namespace

StatusOr<WhatIfAnswer> AskWhatIf(const std::vector<WhatIfPage>& pages, const WhatIfOptions& options,
                                 const std::function<void(double share)>& progress) {
  RETURN_IF_ERROR(ValidateOptions(options, pages.size()));
  RETURN_IF_ERROR(ValidatePages(pages));
  WhatIfAnswer answer{.pages = options.all_pages,
                      .sampled = pages.size(),
                      .crawls_per_day = options.crawls_per_day,
                      .starve_days = options.starve_days};
  const Planner planner(pages, options);
  ASSIGN_OR_RETURN(answer.curve, planner.Curve(progress));
  RETURN_IF_ERROR(planner.Answer(&answer));
  return answer;
}

}  // namespace freshet
