// The index policies, which always choose the page of highest value (the table "Index policies" of
// the model). core/model/crawl_value.h has the formulas; here are the names and the differences
// outside the formulas.
#ifndef FRESHET_CORE_MODEL_POLICY_H_
#define FRESHET_CORE_MODEL_POLICY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace freshet {

enum class PolicyKind : uint8_t {
  kGreedy,           // "greedy": signals ignored
  kGreedyCis,        // "greedy_cis": signals taken as certain
  kGreedyNcis,       // "greedy_ncis": noisy signals, exact
  kNcisApprox,       // "ncis_approx_J": the first J terms of the sums of greedy_ncis, J >= 1
  kGreedyCisPlus,    // "greedy_cis_plus": greedy_cis where signals are good, else greedy
  kGreedyNcisDelay,  // "greedy_ncis_d": greedy_ncis, signals soon after a crawl discarded
  kHarmonic,         // "harmonic": harmonic penalty, signals ignored; starves no page
  kHarmonicNcis,     // "harmonic_ncis": the same at the effective elapsed time
  kNewContent,       // "new_content": finding new content instead of staying fresh
};

// An index policy. Value type, thread-compatible. Invariant: terms >= 1, and 1 but for kNcisApprox.
struct Policy {
  PolicyKind kind = PolicyKind::kGreedyNcis;
  int terms = 1;
  bool operator==(const Policy&) const = default;
};

inline constexpr int kMaxApproximationTerms = 1000;

// The policy of that name. InvalidArgument, with all names, for other text; ncis_approx_J takes 1
// <= J <= kMaxApproximationTerms.
[[nodiscard]] StatusOr<Policy> ParsePolicy(std::string_view name);

// The name that ParsePolicy reads back.
[[nodiscard]] std::string PolicyName(Policy policy);

// Every name, with ncis_approx_J standing for all J.
[[nodiscard]] std::vector<std::string_view> PolicyNames();

// Whether a signal that arrives `since_crawl` after the last crawl (same unit as `delay`, >= 0)
// moves the page under this policy. greedy, harmonic and new_content count none; greedy_ncis_d
// counts those that arrive later than `delay`: an earlier signal most likely stands for a change
// that the crawl already saw.
[[nodiscard]] bool CountsSignal(Policy policy, double since_crawl, double delay);

// greedy_cis_plus trusts signals of precision > 0.7 and recall > 0.6 (the thresholds of the
// noisy-signals paper). Both in [0, 1].
[[nodiscard]] bool SignalsAreGood(double precision, double recall);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_POLICY_H_
