#include "core/model/crawl_value.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/model/exponential.h"
#include "core/model/gamma.h"
#include "core/model/ncis_value.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A signal that is certain makes the effective elapsed time infinite. The exponent of harmonic_ncis
// is then capped at this number, so that values stay finite and are still ordered by importance.
constexpr double kMaxHarmonicExponent = 1e15;

// If gamma is less than this share of alpha, signals change no value in double precision.
constexpr double kNegligibleOdds = 1e-18;

// Delta/alpha, the factor that stretches the staleness to Delta tau_eff. Infinite if alpha is 0.
double HarmonicStretch(const PageRates& rates) {
  return rates.unsignalled_rate == 0 ? kInfinity : rates.change_rate / rates.unsignalled_rate;
}

bool TrustsSignals(const PageRates& rates) {
  const double precision = -std::expm1(-rates.signal_weight);
  const double recall = 1 - rates.unsignalled_rate / rates.change_rate;
  return rates.change_rate > 0 && SignalsAreGood(precision, recall);
}

void SetSpeed(ValueParameters& page, double speed) {
  page.speed = speed;
  page.slope_scale = page.scale * speed;
  page.curvature_scale = page.scale * speed * speed;
}

// A page whose signals are ignored: s = Delta tau.
ValueParameters PlainPage(ValueShape shape, double scale, double importance,
                          const PageRates& rates) {
  ValueParameters page;
  if (importance == 0 || rates.change_rate == 0 || !std::isfinite(scale)) return page;
  page.shape = shape;
  page.scale = scale;
  page.ceiling = shape == ValueShape::kHarmonic ? kInfinity : scale;
  SetSpeed(page, rates.change_rate);
  return page;
}

// Both functions return a lower limit of s/kappa for b = c kappa (core/model/ncis_value.h). From
// SettledCount on, the closed form needs no poles. From PoleCount on, it needs at most four pairs
// of poles.
double SettledCount(double b) {
  const double count = 6 + b * (12.5 + 1.37 * b);
  return b < 0.5 ? count : std::min(count, 9 + b * (7.5 + 1.375 * b));
}
double PoleCount(double b) { return 9 + b * (1.05 + 0.055 * b); }

// Parameters of V_ncis with the first `terms` terms.
ValueParameters NoisyPage(int terms, double importance, const PageRates& rates) {
  const double alpha = rates.unsignalled_rate;
  const double gamma = rates.signal_rate;
  const double kappa = rates.signal_weight;
  ValueParameters page;
  const Decay signal = DecayAt(kappa);
  const double change_rate = alpha + gamma * signal.lost;
  if (importance == 0 || change_rate == 0 || !std::isfinite(importance / change_rate)) return page;
  const bool plain = gamma <= kNegligibleOdds * alpha || !std::isfinite(importance / gamma) ||
                     (kappa == 0 && terms == kAllTerms);
  page.shape = plain ? ValueShape::kGreedy : ValueShape::kNcis;
  page.terms = terms;
  page.jump = kappa;
  page.ceiling = importance / change_rate;
  page.scale = page.ceiling;
  SetSpeed(page, rates.staleness_rate);
  if (plain) return page;

  const double total = alpha + gamma;
  page.scale = importance / gamma;
  page.odds = gamma / alpha;
  page.share = gamma / total;
  page.unsignalled = alpha / total;
  page.weight = kappa;
  page.decay = signal.left;
  page.keep = change_rate / total;
  SetSpeed(page, rates.staleness_rate);
  page.curvature_scale = page.speed == 0 ? 0 : page.odds * page.curvature_scale;
  page.tail = page.share * page.share * page.decay / page.keep;
  if (terms == kAllTerms) {
    const double settled = SettledCount(page.odds * kappa);
    const double poles = std::max(kMaxShortCount, PoleCount(page.odds * kappa));
    page.settled_from = kappa * settled;
    page.closed_from = kappa * std::min(settled, poles);
  } else {
    const double fall = kappa + std::log1p(1 / page.odds);  // -ln(r q)
    page.ceiling = page.scale * page.share * -std::expm1(-terms * fall) / page.keep;
    page.tail = terms == 1 ? 0 : page.tail * -std::expm1((1 - terms) * fall);
  }
  return page;
}

