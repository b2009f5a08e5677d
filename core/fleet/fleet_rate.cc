#include "core/fleet/fleet_rate.h"

#include <cmath>

#include "core/base/duration_text.h"
#include "core/base/limits.h"

namespace freshet {
namespace {

// No real price or demand is outside these limits. Products of values outside them could overflow a
// double.
constexpr double kLeastPrice = 1e-60;
constexpr double kMostPrice = 1e60;
constexpr double kLeastDemand = 1e-30;
constexpr uint64_t kMostTerm = uint64_t{1} << 62;

Status ValidateRate(Rate rate, const char* field) {
  if (rate.per_second() >= 0 && rate.per_second() <= limits::kMaxCrawlsPerSecond) return {};
  return InvalidArgument("{}: {} crawls a second is out of range: it must be from 0 to {}", field,
                         rate.per_second(), limits::kMaxCrawlsPerSecond);
}

}  // namespace

Status Validate(const FleetRateOptions& options) {
  if (options.round < Duration::Millis(1)) return InvalidArgument("round: less than 1 ms");
  if (options.lifetime < options.round * 2 || options.lifetime > Duration::Days(1)) {
    return InvalidArgument(
        "lifetime: must be from two rounds (of messages to the leader) to a day, but is {}",
        SecondsText(options.lifetime));
  }
  if (options.clock_bound < Duration() || options.clock_bound > options.lifetime) {
    return InvalidArgument("clock_bound: must be from 0 to the lifetime, but is {}",
                           SecondsText(options.clock_bound));
  }
  if (options.silence < options.round || options.silence > options.lifetime) {
    return InvalidArgument(
        "silence: must be from one round (between messages to the leader) to the lifetime of a "
        "grant, but is {}",
        SecondsText(options.silence));
  }
  if (!(options.gain > 0 && options.gain <= 100)) {
    return InvalidArgument("gain: must be above 0 and at most 100, but is {}", options.gain);
  }
  if (options.memory < options.round) return InvalidArgument("memory: less than one round");
  if (!(options.probing_share > 0 && options.probing_share <= 0.5)) {
    return InvalidArgument("probing_share: must be above 0 and at most 0.5, but is {}",
                           options.probing_share);
  }
  if (!(options.dead_band >= 0 && options.dead_band <= 0.5)) {
    return InvalidArgument("dead_band: must be from 0 to 0.5, but is {}", options.dead_band);
  }
  return {};
}

Status Validate(const RateReport& report) {
  if (report.price != 0 && !(report.price >= kLeastPrice && report.price <= kMostPrice)) {
    return InvalidArgument(
        "price: the crawl value {} is out of range: it must be 0, or from {} to {}", report.price,
        kLeastPrice, kMostPrice);
  }
  if (report.demand) {
    const auto& [rate, elasticity] = *report.demand;
    RETURN_IF_ERROR(ValidateRate(rate, "demand.rate"));
    if (rate.per_second() < kLeastDemand) {
      return InvalidArgument("demand.rate: {} is below {}", rate.per_second(), kLeastDemand);
    }
    if (!(elasticity < 0) || !std::isfinite(elasticity)) {
      return InvalidArgument("demand.elasticity: {} is not a finite number below 0", elasticity);
    }
  }
  RETURN_IF_ERROR(ValidateRate(report.used, "used"));
  return Validate(report.held);
}

Status Validate(const RateGrant& grant) {
  if (grant.term > kMostTerm) return InvalidArgument("term: {} is above {}", grant.term, kMostTerm);
  if (grant.until < Instant()) return InvalidArgument("until: before 1970");
  return ValidateRate(grant.rate, "rate");
}

}  // namespace freshet
