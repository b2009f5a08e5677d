// The trust in sources, and the least trusted (host, source) pairs, for the trust report.
#ifndef FRESHET_CORE_ESTIMATE_HOST_TRUST_H_
#define FRESHET_CORE_ESTIMATE_HOST_TRUST_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/estimate/trust.h"

namespace freshet {

class Estimator;
class SiteTable;

// Sets the precision and its 95% interval: the Wilson score interval of a proportion.
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

// The trust in every source class that has sent anything, over all shards.
[[nodiscard]] std::vector<SourceTrust> TrustIn(const SiteTable& sites);
// Finds the worst (host, source) pairs of several shards, in the order of IsWorse. Each call of
// Look takes at most a few milliseconds, however many hosts a shard knows. The result may or may
// not include a host whose model appears or disappears between two calls. Thread-compatible.
class WorstHosts {
 public:
  // Finds at most `max` pairs whose source is in `sources`. If `host` is not empty, finds only
  // pairs of that host.
  WorstHosts(std::string host, SourceSet sources, size_t max)
      : host_(std::move(host)), sources_(sources), max_(max) {}

  // Checks the next hosts of a shard. False = all hosts of this shard are checked, and the next
  // call starts another shard.
  [[nodiscard]] bool Look(const Estimator& shard);
  [[nodiscard]] size_t found() const { return worst_.size(); }
  [[nodiscard]] std::vector<HostTrust> Take();

 private:
  struct Row {
    const std::string& host;
    uint8_t source = 0;
    double signals = 0;
    double truth = 0;
    double recall = 0;
    const SourceStanding* lately = nullptr;
  };
  void LookAtSite(const Estimator& shard, uint16_t number);
  // Checks a source of a host that has no model of this source.
  void LookAtStanding(const Estimator& shard, const SourceStanding& standing);
  void Add(const Row& row);

  const std::string host_;
  const SourceSet sources_;
  const size_t max_;
  std::vector<HostTrust> worst_;  // a heap; the least bad one is first
  size_t next_ = 0;  // the next site or, after all sites, the next part of the quarantine
  bool of_sites_ = true;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_HOST_TRUST_H_