// R^1(s) = 1 - (1 + s) e^-s, given decay = e^-s. Below 1/2, the series e^-s sum_{k>=2} s^k/k! is
// used: its terms are positive, so nothing cancels.
double PlainValue(double s, double decay) {
  if (s >= kSaturatedStaleness) return 1;
  if (s > 0.5) return 1 - (1 + s) * decay;
  return decay * (s * s * ExponentialRest(s));
}

// s - 1 + e^-s. Below 1/2, its series is used.
double HarmonicValue(double s) {
  if (s > 0.5) return s - 1 + std::exp(-s);
  double term = s * s / 2;
  double sum = term;
  for (int k = 3; k < 14; ++k) sum += term *= -s * kReciprocal[k];
  return sum;
}

}  // namespace

double SignalWeight(double true_rate, double false_rate) {
  if (true_rate == 0) return 0;
  const double ratio = true_rate / false_rate;
  if (std::isfinite(ratio) || false_rate == 0) return std::log1p(ratio);
  return std::log(true_rate) - std::log(false_rate);
}

Status ValidatePaperRates(const PaperRates& rates) {
  const auto rate_ok = [](double x) { return x >= 0 && x < kInfinity; };
  if (!rate_ok(rates.importance)) {
    return InvalidArgument("importance: {} is not a finite number >= 0", rates.importance);
  }
  if (!rate_ok(rates.change_rate)) {
    return InvalidArgument("change_rate: {} is not a finite number >= 0", rates.change_rate);
  }
  if (!(rates.recall >= 0 && rates.recall <= 1)) {
    return InvalidArgument("recall: {} is not from 0 to 1", rates.recall);
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
  result.signal_weight = SignalWeight(signalled_rate, rates.false_signal_rate);
  result.staleness_rate = result.unsignalled_rate;
  return result;
}

PaperRates PaperFromRates(double importance, const PageRates& rates, bool complete) {
  PaperRates paper{.importance = importance, .change_rate = rates.change_rate};
  if (complete) {
    paper.recall = 1;
    return paper;
  }
  if (paper.change_rate <= 0) return paper;
  const double signalled =
      std::clamp(paper.change_rate - rates.unsignalled_rate, 0.0, paper.change_rate);
  paper.recall = signalled / paper.change_rate;
  paper.false_signal_rate = std::max(0.0, rates.signal_rate - signalled);
  return paper;
}

ValueParameters MakeValueParameters(Policy policy, double importance, const PageRates& rates) {
  DCHECK(importance >= 0 && rates.change_rate >= 0 && rates.unsignalled_rate >= 0);
  DCHECK(rates.signal_rate >= 0 && rates.signal_weight >= 0 && rates.staleness_rate >= 0);
  switch (policy.kind) {
    case PolicyKind::kGreedy:
      return PlainPage(ValueShape::kGreedy, importance / rates.change_rate, importance, rates);
    case PolicyKind::kNewContent:
      return PlainPage(ValueShape::kGreedy, importance, importance, rates);
    case PolicyKind::kHarmonic:
      return PlainPage(ValueShape::kHarmonic, importance / rates.change_rate, importance, rates);
    case PolicyKind::kHarmonicNcis: {
      ValueParameters page =
          PlainPage(ValueShape::kHarmonic, importance / rates.change_rate, importance, rates);
      const double stretch = HarmonicStretch(rates);
      if (rates.unsignalled_rate > 0) SetSpeed(page, stretch * rates.staleness_rate);
      page.jump = std::min(stretch * rates.signal_weight, kMaxHarmonicExponent);
      if (rates.signal_weight == 0) page.jump = 0;
      return page;
    }
    case PolicyKind::kGreedyCisPlus:
      if (!TrustsSignals(rates)) {
        return PlainPage(ValueShape::kGreedy, importance / rates.change_rate, importance, rates);
      }
      [[fallthrough]];
    case PolicyKind::kGreedyCis: {
      PageRates certain = rates;
      certain.signal_rate = std::max(0.0, rates.change_rate - rates.unsignalled_rate);
      certain.signal_weight = kInfinity;
      certain.staleness_rate = rates.unsignalled_rate;
      return NoisyPage(kAllTerms, importance, certain);
    }
    case PolicyKind::kGreedyNcis:
    case PolicyKind::kGreedyNcisDelay:
      return NoisyPage(kAllTerms, importance, rates);
    case PolicyKind::kNcisApprox:
      return NoisyPage(policy.terms, importance, rates);
  }
  CHECK(false, "policy kind {}", static_cast<int>(policy.kind));
  return {};
}

double PolicyExponent(Policy policy, const PageRates& rates, double staleness, double elapsed,
                      bool signalled) {
  switch (policy.kind) {
    case PolicyKind::kGreedy:
    case PolicyKind::kHarmonic:
    case PolicyKind::kNewContent:
      return rates.change_rate * elapsed;
    case PolicyKind::kGreedyCisPlus:
      if (!TrustsSignals(rates)) return rates.change_rate * elapsed;
      [[fallthrough]];
    case PolicyKind::kGreedyCis:
      return signalled ? kInfinity : rates.unsignalled_rate * elapsed;
    case PolicyKind::kHarmonicNcis:
      if (rates.unsignalled_rate == 0 && staleness == 0) return rates.change_rate * elapsed;
      return std::min(HarmonicStretch(rates) * staleness, kMaxHarmonicExponent);
    case PolicyKind::kGreedyNcis:
    case PolicyKind::kGreedyNcisDelay:
    case PolicyKind::kNcisApprox:
      return staleness;
  }
  CHECK(false, "policy kind {}", static_cast<int>(policy.kind));
  return staleness;
}

double CrawlValue(const ValueParameters& page, double s) {
  DCHECK(s >= 0);
  switch (page.shape) {
    case ValueShape::kNone:
      return 0;
    case ValueShape::kGreedy:
      return page.scale * PlainValue(s, std::exp(-s));
    case ValueShape::kNcis:
      return s < kSaturatedStaleness ? EvaluateNcis(page, s).value : page.ceiling;
    case ValueShape::kHarmonic:
      return page.scale * HarmonicValue(s);
  }
  CHECK(false, "value shape {}", static_cast<int>(page.shape));
  return 0;
}

ValueJet CrawlValueJet(const ValueParameters& page, double s) {
  DCHECK(s >= 0);
  if (page.shape == ValueShape::kNone) return {};
  if (page.shape == ValueShape::kNcis) {
    if (s >= kSaturatedStaleness) return {page.ceiling, 0, 0};
    const NcisPoint point = EvaluateNcis(page, s);
    return {point.value, page.slope_scale * point.decay * point.reached,
            page.curvature_scale * point.decay};
  }
  if (page.shape == ValueShape::kGreedy) return PlainValueJet(page.scale, page.speed, s);
  return {page.scale * HarmonicValue(s), page.slope_scale * -std::expm1(-s),
          page.curvature_scale * std::exp(-s)};
}

ValueJet PlainValueJet(double scale, double speed, double s) {
  DCHECK(s >= 0);
  const double decay = std::exp(-s);
  const double bend = scale * speed * decay;
  const double slope = s < kSaturatedStaleness ? bend * s : 0;
  // d^2V/ds^2 = scale (1 - s) e^-s falls until s = 2 and is negative from s = 1 on.
  return {scale * PlainValue(s, decay), slope, bend * speed * std::max(1 - s, 0.0)};
}

}  // namespace freshet
