// Crawl values: what a crawl of a page is worth now, under every index policy.
//
// Under any policy, one number describes the state of a page: its exponent s >= 0. It is zero after
// a crawl, grows steadily with time, and jumps at a signal. The meaning of s depends on the policy:
//
//   policy                        s                              value V(s)
//   greedy                        Delta tau                      (mu/Delta) R^1(s)
//   greedy_cis                    alpha tau, infinite once       V_ncis at signal_weight infinite,
//                                 signalled                      gamma := Delta - alpha
//   greedy_ncis, greedy_ncis_d    alpha tau + sum kappa n        V_ncis
//   ncis_approx_J                 alpha tau + sum kappa n        V_ncis, terms i < J only
//   greedy_cis_plus               as greedy_cis or greedy        by precision and recall
//   harmonic                      Delta tau                      (mu/Delta) (s - 1 + e^-s)
//   harmonic_ncis                 Delta tau_eff                  (mu/Delta) (s - 1 + e^-s)
//   new_content                   Delta tau                      mu R^1(s)
//
// where R^i(x) = P(i + 1, x) (core/model/gamma.h). With iota = s/alpha and the functions w and psi
// of Busa-Fekete et al. on threshold policies (docs/model.md names the paper and explains the
// symbols),
//
//   V_ncis = mu (w(iota) - e^-s psi(iota)) = mu Integral_0^s e^-u psi(u/alpha) du.
//
// V_ncis depends on time and signals only through s, also for alpha -> 0 and kappa -> infinity.
//
// Facts that hold for every policy:
//  - V(0) = 0; V is continuous and nondecreasing in s; V <= ceiling.
//  - V(s)/s^2 is nonincreasing, because psi is subadditive. Hence V(c s) <= c^2 V(s) for c >= 1,
//    and the relative condition number of V in s is at most 2. Rounding s therefore hardly changes
//    V.
//  - V(t + d) <= V(t) + slope d + curvature d^2/2 (ValueJet) while no signal comes.
//
// The unit of time is arbitrary: rates are per that unit, and values are importance times time.
#ifndef FRESHET_CORE_MODEL_CRAWL_VALUE_H_
#define FRESHET_CORE_MODEL_CRAWL_VALUE_H_

#include <cstdint>
#include <limits>

#include "core/base/status.h"
#include "core/model/page_rates.h"
#include "core/model/policy.h"

