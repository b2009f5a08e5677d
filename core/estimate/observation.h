// Observations of one page by crawls: the input of all classic estimators.
#ifndef FRESHET_CORE_ESTIMATE_OBSERVATION_H_
#define FRESHET_CORE_ESTIMATE_OBSERVATION_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"

namespace freshet {

// The observations (tau, n_k, z) of one page. Each observation is a crawl at the time `elapsed` =
// tau after the previous crawl. `signals` = n_k is the number of signals from source k in between.
// `changed` = z is 1 if the content had changed, otherwise 0. The unit of time is arbitrary. Rates
// that are estimated from the observations are per this unit. Counts are doubles, because fading
// observations have fractional counts.
//
// Invariants: every elapsed is finite and > 0, every count is finite and >= 0, and every
// observation has one count for each source. Columns are contiguous, so an estimator reads only
// what it needs. Thread-compatible.
class Observations {
 public:
  explicit Observations(size_t sources = 1) : sources_(sources), total_signals_(sources, 0.0) {}

  // Appends one observation. If that would break an invariant, returns InvalidArgument and appends
  // nothing.
  [[nodiscard]] Status Add(double elapsed, std::span<const double> signals, bool changed) {
    if (!(elapsed > 0) || !std::isfinite(elapsed)) {
      return InvalidArgument("elapsed: {} is not a finite time above 0", elapsed);
    }
    if (signals.size() != sources_) {
      return InvalidArgument("signals: {} counts for {} sources", signals.size(), sources_);
    }
    for (const double count : signals) {
      if (!(count >= 0) || !std::isfinite(count)) {
        return InvalidArgument("signals: {} is not a finite count of at least 0", count);
      }
    }
    elapsed_.push_back(elapsed);
    signals_.insert(signals_.end(), signals.begin(), signals.end());
    changed_.push_back(changed ? 1 : 0);
    total_elapsed_ += elapsed;
    for (size_t k = 0; k < sources_; ++k) total_signals_[k] += signals[k];
    changed_count_ += changed ? 1 : 0;
    return absl::OkStatus();
  }

  // Removes all observations. Keeps the memory and the number of sources.
  void Clear() {
    elapsed_.clear();
    signals_.clear();
    changed_.clear();
    total_elapsed_ = 0;
    total_signals_.assign(sources_, 0.0);
    changed_count_ = 0;
  }

  [[nodiscard]] size_t size() const { return elapsed_.size(); }
  [[nodiscard]] bool empty() const { return elapsed_.empty(); }
  [[nodiscard]] size_t sources() const { return sources_; }

  [[nodiscard]] double elapsed(size_t i) const { return elapsed_[i]; }
  [[nodiscard]] double signals(size_t i, size_t k) const { return signals_[i * sources_ + k]; }
  [[nodiscard]] bool changed(size_t i) const { return changed_[i] != 0; }

  // Sums over all observations. total_signals(k) is the number of signals of source k.
  [[nodiscard]] double total_elapsed() const { return total_elapsed_; }
  [[nodiscard]] double total_signals(size_t k) const {
    DCHECK(k < sources_);
    return total_signals_[k];
  }
  [[nodiscard]] size_t changed_count() const { return changed_count_; }
  [[nodiscard]] size_t unchanged_count() const { return size() - changed_count_; }

 private:
  size_t sources_;
  std::vector<double> elapsed_;
  std::vector<double> signals_;  // row by row, `sources_` counts per observation
  std::vector<uint8_t> changed_;
  double total_elapsed_ = 0;
  std::vector<double> total_signals_;
  size_t changed_count_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_OBSERVATION_H_
