#include "core/estimate/mle_several.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/base/check.h"
#include "core/estimate/rate_equation.h"

namespace freshet::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A gradient is a difference of two terms. If it is smaller than this share of the terms, it is
// only a rounding error.
constexpr double kGradientNoise = 1e-13;

// Maximises sum_rows ln(1 - e^-(row . x)) - quiet . x over x >= 0. Column 0 is time, so row . x > 0
// if x_0 > 0. Invariant: quiet_i > 0 for every column, and hence the optimum is finite.
class ConcaveProblem {
 public:
  ConcaveProblem(size_t columns, std::vector<double> rows, std::vector<double> quiet)
      : columns_(columns), rows_(std::move(rows)), quiet_(std::move(quiet)) {
    CHECK(quiet_.size() == columns_ && rows_.size() % columns_ == 0);
  }

  [[nodiscard]] std::vector<double> Solve() const {
    std::vector<double> x(columns_, 0.0);
    std::vector<double> elapsed;
    for (size_t r = 0; r < rows_.size(); r += columns_) elapsed.push_back(rows_[r]);
    x[0] = SolveRateEquation(elapsed, quiet_[0]);
    if (elapsed.empty()) return x;
    for (int step = 0; step < 500; ++step) {
      if (!Step(&x)) break;
    }
    return x;
  }

 private:
  // The gradient at x and, if wanted, the negated Hessian, row by row.
  void Differentiate(const std::vector<double>& x, std::vector<double>* gradient,
                     std::vector<double>* hessian) const {
    gradient->assign(columns_, 0.0);
    if (hessian != nullptr) hessian->assign(columns_ * columns_, 0.0);
    for (size_t r = 0; r < rows_.size(); r += columns_) {
      double s = 0;
      for (size_t i = 0; i < columns_; ++i) s += rows_[r + i] * x[i];
      const double u = InverseExpm1(s);
      for (size_t i = 0; i < columns_; ++i) {
        if (rows_[r + i] == 0) continue;
        (*gradient)[i] += rows_[r + i] * u;
        if (hessian == nullptr) continue;
        for (size_t j = 0; j < columns_; ++j) {
          (*hessian)[i * columns_ + j] += rows_[r + i] * rows_[r + j] * u * (1 + u);
        }
      }
    }
    for (size_t i = 0; i < columns_; ++i) (*gradient)[i] -= quiet_[i];
  }

  // Solves the free rows and columns of `hessian` by Cholesky decomposition. A pivot that has been
  // lost to rounding is raised, which only shortens the step in that direction.
  [[nodiscard]] std::vector<double> Direction(const std::vector<double>& hessian,
                                              const std::vector<double>& gradient,
                                              const std::vector<char>& free) const {
    std::vector<size_t> index;
    for (size_t i = 0; i < columns_; ++i) {
      if (free[i] != 0) index.push_back(i);
    }
    const size_t n = index.size();
    std::vector<double> factor(n * n, 0.0);
    std::vector<double> y(n);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        const double entry = hessian[index[i] * columns_ + index[j]];
        double sum = entry;
        for (size_t k = 0; k < j; ++k) sum -= factor[i * n + k] * factor[j * n + k];
        if (i == j) {
          factor[i * n + i] = std::sqrt(std::max(sum, 1e-12 * entry));
        } else {
          factor[i * n + j] = sum / factor[j * n + j];
        }
      }
    }
    for (size_t i = 0; i < n; ++i) {
      double sum = gradient[index[i]];
      for (size_t k = 0; k < i; ++k) sum -= factor[i * n + k] * y[k];
      y[i] = sum / factor[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
      for (size_t k = i + 1; k < n; ++k) y[i] -= factor[k * n + i] * y[k];
      y[i] /= factor[i * n + i];
    }
    std::vector<double> direction(columns_, 0.0);
    for (size_t i = 0; i < n; ++i) direction[index[i]] = y[i];
    return direction;
  }

  // Returns true if every row . x stays above 0 when column `dropped` becomes 0.
  [[nodiscard]] bool MayVanish(const std::vector<double>& x, size_t dropped) const {
    for (size_t r = 0; r < rows_.size(); r += columns_) {
      bool supported = false;
      for (size_t i = 0; i < columns_; ++i) {
        supported = supported || (i != dropped && rows_[r + i] > 0 && x[i] > 0);
      }
      if (!supported) return false;
    }
    return true;
  }

  // Makes one step of the active-set method. False = x is the optimum.
  [[nodiscard]] bool Step(std::vector<double>* x) const {
    std::vector<double> gradient;
    std::vector<double> hessian;
    Differentiate(*x, &gradient, &hessian);
    std::vector<char> free(columns_, 0);
    for (size_t i = 0; i < columns_; ++i) {
      free[i] = (*x)[i] > 0 || gradient[i] > kGradientNoise * (gradient[i] + 2 * quiet_[i]) ? 1 : 0;
    }
    std::vector<double> direction = Direction(hessian, gradient, free);
    // A parameter at its bound is left out if the joint step would push it below the bound.
    for (bool again = true; again;) {
      again = false;
      for (size_t i = 0; i < columns_; ++i) {
        if (free[i] != 0 && (*x)[i] == 0 && direction[i] < 0) {
          free[i] = 0;
          again = true;
        }
      }
      if (again) direction = Direction(hessian, gradient, free);
    }
    return Move(gradient, direction, x);
  }

  // Moves along `direction` as far as the bounds and the slope at the end allow. False = the move
  // was so short that Newton's error, its square, is negligible.
  [[nodiscard]] bool Move(const std::vector<double>& gradient, const std::vector<double>& direction,
                          std::vector<double>* x) const {
    double slope = 0;
    double length = 1;
    size_t vanishing = columns_;
    for (size_t i = 0; i < columns_; ++i) {
      slope += gradient[i] * direction[i];
      if (direction[i] >= 0 || (*x)[i] == 0) continue;
      const double full = -(*x)[i] / direction[i];
      if (full >= length) continue;
      length = full;
      vanishing = i;
    }
    if (!(slope > 0)) return false;
    if (vanishing < columns_ && !MayVanish(*x, vanishing)) {
      length *= 0.9;
      vanishing = columns_;
    }
    const std::vector<double> start = *x;
    std::vector<double> end_gradient;
    for (int trial = 0; trial < 60; ++trial) {
      for (size_t i = 0; i < columns_; ++i)
        (*x)[i] = std::max(0.0, start[i] + length * direction[i]);
      if (vanishing < columns_) (*x)[vanishing] = 0;
      Differentiate(*x, &end_gradient, nullptr);
      double end_slope = 0;
      for (size_t i = 0; i < columns_; ++i) end_slope += end_gradient[i] * direction[i];
      if (end_slope >= -0.5 * slope) break;
      length *= std::max(0.1, slope / (slope - end_slope));
      vanishing = columns_;
    }
    double move = 0;
    for (size_t i = 0; i < columns_; ++i) {
      const double change = std::abs((*x)[i] - start[i]);
      if (change > 0) move = std::max(move, change / std::max((*x)[i], start[i]));
    }
    return move > 1e-9;
  }

  size_t columns_;
  std::vector<double> rows_;   // changed intervals, row by row
  std::vector<double> quiet_;  // column sums of the unchanged intervals
};

