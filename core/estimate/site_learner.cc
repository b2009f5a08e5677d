#include "core/estimate/site_learner.h"

#include <math.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "boost/math/special_functions/digamma.hpp"
#include "core/base/check.h"

namespace freshet {
namespace {

// The weight of the model of all hosts as the prior of one host: changes for the recall, changes
// for the silent share, false signals, and pages with exactly the mean rate.
constexpr double kHostChanges = 10;
constexpr double kHostUntold = 5;
constexpr double kHostFalseSignals = 2;
constexpr double kHostPages = 4;
// The weight of the defaults, which apply if nothing is known: changes, and false signals in a
// number of days.
constexpr double kDefaultChanges = 3;
constexpr double kDefaultTold = 0.5;
constexpr double kDefaultUntold = 0.35;
constexpr double kDefaultUntoldShare = 0.85;
constexpr double kDefaultFalseSignals = 0.05;
constexpr double kDefaultDays = 50;
// If nearly all signals of a class are false, crawls tell little about the true ones. A believed
// recall of 0 would make every signal false, and expectation-maximisation would stay there for
// ever. A source therefore keeps the recall kLeastRecall, divided among its classes in proportion
// to their signals, as long as the odds that a signal is true stay below kLeastOdds.
constexpr double kLeastRecall = 0.3;
constexpr double kLeastOdds = 0.05;
// A host with fewer pages uses the shape of the rates of all hosts.
constexpr uint64_t kMinPagesForShape = 200;

constexpr double kMinShape = 0.05;
// The maximum shape of a site's change rates: the rates of real pages spread at least this much.
// The likelihood sees less spread, because evidence fades or is missing. docs/experiments.md
// measures the gain.
constexpr double kMaxSiteShape = 1;
constexpr double kMinFalseShape = 0.2;
constexpr double kMaxFalseShape = 3;
constexpr double kMinMean = 1e-7;
constexpr double kMaxMean = 1e4;

// ln Gamma(a + c) - ln Gamma(a). Uses lgamma_r, because lgamma writes a global variable.
double LogRising(double a, double c) {
  int sign = 0;
  return lgamma_r(a + c, &sign) - lgamma_r(a, &sign);
}

// The mean m that solves sum_i a (c_i - x_i m)/(a + x_i m) = 0, where a is the shape. Uses Newton's
// method in ln m; the function falls monotonically in m. Adds `pages` pages with exactly the mean
// `start`.
double BestMean(const std::vector<RateSample>& samples, double shape, double start,
                double pages = 0) {
  double log_mean = std::log(start);
  for (int i = 0; i < 30; ++i) {
    const double mean = std::exp(log_mean);
    double score = pages * (start / mean - 1);
    double slope = pages * start / mean;
    for (const RateSample& s : samples) {
      const double scale = 1 / (shape + s.exposure * mean);
      score += (s.changes - s.exposure * mean) * scale;
      slope += s.exposure * mean * (shape + s.changes) * scale * scale;
    }
    if (!(slope > 0)) break;
    const double step = std::clamp(score / slope, -2.0, 2.0);
    log_mean = std::clamp(log_mean + step, std::log(kMinMean), std::log(kMaxMean));
    if (std::abs(step) < 1e-6) break;
  }
  return std::exp(log_mean);
}

double LogLikelihood(const std::vector<RateSample>& samples, double shape, double mean) {
  const double b = shape / mean;
  double sum = 0;
  for (const RateSample& s : samples) {
    sum -= shape * std::log1p(s.exposure / b);
    if (s.changes > 0) {
      sum += LogRising(shape, s.changes) + s.changes * std::log(s.exposure / (b + s.exposure));
    }
  }
  return sum;
}

// The shape of a gamma distribution, given `y` = ln of the ratio of its mean to its geometric mean:
// Minka's first approximation of the likelihood equation, within 1.5%.
double ShapeFromLogs(double y) {
  return (3 - y + std::sqrt((y - 3) * (y - 3) + 24 * y)) / (12 * y);
}

void LeaveRecalls(const RatePrior& prior, std::vector<ClassModel>& classes) {
  std::array<double, limits::kMaxSources> signals{};
  for (const ClassModel& model : classes) signals[model.source_class.source()] += model.signals;
  for (ClassModel& model : classes) {
    if (!(model.signals > 0)) continue;
    const double of_source = kLeastRecall * model.signals / signals[model.source_class.source()];
    const double of_odds = kLeastOdds * model.false_rate.mean / prior.mean;
    model.recall = std::max(model.recall, std::min(of_source, of_odds));
  }
}

}  // namespace

RatePrior FitRatePrior(const std::vector<RateSample>& samples, const RatePrior& base,
                       double max_shape) {
  // Adds one page of average exposure, with as many changes as `base` expects. It keeps every sum
  // above zero.
  std::vector<RateSample> used;
  used.reserve(samples.size() + 1);
  double exposure = 0;
  for (const RateSample& s : samples) {
    if (!(s.exposure > 0)) continue;
    used.push_back(s);
    exposure += s.exposure;
  }
  if (used.empty()) return base;
  exposure /= static_cast<double>(used.size());
  used.push_back({.changes = base.mean * exposure, .exposure = exposure});

  // Golden-section search of the profile likelihood over ln shape.
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  double low = std::log(kMinShape);
  double high = std::log(max_shape);
  double mean = base.mean;
  const auto profile = [&](double log_shape) {
    const double shape = std::exp(log_shape);
    mean = BestMean(used, shape, mean);
    return LogLikelihood(used, shape, mean);
  };
  double left = high - ratio * (high - low);
  double right = low + ratio * (high - low);
  double at_left = profile(left);
  double at_right = profile(right);
  while (high - low > 0.02) {
    if (at_left > at_right) {
      high = std::exchange(right, left);
      at_right = at_left;
      left = high - ratio * (high - low);
      at_left = profile(left);
    } else {
      low = std::exchange(left, right);
      at_left = at_right;
      right = low + ratio * (high - low);
      at_right = profile(right);
    }
  }
  const double shape = std::exp((low + high) / 2);
  return {.mean = BestMean(used, shape, mean), .shape = shape};
}

RatePrior FitRateMean(const std::vector<RateSample>& samples, const RatePrior& base, double pages) {
  return {.mean = BestMean(samples, base.shape, base.mean, pages), .shape = base.shape};
}

SiteLearner::ClassSums& SiteLearner::SumsOf(SourceClass source_class) {
  auto at = std::lower_bound(
      classes_.begin(), classes_.end(), source_class,
      [](const ClassSums& sums, SourceClass value) { return sums.source_class < value; });
  if (at == classes_.end() || at->source_class != source_class) {
    at = classes_.insert(at, ClassSums{.source_class = source_class});
  }
  return *at;
}

void SiteLearner::Clear() {
  samples_.Clear();
  RateSamples samples = std::move(samples_);
  *this = SiteLearner(0);
  samples_ = std::move(samples);
}

void SiteLearner::Add(const PagePosterior& page, PageNumber number) {
  sums_.told += page.told_changes;
  sums_.expected += page.expected_changes;
  sums_.untold += page.untold_changes;
  sums_.untold_exposure += page.untold_exposure;
  sums_.false_exposure += page.false_exposure;
  for (const PageClass& of_page : page.classes) {
    ClassSums& sums = SumsOf(of_page.source_class);
    sums.seen = sums.seen || of_page.seen;
    sums.signals += of_page.signals;
    sums.truth += of_page.truth;
    sums.false_signals += of_page.false_signals;
    const RatePrior& prior = of_page.prior;
    const double rate = prior.shape / prior.mean + page.false_exposure;
    sums.pages += 1;
    sums.ratio += of_page.false_rate / prior.mean;
    // Most pages have no signals of most classes. These pages usually share one shape, so its
    // digamma is computed once and kept.
    const double shape = prior.shape + of_page.false_signals;
    if (of_page.seen) {
      sums.log_ratio += boost::math::digamma(shape) - std::log(rate) - std::log(prior.mean);
      continue;
    }
    if (shape != sums.unseen_shape) {
      sums.unseen_shape = shape;
      sums.unseen_digamma = boost::math::digamma(shape);
    }
    sums.log_ratio += sums.unseen_digamma - std::log(rate) - std::log(prior.mean);
  }
  if (page.teaches_rate) {
    samples_.Add(number, {.changes = page.changes, .exposure = page.exposure});
  }
  ++sums_.pages;
}

void SiteLearner::AddHost(const SiteLearner& host) {
  sums_.Add(host.sums_);
  const double changes = host.Changes(host.Untold(kDefaultUntoldShare, kDefaultUntold));
  for (const ClassSums& from : host.classes_) {
    if (!from.seen) continue;
    ClassSums sums = from;
    sums.changes = changes;
    sums.false_exposure = host.sums_.false_exposure;
    AddSums(sums);
  }
}

void SiteLearner::AddSums(const SiteLearner& hosts) {
  AddSums(hosts.sums_);
  for (const ClassSums& from : hosts.classes_) AddSums(from);
}

void SiteLearner::PageSums::Add(const PageSums& other) {
  told += other.told;
  expected += other.expected;
  untold += other.untold;
  untold_exposure += other.untold_exposure;
  false_exposure += other.false_exposure;
  pages += other.pages;
}

void SiteLearner::ClassSums::Add(const ClassSums& other) {
  signals += other.signals;
  truth += other.truth;
  false_signals += other.false_signals;
  changes += other.changes;
  false_exposure += other.false_exposure;
  pages += other.pages;
  ratio += other.ratio;
  log_ratio += other.log_ratio;
  seen = seen || other.seen;
}

double SiteLearner::Untold(double base, double strength) const {
  return (sums_.untold + strength * base) / (sums_.untold_exposure + strength);
}

SiteModel SiteLearner::FitAll(const std::vector<RateSample>& samples, const AgeCurve& curve,
                              const LifeModel& life) const {
  std::vector<ClassModel> classes;
  for (const ClassSums& sums : classes_) {
    ClassModel model{
        .source_class = sums.source_class, .signals = sums.signals, .truth = sums.truth};
    model.recall = (sums.truth + kDefaultTold) / (sums.changes + kDefaultChanges);
    model.false_rate.mean =
        (sums.false_signals + kDefaultFalseSignals) / (sums.false_exposure + kDefaultDays);
    if (sums.pages > 20) {
      const double spread = std::log(sums.ratio / sums.pages) - sums.log_ratio / sums.pages;
      model.false_rate.shape =
          std::clamp(ShapeFromLogs(std::max(spread, 1e-3)), kMinFalseShape, kMaxFalseShape);
    }
    classes.push_back(model);
  }
  const RatePrior prior = FitRatePrior(samples, RatePrior(), kMaxSiteShape);
  LeaveRecalls(prior, classes);
  return SiteModel(prior, curve, life, std::move(classes));
}

SiteModel SiteLearner::FitHost(const SiteModel& all, const AgeCurve& curve,
                               const LifeModel& life) const {
  std::vector<ClassModel> classes;
  const double changes = Changes(Untold(all.unsignalled(), kHostUntold));
  for (const ClassSums& sums : classes_) {
    if (!sums.seen) continue;
    const ClassModel* base = all.Find(sums.source_class);
    CHECK(base != nullptr, "a class of a host is not of all");
    ClassModel model{.source_class = sums.source_class,
                     .false_rate = base->false_rate,
                     .signals = sums.signals,
                     .truth = sums.truth};
    model.recall = (sums.truth + kHostChanges * base->recall) / (changes + kHostChanges);
    model.false_rate.mean = (sums.false_signals + kHostFalseSignals) /
                            (sums_.false_exposure + kHostFalseSignals / base->false_rate.mean);
    classes.push_back(model);
  }
  RatePrior base = all.prior();
  const std::vector<RateSample> samples = samples_.Values();
  if (pages() >= kMinPagesForShape) base.shape = FitRatePrior(samples, base, kMaxSiteShape).shape;
  const RatePrior prior = FitRateMean(samples, base, kHostPages);
  LeaveRecalls(prior, classes);
  return SiteModel(prior, curve, life, std::move(classes));
}

}  // namespace freshet
