#include "core/model/ncis_value.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/model/exponential.h"
#include "core/model/gamma.h"
#include "core/model/signal_term.h"

namespace freshet {
namespace {

// Below this s, V is computed as a sum of positive terms. From this s on, V is computed as the
// ceiling minus a sum of positive terms.
constexpr double kSplit = 0.25;
// From this x on, Q(k, x) for k <= 24 is below 1e-20.
constexpr double kSaturatedArgument = 100;
// P_i is taken as 0 or 1 if the mean is this many standard deviations t away from i. The error is
// at most P(|X - mean| > t sqrt(mean)) <= e^(-t^2/2) = 6e-13. The true probability is smaller by
// about the factor 1/(t sqrt(2 pi)).
constexpr double kDeviations = 7.5;
constexpr double kMaxExactIndex = 1e15;
static_assert(kReciprocal.size() > kMaxShortCount);
constexpr double kPi = 3.14159265358979323846;
// If -Re(z_k) N exceeds this and N >= 24, pole k is negligible (core/model/ncis_value.h).
constexpr double kSettled = 24;

SignalOdds Odds(const ValueParameters& page) { return {page.odds, page.share, page.unsignalled}; }

// R^1(s) = 1 - (1 + s) e^-s, the value of a page without signals.
double PlainValue(double s, double decay) {
  if (s > 0.5) return 1 - (1 + s) * decay;
  return decay * (s * s * ExponentialRest(s));
}

// x - 1 + e^-x for 0 <= x < 1/2.
double ExponentialDefect(double x) { return x * x * ExponentialRest(-x); }

// z = x + iy.
struct Complex {
  double x = 0;
  double y = 0;
};
Complex Multiply(Complex a, Complex b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
Complex Divide(Complex a, Complex b) {
  const double scale = 1 / (b.x * b.x + b.y * b.y);
  return {(a.x * b.x + a.y * b.y) * scale, (a.y * b.x - a.x * b.y) * scale};
}

// The pole z_k = W(b e^b) - b in the upper half plane with imaginary part in (2 pi k - pi, 2 pi k).
// It is the root of z + ln(1 + z/b) = 2 pi i k, found by Newton's method. The function is nearly
// linear, so the third step from this start is below rounding for every b and k.
Complex Pole(double b, int k) {
  const double turn = 2 * kPi * k;
  const auto log_of = [](double x, double y) {
    return Complex{0.5 * std::log(x * x + y * y), std::atan2(y, x)};
  };
  const Complex start = log_of(1, turn / (1 + b));
  Complex z{-start.x, turn - start.y};
  for (int i = 0; i < 3; ++i) {
    const Complex log = log_of(1 + z.x / b, z.y / b);
    const Complex error{z.x + log.x, z.y + log.y - turn};
    const Complex step = Divide(Multiply(error, {b + z.x, z.y}), {1 + b + z.x, z.y});
    z.x -= step.x;
    z.y -= step.y;
  }
  return z;
}

// The contributions of the poles to the closed form: `interval` to alpha psi, `shortfall` to the
// shortfall in units of (mu/alpha) e^-s, and `density` to the derivative of alpha psi in s.
struct Oscillation {
  double interval = 0;
  double shortfall = 0;
  double density = 0;
  double turn = 0;  // the derivative of density in N
};
Oscillation SumPoles(double b, double kappa, double count, NcisPoles& poles) {
  Oscillation sum;
  for (int k = 0; k < kMaxPoles; ++k) {
    if (k == poles.known) {
      const Complex z = Pole(b, k + 1);
      poles.real[k] = z.x;
      poles.imaginary[k] = z.y;
      ++poles.known;
    }
    const Complex z{poles.real[k], poles.imaginary[k]};
    const double size = 2 * std::exp(z.x * count);
    const double angle = z.y * count;
    const Complex residue =
        Divide({size * std::cos(angle), size * std::sin(angle)}, {1 + b + z.x, z.y});
    const Complex interval = Divide({kappa * residue.x, kappa * residue.y}, z);
    sum.density += residue.x;
    sum.turn += residue.x * z.x - residue.y * z.y;
    sum.interval += interval.x;
    sum.shortfall += kappa * Divide(interval, {kappa - z.x, -z.y}).x;
    if (-z.x * count > kSettled) break;
  }
  return sum;
}

NcisPoint ClosedForm(const ValueParameters& page, double s, NcisPoles& known) {
  const double b = page.odds * page.weight;
  const double m = 1 + b;
  const double a = b * page.weight / (2 * m * m);
  const double scale = page.scale * page.odds;  // mu/alpha
  Oscillation poles;
  if (s < page.settled_from) poles = SumPoles(b, page.weight, s / page.weight, known);
  NcisPoint point;
  const Decay decay = DecayAt(s);
  point.decay = decay.left;
  point.reached = page.odds * (s / m + a + poles.interval);
  point.density = 1 / m + poles.density;
  point.turn = poles.turn / b;
  if (s > 1) {
    point.shortfall = scale * point.decay * ((1 + s) / m + a + poles.shortfall);
    point.value = page.ceiling - point.shortfall;
  } else {
    point.value = scale * ((ClosedConstant(page) + PlainValue(s, point.decay)) / m +
                           a * decay.lost - point.decay * poles.shortfall);
    point.shortfall = page.ceiling - point.value;
  }
  return point;
}

// The sum of w_k over first <= k < terms, where `weight` is w_first.
double RemainingWeight(const ValueParameters& page, double first, double weight) {
  if (page.terms == kAllTerms) return weight / page.keep;
  const double left = page.terms - first;
  if (left <= 0) return 0;
  return weight * -std::expm1(-left * (page.weight + std::log1p(1 / page.odds))) / page.keep;
}

// P(i + 1, x) for i < kMaxShortCount and x < 1/2, given the Poisson weight of i at x.
double LowerTail(int i, double x, double weight) {
  double term = weight * x * kReciprocal[i + 1];
  double sum = term;
  for (int k = i + 2; term > 1e-17 * sum; ++k) sum += term *= x * kReciprocal[k];
  return sum;
}

// Computes V as the ceiling minus the shortfall, from at most kMaxShortCount terms.
NcisPoint ShortShortfall(const ValueParameters& page, double s, double count) {
  NcisPoint point;
  point.decay = std::exp(-s);
  const double growth = 1 / page.decay;
  const double ratio = page.decay * page.share;
  double weight = page.share;  // w_i
  double lapse = point.decay;  // e^-v_i
  double shortfall = 0;
  int i = 0;
  for (; i < static_cast<int>(count); ++i, weight *= ratio, lapse *= growth) {
    const double v = s - i * page.weight;
    if (v <= 0) break;
    const double x = page.odds * v;
    double reached = 1;
    double upper_mean = 0;  // Q(i + 1, X)
    if (x < kSaturatedArgument) {
      const double mean = x + v;
      double density = std::exp(-x);
      double before = 0;
      double mean_density = density * lapse;
      double upper = density;
      upper_mean = mean_density;
      for (int k = 1; k <= i; ++k) {
        before = density;
        upper += density *= x * kReciprocal[k];
        upper_mean += mean_density *= mean * kReciprocal[k];
      }
      reached = x < 0.5 ? LowerTail(i, x, density) : 1 - upper;
      point.density += density;
      point.turn += before - density;
    }
    shortfall += weight * upper_mean + point.decay * reached;
    point.reached += reached;
    if (reached < 1e-18 * point.reached && weight < 1e-18 * page.keep * shortfall) break;
  }
  shortfall += RemainingWeight(page, i, weight);
  point.shortfall = page.scale * shortfall;
  point.value = page.ceiling - point.shortfall;
  return point;
}

// The range of i in which P_i is neither 1 nor 0 to within rounding. P_i is the probability that a
// Poisson variable of mean z - b i, where z = c s, is at least a = i + 1. The range ends where the
// mean is t standard deviations above or below a.
struct Transition {
  double begin = 0;
  int width = 0;
};
Transition FindTransition(const ValueParameters& page, double s, double count) {
  const double z = page.odds * s;
  if (std::isinf(z)) return {count, 0};
  const double t = kDeviations;
  // The positive root of y (1 + b) - t b sqrt(y) - sum = 0, as sqrt(y).
  const auto root = [t](double b, double sum) {
    return (t * b + std::sqrt(t * t * b * b + 4 * (1 + b) * sum)) / (2 * (1 + b));
  };
  const double b = page.odds * page.weight;
  // With so many terms, the few terms in the range are below rounding. Also, a double this large
  // cannot represent every index.
  if (count > kMaxExactIndex) return {std::min(count, (z + b) / (1 + b)), 0};
  const double certain = (z + b - t * root(b, z + b)) / (1 + b);
  const double step = b + page.weight;
  const double sum = z + s + step;
  const double a = (t + std::sqrt(t * t + 4 * (1 + step) * sum)) / (2 * (1 + step));
  const double begin = std::clamp(std::floor(certain), 0.0, count);
  const double end = std::clamp(std::ceil(a * a), begin, count);
  return {begin, static_cast<int>(end - begin)};
}

NcisPoint LongShortfall(const ValueParameters& page, double s, double count) {
  const Transition range = FindTransition(page, s, count);
  NcisPoint point;
  point.decay = std::exp(-s);
  point.reached = range.begin;
  double shortfall = range.begin * point.decay;
  const double ratio = page.decay * page.share;
  const double fall = page.weight + std::log1p(1 / page.odds);
  double weight = page.share * std::exp(-fall * range.begin);
  int k = 0;
  for (; k < range.width; ++k, weight *= ratio) {
    const double i = range.begin + k;
    const double v = s - i * page.weight;
    if (v <= 0) break;
    const double x = page.odds * v;
    const IncompleteGamma gamma = RegularizedGamma(i + 1, x);
    shortfall += weight * RegularizedGamma(i + 1, x + v).upper + point.decay * gamma.lower;
    point.reached += gamma.lower;
    const double density = gamma.density * (i + 1) / x;
    point.density += density;
    point.turn += density * (i / x - 1);
  }
  shortfall += RemainingWeight(page, range.begin + k, weight);
  point.shortfall = page.scale * shortfall;
  point.value = page.ceiling - point.shortfall;
  return point;
}

// sum_{i<n} (w_i - e^-s) for small s: n (q - e^-s) - q sum_{i<n} (1 - e^(-rho i)) with
// rho = -ln(r q). The last sum is (h(rho n) - n h(rho))/(1 - e^-rho), where h(x) = x - 1 + e^-x.
double SaturatedSum(const ValueParameters& page, double s, double n) {
  const double each = -std::expm1(-s) - page.unsignalled;
  const double fall = page.weight + std::log1p(1 / page.odds);
  const double lost = (ExponentialDefect(fall * n) - n * ExponentialDefect(fall)) / page.keep;
  return n * each - page.share * lost;
}

// Computes V directly instead of from the shortfall, for s < kSplit.
NcisPoint SmallValue(const ValueParameters& page, double s, double count) {
  NcisPoint point;
  point.decay = std::exp(-s);
  const Transition range = count > kMaxShortCount ? FindTransition(page, s, count)
                                                  : Transition{0, static_cast<int>(count)};
  double sum = range.begin > 0 ? SaturatedSum(page, s, range.begin) : 0;
  double passed = range.begin > 0 ? std::exp(-range.begin * page.weight) : 1;  // r^i
  point.reached = range.begin;
  for (int k = 0; k < range.width; ++k, passed *= page.decay) {
    const double i = range.begin + k;
    const double v = s - i * page.weight;
    if (v <= 0) break;
    const SignalTerm term = EvaluateSignalTerm(Odds(page), i, v);
    const double fresh = passed * term.fresh;
    sum += fresh;
    point.reached += term.reached;
    const double x = page.odds * v;
    const double density = PoissonWeight(i, x);
    point.density += density;
    point.turn += density * (i / x - 1);
    if (fresh < 1e-18 * sum && term.reached < 1e-18 * point.reached) break;
  }
  point.value = page.scale * sum;
  point.shortfall = page.ceiling - point.value;
  return point;
}

}  // namespace

double ClosedConstant(const ValueParameters& page) {
  const double k = page.weight;
  const double step = 1 / page.odds + k;
  if (k >= 0.5) return page.share * (k - 1 + page.decay) / page.keep - k * k / (2 * step);
  const double cubic =
      -k * k * k *
      (1.0 / 3 - k * (1.0 / 12 - k * (1.0 / 60 - k * (1.0 / 360 - k / 2520 * (1 - k / 8)))));
  return page.share / (2 * page.keep) * (cubic + k * k * ExponentialDefect(k) / step);
}

NcisPoint EvaluateFirstTerm(const ValueParameters& page, double s) {
  NcisPoint point;
  const double x = page.odds * s;
  const Decay decay = DecayAt(s);
  point.decay = decay.left;
  const Decay signals = DecayAt(x);
  point.density = signals.left;
  point.turn = -point.density;
  point.reached = signals.lost;
  if (s >= kSplit) {
    point.shortfall = page.scale * (page.share * point.density * point.decay +
                                    point.decay * point.reached + page.tail);
    point.value = page.ceiling - point.shortfall;
    return point;
  }
  if (x + s < 0.3) {
    double term = 1;
    double d = 1;
    double sum = 1;
    for (int k = 3; k < 15; ++k) {
      term *= (x + s) * kReciprocal[k];
      d = 1 + page.share * d;
      sum += term * d;
    }
    point.value = page.scale * 0.5 * s * x * point.density * point.decay * sum;
  } else {
    point.value = page.scale * (decay.lost - page.unsignalled * (1 - point.density * point.decay));
  }
  point.shortfall = page.ceiling - point.value;
  return point;
}

NcisPoint EvaluateNcis(const ValueParameters& page, double s) {
  NcisPoles poles;
  return EvaluateNcis(page, s, poles);
}

NcisPoint EvaluateNcis(const ValueParameters& page, double s, NcisPoles& poles) {
  DCHECK(page.shape == ValueShape::kNcis && s >= 0 && std::isfinite(s));
  if (s == 0) return {0, page.ceiling, 1, 0, 1, -1};
  if (s < page.weight || page.terms == 1) return EvaluateFirstTerm(page, s);
  if (s >= page.closed_from) return ClosedForm(page, s, poles);
  double count = std::floor(s / page.weight) + 1;
  if (page.terms != kAllTerms) count = std::min<double>(count, page.terms);
  if (s < kSplit) return SmallValue(page, s, count);
  return count <= kMaxShortCount ? ShortShortfall(page, s, count) : LongShortfall(page, s, count);
}

ThresholdOutcome EvaluateThreshold(const PageRates& rates, double s) {
  DCHECK(s >= 0);
  ThresholdOutcome outcome;
  const ValueParameters page = MakeValueParameters({PolicyKind::kGreedyNcis, 1}, 1, rates);
  if (page.shape == ValueShape::kGreedy) {  // signals have no weight
    outcome.interval = s / rates.unsignalled_rate;
    outcome.fresh_time = -std::expm1(-s) / rates.unsignalled_rate;
  } else if (page.shape == ValueShape::kNcis && std::isfinite(s)) {
    const NcisPoint point = EvaluateNcis(page, s);
    outcome.interval = point.reached / rates.signal_rate;
    outcome.fresh_time =
        s < kSaturatedStaleness ? point.value + point.decay * outcome.interval : page.ceiling;
  } else {
    outcome.interval = s == 0 ? 0 : HUGE_VAL;
    outcome.fresh_time = s == 0 ? 0 : page.ceiling;
  }
  outcome.crawl_rate = 1 / outcome.interval;
  return outcome;
}

}  // namespace freshet
