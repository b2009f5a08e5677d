// The index policies, which always choose the page with the highest value (docs/model.md, "Crawl
// values"). core/model/crawl_value.h has the formulas. This header has the names of the policies,
// and the rules for signals.
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
  kGreedyCisPlus,    // "greedy_cis_plus": greedy_cis if signals are good, else greedy
  kGreedyNcisDelay,  // "greedy_ncis_d": greedy_ncis, but signals soon after a crawl are discarded
  kHarmonic,         // "harmonic": harmonic penalty, signals ignored; starves no page
  kHarmonicNcis,     // "harmonic_ncis": harmonic, with the effective elapsed time
  kNewContent,       // "new_content": finds new content instead of staying fresh
};

// An index policy. Value type, thread-compatible. Invariant: terms >= 1, and terms is 1 except for
// kNcisApprox.
struct Policy {
  PolicyKind kind = PolicyKind::kGreedyNcis;
  int terms = 1;
  bool operator==(const Policy&) const = default;
};

inline constexpr int kMaxApproximationTerms = 1000;

// Returns the policy with this name, or an InvalidArgument that lists all names. ncis_approx_J
// takes 1 <= J <= kMaxApproximationTerms.
[[nodiscard]] StatusOr<Policy> ParsePolicy(std::string_view name);

// The name of a policy. ParsePolicy returns the same policy for this name.
[[nodiscard]] std::string PolicyName(Policy policy);

// Every name, with ncis_approx_J standing for all J.
[[nodiscard]] std::vector<std::string_view> PolicyNames();

// Returns true if a signal counts under this policy when it arrives `since_crawl` after the last
// crawl (>= 0, same unit as `delay`). greedy, harmonic and new_content count no signals.
// greedy_ncis_d counts only signals that arrive later than `delay`: an earlier signal most likely
// stands for a change that the crawl already saw.
[[nodiscard]] bool CountsSignal(Policy policy, double since_crawl, double delay);

// Returns true if greedy_cis_plus trusts signals of this precision and recall, both in [0, 1]:
// precision > 0.7 and recall > 0.6 (the thresholds of the noisy-signals paper).
[[nodiscard]] bool SignalsAreGood(double precision, double recall);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_POLICY_H_