// The sources, divided by whether their weight is finite. Only the counts of a source decide this.
struct Sources {
  std::vector<size_t> finite;
  std::vector<size_t> infinite;
  std::vector<double> unchanged_signals;
  double unchanged_elapsed = 0;
};

Sources Classify(const Observations& observations) {
  Sources sources;
  sources.unchanged_signals.assign(observations.sources(), 0.0);
  for (size_t i = 0; i < observations.size(); ++i) {
    if (observations.changed(i)) continue;
    sources.unchanged_elapsed += observations.elapsed(i);
    for (size_t k = 0; k < observations.sources(); ++k) {
      sources.unchanged_signals[k] += observations.signals(i, k);
    }
  }
  for (size_t k = 0; k < observations.sources(); ++k) {
    if (sources.unchanged_signals[k] > 0) {
      sources.finite.push_back(k);
    } else if (observations.total_signals(k) > 0) {
      sources.infinite.push_back(k);
    }
  }
  return sources;
}

EstimateStatus StatusOf(const Sources& sources, const std::vector<double>& x) {
  if (!sources.infinite.empty()) return EstimateStatus::kKappaInfinite;
  if (sources.finite.empty()) return EstimateStatus::kNoSignals;
  if (std::count(x.begin() + 1, x.end(), 0.0) > 0) return EstimateStatus::kBoundaryKappa0;
  return x[0] == 0 ? EstimateStatus::kBoundaryAlpha0 : EstimateStatus::kInterior;
}

}  // namespace

SignalEstimate EstimateMleSeveral(const Observations& observations) {
  CHECK(observations.changed_count() > 0 && observations.unchanged_count() > 0);
  const Sources sources = Classify(observations);
  std::vector<double> rows;
  for (size_t i = 0; i < observations.size(); ++i) {
    bool explained = false;
    for (const size_t k : sources.infinite) explained |= observations.signals(i, k) > 0;
    if (!observations.changed(i) || explained) continue;
    rows.push_back(observations.elapsed(i));
    for (const size_t k : sources.finite) rows.push_back(observations.signals(i, k));
  }
  std::vector<double> quiet = {sources.unchanged_elapsed};
  for (const size_t k : sources.finite) quiet.push_back(sources.unchanged_signals[k]);
  const size_t columns = quiet.size();
  const std::vector<double> x = ConcaveProblem(columns, std::move(rows), std::move(quiet)).Solve();

  SignalEstimate estimate;
  estimate.unsignalled_rate = x[0];
  estimate.signal_weight.assign(observations.sources(), kNaN);
  for (const size_t k : sources.infinite) estimate.signal_weight[k] = kInfinity;
  for (size_t i = 0; i < sources.finite.size(); ++i) {
    estimate.signal_weight[sources.finite[i]] = x[i + 1];
  }
  estimate.status = StatusOf(sources, x);
  return estimate;
}

}  // namespace freshet::internal
