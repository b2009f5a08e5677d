// Which hosts and sources are trusted least, for the trust report.
#ifndef FRESHET_CORE_ESTIMATE_HOST_TRUST_H_
#define FRESHET_CORE_ESTIMATE_HOST_TRUST_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "core/estimate/estimator.h"
#include "core/estimate/quarantine.h"
#include "core/estimate/site_table.h"

namespace freshet {

// Precision 95% interval: the Wilson score interval of a proportion.
template <typename T>
void SetPrecision(double signals, double truth, T* out) {
  const double n = signals + 1;
  const double p = out->precision = std::min(1.0, (truth + 0.5) / n);
  constexpr double kNormal95 = 1.959963985;
  const double z2 = kNormal95 * kNormal95;
  const double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kNormal95 / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  out->precision_low = std::max(0.0, centre - half);
  out->precision_high = std::min(1.0, centre + half);
}

// Estimator::TrustByHost, of these tables.
[[nodiscard]] std::vector<HostTrust> WorstHosts(const SiteTable& sites,
                                                const Quarantine& quarantine,
                                                const std::string& host, SourceSet sources,
                                                size_t max);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_HOST_TRUST_H_