namespace freshet {

// A page with one signal source, as the papers describe it. Value type, thread-compatible.
struct PaperRates {
  double importance = 0;         // mu
  double change_rate = 0;        // Delta
  double recall = 0;             // lambda
  double false_signal_rate = 0;  // nu
};

// Returns OK if importance, change_rate and false_signal_rate are finite and >= 0 and recall is in
// [0, 1], otherwise an InvalidArgument that names the field.
[[nodiscard]] Status ValidatePaperRates(const PaperRates& rates);

// kappa = log1p(true_rate/false_rate): the amount that a signal adds to s if its source sends true
// and false signals at these rates (finite, >= 0). 0 if true_rate is 0; otherwise infinite if
// false_rate is 0. The formula -ln(nu/gamma) is not used, because it loses all precision when true
// signals are rare.
[[nodiscard]] double SignalWeight(double true_rate, double false_rate);

// alpha = (1 - lambda) Delta, gamma = lambda Delta + nu, kappa = SignalWeight(lambda Delta, nu),
// staleness_rate = alpha. Precondition: valid rates.
[[nodiscard]] PageRates RatesFromPaper(const PaperRates& rates);
// The inverse of RatesFromPaper. All sources together are treated as one source: changes are
// signalled at the rate Delta - alpha, and the rest of gamma is false signals. `complete`: every
// change is signalled, and there are no false signals.
[[nodiscard]] PaperRates PaperFromRates(double importance, const PageRates& rates, bool complete);

// The form of the value function of a page.
enum class ValueShape : uint8_t {
  kNone,      // identically 0: no importance, no changes, or mu/Delta beyond the range of double
  kGreedy,    // ceiling R^1(s)
  kNcis,      // V_ncis, of the first `terms` terms (core/model/ncis_value.h)
  kHarmonic,  // scale (s - 1 + e^-s), unbounded
};

// If s is at least this, V equals its ceiling to within rounding, except for kHarmonic
// (core/model/ncis_value.h).
inline constexpr double kSaturatedStaleness = 60;
inline constexpr int kAllTerms = std::numeric_limits<int>::max();

// A page under a policy, prepared for evaluation: everything that does not depend on s.
// MakeValueParameters creates it, in 15 to 30 ns. Value type, thread-compatible.
struct ValueParameters {
  ValueShape shape = ValueShape::kNone;
  int terms = kAllTerms;       // number of terms of both sums of V_ncis
  double ceiling = 0;          // limit of V for s -> infinity; infinite for kHarmonic
  double speed = 0;            // ds/dt while no signal comes
  double jump = 0;             // the amount that one signal adds to s; can be infinite; 0 = ignored
  double scale = 0;            // V = scale x dimensionless value: mu/Delta, mu or mu/gamma
  double slope_scale = 0;      // scale x speed
  double curvature_scale = 0;  // bound of d^2V/dt^2 at s = 0
  // For kNcis only:
  double odds = 0;         // c = gamma/alpha; can be infinite
  double share = 0;        // q = gamma/(alpha + gamma)
  double unsignalled = 0;  // alpha/(alpha + gamma)
  double weight = 0;       // kappa
  double decay = 0;        // r = e^-kappa
  double keep = 0;         // 1 - r q = Delta/(alpha + gamma)
  double tail = 0;         // sum of r^i q^(i+1), 0 < i < terms
  double closed_from =
      std::numeric_limits<double>::infinity();  // from this s on, the closed form holds
  double settled_from = std::numeric_limits<double>::infinity();  // from this s on, without poles
};

// Prepares a page for one policy. `importance`, `rates.change_rate`, `rates.unsignalled_rate` and
// `rates.signal_rate` must be finite and >= 0. `rates.signal_weight` must be >= 0 and can be
// infinite. V_ncis uses alpha, gamma and kappa as they are. Its ceiling is mu/(alpha + gamma
// (1 - e^-kappa)), which is mu/Delta if the rates are consistent. For policies whose s is the
// staleness, s advances by `rates.staleness_rate`, which can differ from alpha (operational time).
[[nodiscard]] ValueParameters MakeValueParameters(Policy policy, double importance,
                                                  const PageRates& rates);

// The exponent s of a page that was crawled `elapsed` ago. `staleness` is the stored exponent alpha
// tau + sum kappa n; `signalled` says whether any signal came since the crawl. All are >= 0, and
// `staleness` can be infinite. Each policy reads only what its row of the table above names.
// harmonic_ncis uses Delta/alpha x staleness.
[[nodiscard]] double PolicyExponent(Policy policy, const PageRates& rates, double staleness,
                                    double elapsed, bool signalled);

// V at s >= 0, which can be infinite. The relative error is below 1e-12, except for values under
// 1e-300.
[[nodiscard]] double CrawlValue(const ValueParameters& page, double s);

// A value, and an upper bound of its growth while no signal comes: V(t + d) <= value + slope d +
// curvature d^2/2 for all d >= 0. slope is exactly dV/dt, which is mu alpha e^-s psi for V_ncis.
// Value type, thread-compatible.
struct ValueJet {
  double value = 0;
  double slope = 0;
  double curvature = 0;
};
[[nodiscard]] ValueJet CrawlValueJet(const ValueParameters& page, double s);
// CrawlValueJet of a kGreedy page, for which scale and speed suffice.
[[nodiscard]] ValueJet PlainValueJet(double scale, double speed, double s);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_CRAWL_VALUE_H_
