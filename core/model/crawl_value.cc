#include "core/model/crawl_value.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A certain signal makes the effective elapsed time infinite; the exponent of harmonic_ncis stops
// here so that its value stays finite and ordered by importance.
constexpr double kMaxHarmonicExponent = 1e15;

// R^1(s) = 1 - (1 + s) e^-s. Below 1/2 the positive series e^-s sum_{k>=2} s^k/k! does not cancel.
double GreedyValue(double s) {
  if (s > 0.5) return s < 750 ? 1 - (1 + s) * std::exp(-s) : 1;
  double term = s * s / 2;
  double sum = term;
  for (int k = 3; k < 16; ++k) sum += term *= s / k;
  return std::exp(-s) * sum;
}

// s - 1 + e^-s.
double HarmonicValue(double s) {
  if (s > 0.5) return s - 1 + std::exp(-s);
  double term = s * s / 2;
  double sum = term;
  for (int k = 3; k < 16; ++k) sum += term *= -s / k;
  return sum;
}

}  // namespace

Status ValidatePaperRates(const PaperRates& rates) {
  const auto rate_ok = [](double x) { return x >= 0 && x < kInfinity; };
  if (!rate_ok(rates.importance)) {
    return InvalidArgument("importance: {} is not a finite number >= 0", rates.importance);
  }
  if (!rate_ok(rates.change_rate)) {
    return InvalidArgument("change_rate: {} is not a finite number >= 0", rates.change_rate);
  }
  if (!(rates.recall >= 0 && rates.recall <= 1)) {
    return InvalidArgument("recall: {} is not in [0, 1]", rates.recall);
  }
  if (!rate_ok(rates.false_signal_rate)) {
    return InvalidArgument("false_signal_rate: {} is not a finite number >= 0",
                           rates.false_signal_rate);
  }
  return {};
}

PageRates RatesFromPaper(const PaperRates& rates) {
  PageRates result;
  const double signalled_rate = rates.recall * rates.change_rate;
  result.change_rate = rates.change_rate;
  result.unsignalled_rate = (1 - rates.recall) * rates.change_rate;
  result.signal_rate = signalled_rate + rates.false_signal_rate;
  result.signal_weight =
      signalled_rate == 0 ? 0 : std::log1p(signalled_rate / rates.false_signal_rate);
  result.staleness_rate = result.unsignalled_rate;
  return result;
}

ValueParameters MakeValueParameters(Policy policy, double importance, const PageRates& rates) {
  ValueParameters page;
  const double ceiling = importance / rates.change_rate;
  page.speed = rates.change_rate;
  if (importance == 0 || rates.change_rate == 0) return page;
  switch (policy.kind) {
    case PolicyKind::kGreedy:
      page.shape = ValueShape::kGreedy;
      page.scale = page.ceiling = ceiling;
      page.slope_scale = importance;
      return page;
    case PolicyKind::kNewContent:
      page.shape = ValueShape::kGreedy;
      page.scale = page.ceiling = importance;
      page.slope_scale = importance * rates.change_rate;
      return page;
    case PolicyKind::kHarmonic:
      page.shape = ValueShape::kHarmonic;
      page.scale = ceiling;
      page.ceiling = kInfinity;
      page.slope_scale = importance;
      return page;
    default:
      return page;
  }
}

double PolicyExponent(Policy policy, const PageRates& rates, double staleness, double elapsed,
                      bool signalled) {
  switch (policy.kind) {
    case PolicyKind::kGreedy:
    case PolicyKind::kHarmonic:
    case PolicyKind::kNewContent:
      return rates.change_rate * elapsed;
    case PolicyKind::kGreedyCis:
      return signalled ? kInfinity : rates.unsignalled_rate * elapsed;
    case PolicyKind::kHarmonicNcis:
      if (rates.unsignalled_rate == 0 && staleness == 0) return rates.change_rate * elapsed;
      return std::min(rates.change_rate * staleness / rates.unsignalled_rate, kMaxHarmonicExponent);
    default:
      return staleness;
  }
}

double CrawlValue(const ValueParameters& page, double s) {
  DCHECK(s >= 0);
  switch (page.shape) {
    case ValueShape::kNone:
      return 0;
    case ValueShape::kGreedy:
      return page.scale * GreedyValue(s);
    case ValueShape::kHarmonic:
      return page.scale * HarmonicValue(s);
    case ValueShape::kSingleTerm:
    case ValueShape::kNcis:
      break;
  }
  return 0;
}

}  // namespace freshet
