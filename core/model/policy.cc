#include "core/model/policy.h"

#include <array>
#include <charconv>
#include <utility>

#include "core/base/check.h"
#include "core/base/wrong_value.h"

namespace freshet {
namespace {

constexpr std::string_view kApproxPrefix = "ncis_approx_";
constexpr std::array<std::pair<std::string_view, PolicyKind>, 9> kNames = {{
    {"greedy", PolicyKind::kGreedy},
    {"greedy_cis", PolicyKind::kGreedyCis},
    {"greedy_ncis", PolicyKind::kGreedyNcis},
    {"ncis_approx_J", PolicyKind::kNcisApprox},
    {"greedy_cis_plus", PolicyKind::kGreedyCisPlus},
    {"greedy_ncis_d", PolicyKind::kGreedyNcisDelay},
    {"harmonic", PolicyKind::kHarmonic},
    {"harmonic_ncis", PolicyKind::kHarmonicNcis},
    {"new_content", PolicyKind::kNewContent},
}};

}  // namespace

StatusOr<Policy> ParsePolicy(std::string_view name) {
  for (const auto& [known, kind] : kNames) {
    if (kind != PolicyKind::kNcisApprox && known == name) return Policy{kind, 1};
  }
  if (name.starts_with(kApproxPrefix)) {
    const std::string_view digits = name.substr(kApproxPrefix.size());
    int terms = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), terms);
    const bool whole = error == std::errc() && end == digits.data() + digits.size();
    if (!whole || terms < 1 || terms > kMaxApproximationTerms) {
      return InvalidArgument(
          "policy: {}", WrongValue(name, fmt::format("ncis_approx_N, where N is the number of "
                                                     "terms of the approximation, from 1 to {}",
                                                     kMaxApproximationTerms)));
    }
    return Policy{PolicyKind::kNcisApprox, terms};
  }
  const std::vector<std::string_view> names = PolicyNames();
  return InvalidArgument("policy: {}", WrongName(name, "a policy", {names.begin(), names.end()}));
}

std::string PolicyName(Policy policy) {
  if (policy.kind == PolicyKind::kNcisApprox) {
    return fmt::format("{}{}", kApproxPrefix, policy.terms);
  }
  for (const auto& [name, kind] : kNames) {
    if (kind == policy.kind) return std::string(name);
  }
  CHECK(false, "policy kind {}", static_cast<int>(policy.kind));
  return {};
}

std::vector<std::string_view> PolicyNames() {
  std::vector<std::string_view> names;
  names.reserve(kNames.size());
  for (const auto& entry : kNames) names.push_back(entry.first);
  return names;
}

bool CountsSignal(Policy policy, double since_crawl, double delay) {
  switch (policy.kind) {
    case PolicyKind::kGreedy:
    case PolicyKind::kHarmonic:
    case PolicyKind::kNewContent:
      return false;
    case PolicyKind::kGreedyNcisDelay:
      return since_crawl > delay;
    case PolicyKind::kGreedyCis:
    case PolicyKind::kGreedyNcis:
    case PolicyKind::kNcisApprox:
    case PolicyKind::kGreedyCisPlus:
    case PolicyKind::kHarmonicNcis:
      return true;
  }
  CHECK(false, "policy kind {}", static_cast<int>(policy.kind));
  return false;
}

bool SignalsAreGood(double precision, double recall) { return precision > 0.7 && recall > 0.6; }

}  // namespace freshet
