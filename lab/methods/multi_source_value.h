// Computes V_ncis for several independent signal sources: by exact sums over count vectors, or on a
// grid of staleness if these are too many. The scheduler values pages as if they had one source
// (model.md, operational time). This code is the reference for that, and for pages with few sources
// of strong signals.
#ifndef FRESHET_LAB_METHODS_MULTI_SOURCE_VALUE_H_
#define FRESHET_LAB_METHODS_MULTI_SOURCE_VALUE_H_

#include <cstddef>
#include <vector>

#include "core/base/status.h"
#include "core/model/crawl_value.h"

namespace freshet {

// One source: gamma_k, finite and >= 0, and kappa_k, >= 0 and possibly infinite. Value type,
// thread-compatible.
struct SourceRates {
  double signal_rate = 0;
  double signal_weight = 0;
};

// A page with any number of sources. The staleness is s = alpha tau + sum_k kappa_k n_k. Value
// type, thread-compatible.
struct MultiSourcePage {
  double importance = 0;        // mu >= 0
  double unsignalled_rate = 0;  // alpha >= 0
  std::vector<SourceRates> sources;

  // Returns the limit of V for s -> infinity: mu/(alpha + sum_k gamma_k (1 - e^-kappa_k)). It is
  // below mu/Delta if two sources can signal the same change, which the model counts as two.
  [[nodiscard]] double Ceiling() const;
};

// One source as in the papers. Value type, thread-compatible.
struct PaperSource {
  double recall = 0;             // lambda_k in [0, 1]
  double false_signal_rate = 0;  // nu_k, finite and >= 0
};

// Converts paper sources: alpha = Delta prod_k (1 - lambda_k), gamma_k = lambda_k Delta + nu_k,
// kappa_k = log1p(lambda_k Delta/nu_k). Preconditions as noted above; change_rate finite, >= 0.
[[nodiscard]] MultiSourcePage MultiSourceFromPaper(double importance, double change_rate,
                                                   const std::vector<PaperSource>& sources);

// Returns one source in place of all, for policies that know only one. It has the same Delta and
// alpha, the sum of all gamma_k, and the kappa that follows from the pooled precision sum lambda_k
// Delta / sum gamma_k: e^-kappa = 1 - precision.
[[nodiscard]] PageRates PooledRates(double change_rate, const std::vector<PaperSource>& sources);

// Value type, thread-compatible.
struct MultiSourceOutcome {
  double value = 0;       // V(s)
  double interval = 0;    // psi(s): expected time between crawls of the threshold policy
  double fresh_time = 0;  // w(s): expected fresh time between crawls
  size_t vectors = 0;     // count vectors in the sum; 0 on a grid
  // The largest relative error of the three results: 1e-12, or an estimate on a grid. The estimate
  // is the spread of the last three grids, each twice as fine as the previous one.
  double accuracy = 1e-12;
};

// If more count vectors than this matter, a grid replaces the sums.
inline constexpr size_t kMaxCountVectors = 1'000'000;

// With F and P of core/model/signal_term.h at c = gamma/alpha, gamma = sum gamma_k, g_k =
// gamma_k/gamma and v_n = s - n.kappa,
//
//   V   = (mu/gamma) sum_n multinomial(n) prod_k g_k^n_k e^(-n.kappa) F_|n|(v_n)
//   psi = (1/gamma)  sum_n multinomial(n) prod_k g_k^n_k P(|n| + 1, c v_n),   w = V/mu + e^-s psi
//
// over all n with n.kappa <= s and |n| < terms (kAllTerms, or J of ncis_approx_J): the sums of
// model.md, all of whose terms are positive here. Sources of weight zero carry no information and
// drop out of all three exactly; sources of equal weight are merged.
//
// Truncation: leaves out vectors with |n| > m as soon as
//   sum_{j>m} P(j + 1, c s) <= 1e-13 min(P(1, c s), F_0(s)/(1 - e^-s)),
// which bounds the share of the rest in psi and V, because sum_{|n|=j} multinomial(n) g^n = 1 and
// F_j(v) <= (1 - e^-s) P(j + 1, c s). So at most about c s + 7 sqrt(c s) + 10 signals matter.
//
// s >= 0 is finite, or `terms` is. If more than kMaxCountVectors vectors matter, which takes many
// weak signals of three sources or more, the result is that of EvaluateMultiSourceOnGrid.
// OutOfRange if `terms` then limits the sums, which a grid cannot do. About 100 ns a vector.
[[nodiscard]] StatusOr<MultiSourceOutcome> EvaluateMultiSource(const MultiSourcePage& page,
                                                               double s, int terms = kAllTerms);

// Computes the results of EvaluateMultiSource without a sum over vectors. The time does not depend
// on the number of signals, and is some milliseconds for each source. Uses grids of 2,048 to
// 262,144 steps, until three differ by 1e-9 or less; see `accuracy`, usually below 1e-6.
// Precondition: s > 0, finite; staleness grows.
[[nodiscard]] MultiSourceOutcome EvaluateMultiSourceOnGrid(const MultiSourcePage& page, double s);

// Returns only V. For s >= 60, returns the ceiling if all terms count, as for one source.
[[nodiscard]] StatusOr<double> MultiSourceValue(const MultiSourcePage& page, double s,
                                                int terms = kAllTerms);

}  // namespace freshet

#endif  // FRESHET_LAB_METHODS_MULTI_SOURCE_VALUE_H_
