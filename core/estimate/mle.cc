#include "core/estimate/mle.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/base/check.h"
#include "core/estimate/mle_several.h"
#include "core/estimate/rate_equation.h"
#include "core/estimate/signals.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A gradient is a difference of two terms. If it is smaller than this share of the terms, it is
// only a rounding error.
constexpr double kGradientNoise = 1e-13;

// The observations of one source as the likelihood needs them. Only the sums over unchanged
// intervals matter.
struct OneSource {
  absl::InlinedVector<double, 64> elapsed;  // of each changed interval
  absl::InlinedVector<double, 64> signals;  // of each changed interval
  double unchanged_elapsed = 0;
  double unchanged_signals = 0;
  double changed_signals = 0;
  bool every_change_signalled = true;
};

OneSource Condense(const Observations& observations) {
  OneSource data;
  for (size_t i = 0; i < observations.size(); ++i) {
    const double tau = observations.elapsed(i);
    const double n = observations.signals(i, 0);
    if (observations.changed(i)) {
      data.elapsed.push_back(tau);
      data.signals.push_back(n);
      data.changed_signals += n;
      if (n == 0) data.every_change_signalled = false;
    } else {
      data.unchanged_elapsed += tau;
      data.unchanged_signals += n;
    }
  }
  return data;
}

// The gradient and the negated Hessian of l. u = 1/(e^s - 1) is the derivative of ln(1 - e^-s), and
// -u (1 + u) is the second derivative.
struct Curvature {
  double g_alpha = 0;
  double g_kappa = 0;
  double aa = 0;
  double ak = 0;
  double kk = 0;
};

Curvature CurvatureAt(const OneSource& data, double alpha, double kappa) {
  Curvature c;
  for (size_t i = 0; i < data.elapsed.size(); ++i) {
    const double tau = data.elapsed[i];
    const double n = data.signals[i];
    const double u = InverseExpm1(alpha * tau + kappa * n);
    const double w = u * (1 + u);
    c.g_alpha += tau * u;
    c.g_kappa += n * u;
    c.aa += w * tau * tau;
    c.ak += w * tau * n;
    c.kk += w * n * n;
  }
  c.g_alpha -= data.unchanged_elapsed;
  c.g_kappa -= data.unchanged_signals;
  return c;
}

// Newton's step. If the Hessian is singular to within rounding (signals almost proportional to
// time), its diagonal is raised a little, which bends the step towards the gradient.
void NewtonStep(const Curvature& c, double* d_alpha, double* d_kappa) {
  double det = c.aa * c.kk - c.ak * c.ak;
  const double raise = det > 1e-12 * c.aa * c.kk ? 0 : 1e-9;
  if (raise > 0) det = std::max(det, 0.0) + 2 * raise * c.aa * c.kk;
  *d_alpha = (c.kk * (1 + raise) * c.g_alpha - c.ak * c.g_kappa) / det;
  *d_kappa = (c.aa * (1 + raise) * c.g_kappa - c.ak * c.g_alpha) / det;
}

// Follows Newton's direction from an interior point to the interior optimum. A parameter loses at
// most nine tenths of its value per step. A step has overshot if the slope at its end is negative
// and more than half as steep as at its start. False position on the slope then corrects the
// length; the slope falls along the step, since l is concave.
void SolveInterior(const OneSource& data, double* alpha, double* kappa) {
  Curvature at = CurvatureAt(data, *alpha, *kappa);
  for (int step = 0; step < 200; ++step) {
    double d_alpha = 0;
    double d_kappa = 0;
    NewtonStep(at, &d_alpha, &d_kappa);
    double length = 1;
    if (d_alpha < 0) length = std::min(length, -0.9 * *alpha / d_alpha);
    if (d_kappa < 0) length = std::min(length, -0.9 * *kappa / d_kappa);
    const double slope = at.g_alpha * d_alpha + at.g_kappa * d_kappa;
    if (!(slope > 0)) return;
    const double start_alpha = *alpha;
    const double start_kappa = *kappa;
    for (int trial = 0; trial < 60; ++trial) {
      *alpha = start_alpha + length * d_alpha;
      *kappa = start_kappa + length * d_kappa;
      at = CurvatureAt(data, *alpha, *kappa);
      const double end_slope = at.g_alpha * d_alpha + at.g_kappa * d_kappa;
      if (end_slope >= -0.5 * slope) break;
      length *= std::max(0.1, slope / (slope - end_slope));
    }
    const double move = length * std::max(std::abs(d_alpha) / *alpha, std::abs(d_kappa) / *kappa);
    // Newton's error after a step is of the order of the square of the step.
    if (move <= 1e-8) return;
  }
}

// Returns true if n_j = c tau_j in every changed interval and in the sums of the unchanged ones.
bool Proportional(const OneSource& data) {
  const double c = data.unchanged_signals / data.unchanged_elapsed;
  for (size_t i = 0; i < data.elapsed.size(); ++i) {
    if (std::abs(data.signals[i] - c * data.elapsed[i]) > 1e-12 * c * data.elapsed[i]) return false;
  }
  return true;
}

