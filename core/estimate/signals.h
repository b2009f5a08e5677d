// The quality of signals: precision, recall and rates of each source, from the unsignalled rate
// alpha, the signal weights kappa_k and the counts. Sources are assumed to be independent.
#ifndef FRESHET_CORE_ESTIMATE_SIGNALS_H_
#define FRESHET_CORE_ESTIMATE_SIGNALS_H_

#include <cstddef>
#include <span>

#include "core/estimate/observation.h"

namespace freshet {

// One source of signals about one page. Value type, thread-compatible.
struct SignalQuality {
  double signal_rate = 0;        // gamma: all signals, per unit of time
  double false_signal_rate = 0;  // nu = gamma e^-kappa, per unit of time
  double precision = 0;          // 1 - e^-kappa: probability that a signal stands for a change
  double recall = 0;             // lambda: probability that a change is signalled
};

// gamma: the number of signals of source k per observed time. NaN without observations.
[[nodiscard]] double SignalRate(const Observations& observations, size_t source);

// The change rate Delta with alpha = Delta prod_k (1 - g_k/Delta), where g_k = lambda_k
// Delta = gamma_k (1 - e^-kappa_k) is the rate of changes that source k signals. With one source,
// it is alpha + g. With several, it is the largest root, between max g_k and alpha + sum g_k;
// sources without any signal (gamma_k = 0) are ignored, whatever their kappa. alpha and gamma_k
// must be finite and >= 0, and kappa_k >= 0 (infinite: every signal is a change). If alpha is
// infinite, so is the result. The relative error is 1e-15.
[[nodiscard]] double ChangeRate(double unsignalled_rate, std::span<const double> signal_rates,
                                std::span<const double> signal_weights);

// The four numbers of one source, given the page's change rate. recall = gamma precision / Delta,
// which is NaN if Delta = 0. precision is NaN if kappa is.
[[nodiscard]] SignalQuality QualityOf(double change_rate, double signal_rate, double signal_weight);

// Ratios of intervals, FOR COMPARISON ONLY. precision: the share of changed intervals among those
// with a signal. recall: the share of intervals with a signal among the changed ones. Both are
// biased: a changed interval with a false signal counts as a hit, and several changes count as one.
// NaN if the denominator is 0.
struct NaiveQuality {
  double precision = 0;
  double recall = 0;
};
[[nodiscard]] NaiveQuality NaiveSignalQuality(const Observations& observations, size_t source);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_SIGNALS_H_