// The finite optimum. Precondition: there are changed and unchanged intervals, and some unchanged
// interval has signals.
SignalEstimate SolveFinite(const OneSource& data) {
  SignalEstimate estimate;
  const double alpha = SolveRateEquation(data.elapsed, data.unchanged_elapsed);
  double pull = 0;
  for (size_t i = 0; i < data.elapsed.size(); ++i) {
    if (data.signals[i] > 0) pull += data.signals[i] * InverseExpm1(alpha * data.elapsed[i]);
  }
  const double noise = kGradientNoise * (pull + data.unchanged_signals);
  if (pull - data.unchanged_signals <= noise) {
    estimate.unsignalled_rate = alpha;
    estimate.signal_weight = {0.0};
    estimate.status = Proportional(data) ? EstimateStatus::kRidge : EstimateStatus::kBoundaryKappa0;
    return estimate;
  }
  if (data.every_change_signalled) {
    const double kappa = SolveRateEquation(data.signals, data.unchanged_signals);
    pull = 0;
    for (size_t i = 0; i < data.elapsed.size(); ++i) {
      pull += data.elapsed[i] * InverseExpm1(kappa * data.signals[i]);
    }
    if (pull - data.unchanged_elapsed <= kGradientNoise * (pull + data.unchanged_elapsed)) {
      estimate.unsignalled_rate = 0;
      estimate.signal_weight = {kappa};
      estimate.status = EstimateStatus::kBoundaryAlpha0;
      return estimate;
    }
  }
  // Starts with an alpha that explains half of the events that the boundary optimum expects. The
  // signals explain the other half.
  double interior_alpha = alpha / 2;
  double kappa = alpha * data.unchanged_elapsed / (2 * data.unchanged_signals);
  SolveInterior(data, &interior_alpha, &kappa);
  estimate.unsignalled_rate = interior_alpha;
  estimate.signal_weight = {kappa};
  estimate.status = EstimateStatus::kInterior;
  return estimate;
}

SignalEstimate SolveOneSource(const Observations& observations) {
  const OneSource data = Condense(observations);
  SignalEstimate estimate;
  if (data.unchanged_signals > 0) return SolveFinite(data);
  if (data.changed_signals == 0) {
    estimate.unsignalled_rate = SolveRateEquation(data.elapsed, data.unchanged_elapsed);
    estimate.signal_weight = {kNaN};
    estimate.status = EstimateStatus::kNoSignals;
    return estimate;
  }
  absl::InlinedVector<double, 64> unexplained;
  for (size_t i = 0; i < data.elapsed.size(); ++i) {
    if (data.signals[i] == 0) unexplained.push_back(data.elapsed[i]);
  }
  estimate.unsignalled_rate = SolveRateEquation(unexplained, data.unchanged_elapsed);
  estimate.signal_weight = {kInfinity};
  estimate.status = EstimateStatus::kKappaInfinite;
  return estimate;
}

}  // namespace

SignalEstimate EstimateMle(const Observations& observations) {
  SignalEstimate estimate;
  estimate.signal_weight.assign(observations.sources(), kNaN);
  if (observations.empty()) return estimate;
  if (observations.changed_count() == 0) {
    estimate.unsignalled_rate = 0;
    estimate.signal_weight.assign(observations.sources(), 0.0);
    estimate.status = EstimateStatus::kAllUnchanged;
    return estimate;
  }
  if (observations.unchanged_count() == 0) {
    estimate.unsignalled_rate = kInfinity;
    estimate.status = EstimateStatus::kAllChanged;
    return estimate;
  }
  return observations.sources() == 1 ? SolveOneSource(observations)
                                     : internal::EstimateMleSeveral(observations);
}

double MleLogLikelihood(const Observations& observations, double unsignalled_rate,
                        std::span<const double> signal_weight) {
  CHECK(signal_weight.size() == observations.sources());
  double value = 0;
  for (size_t i = 0; i < observations.size(); ++i) {
    double s = unsignalled_rate * observations.elapsed(i);
    for (size_t k = 0; k < signal_weight.size(); ++k) {
      const double n = observations.signals(i, k);
      if (n > 0 && !std::isnan(signal_weight[k])) s += signal_weight[k] * n;
    }
    if (!observations.changed(i)) {
      value -= s;
    } else {
      // Each form is used where its argument is far from 1, so that the logarithm does not cancel.
      value += s < 0.7 ? std::log(-std::expm1(-s)) : std::log1p(-std::exp(-s));
    }
  }
  return value;
}

double MleChangeRate(const Observations& observations, const SignalEstimate& estimate) {
  if (estimate.status == EstimateStatus::kNoObservations) return kNaN;
  if (estimate.status == EstimateStatus::kAllChanged) return kInfinity;
  SourceValues rates;
  for (size_t k = 0; k < observations.sources(); ++k) {
    rates.push_back(SignalRate(observations, k));
  }
  return ChangeRate(estimate.unsignalled_rate, rates, estimate.signal_weight);
}

}  // namespace freshet
