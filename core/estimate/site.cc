#include "core/estimate/site.h"

#include <math.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "absl/strings/str_split.h"
#include "core/base/check.h"
#include "core/base/limits.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace freshet {
namespace {

// Strength of the priors of precision and recall, in signals and in changes.
constexpr double kWeakSignals = 4;
constexpr double kWeakChanges = 2;
constexpr double kStrongSignals = 20;

constexpr double kMinShape = 0.02;
constexpr double kMaxShape = 50;
constexpr double kMinMean = 1e-7;
constexpr double kMaxMean = 1e4;

// ln Gamma(a + c) - ln Gamma(a). lgamma_r, because lgamma writes a global.
double LogRising(double a, double c) {
  int sign = 0;
  return lgamma_r(a + c, &sign) - lgamma_r(a, &sign);
}

// The mean that solves sum_i a (c_i - x_i m)/(a + x_i m) = 0, by Newton in ln m; the function falls
// monotonically in m.
double BestMean(const std::vector<RateSample>& samples, double shape, double start) {
  double log_mean = std::log(start);
  for (int i = 0; i < 30; ++i) {
    const double mean = std::exp(log_mean);
    double score = 0;
    double slope = 0;
    for (const RateSample& s : samples) {
      const double scale = 1 / (shape + s.exposure * mean);
      score += (s.changes - s.exposure * mean) * scale;
      slope += s.exposure * mean * (shape + s.changes) * scale * scale;
    }
    if (!(slope > 0)) break;
    const double step = std::clamp(score / slope, -2.0, 2.0);
    log_mean = std::clamp(log_mean + step, std::log(kMinMean), std::log(kMaxMean));
    if (std::abs(step) < 1e-6) break;
  }
  return std::exp(log_mean);
}

double LogLikelihood(const std::vector<RateSample>& samples, double shape, double mean) {
  const double b = shape / mean;
  double sum = 0;
  for (const RateSample& s : samples) {
    sum -= shape * std::log1p(s.exposure / b);
    if (s.changes > 0) {
      sum += LogRising(shape, s.changes) + s.changes * std::log(s.exposure / (b + s.exposure));
    }
  }
  return sum;
}

absl::string_view Text(std::string_view text) { return {text.data(), text.size()}; }

// Reads exactly the numbers of `out`, all finite and >= 0.
bool ParseDoubles(std::string_view text, char separator, std::span<double> out) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t i = 0; i < out.size(); ++i) {
    if (i > 0 && (at == end || *at++ != separator)) return false;
    const auto [next, error] = std::from_chars(at, end, out[i]);
    if (error != std::errc() || !std::isfinite(out[i]) || out[i] < 0) return false;
    at = next;
  }
  return at == end;
}

}  // namespace

SiteModel::SiteModel(const RatePrior& prior, const AgeCurve& curve, const Classes& classes)
    : prior_(prior), curve_(curve), classes_(classes) {
  double recall = 0;
  for (size_t k = 0; k < kSourceClasses; ++k) {
    const ClassTrust& trust = classes_[k];
    DCHECK(trust.precision > 0 && trust.precision < 1);
    weights_[k] = -std::log1p(-trust.precision);
    recall += trust.recall;
    signals_per_change_ += trust.recall / trust.precision;
    if (SourceClass(static_cast<uint8_t>(k)).burst() != BurstClass::kMass) {
      burst_signals_per_change_ += trust.recall / trust.precision;
    }
  }
  recall_ = std::min(recall, kMaxRecall);
}

RatePrior FitRatePrior(const std::vector<RateSample>& samples, const RatePrior& base) {
  // One page of average exposure that showed what the base expects keeps every sum above zero.
  std::vector<RateSample> used;
  used.reserve(samples.size() + 1);
  double exposure = 0;
  for (const RateSample& s : samples) {
    if (!(s.exposure > 0)) continue;
    used.push_back(s);
    exposure += s.exposure;
  }
  if (used.empty()) return base;
  exposure /= static_cast<double>(used.size());
  used.push_back({.changes = base.mean * exposure, .exposure = exposure});

  // Golden-section search of the profile likelihood over ln shape.
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  double low = std::log(kMinShape);
  double high = std::log(kMaxShape);
  double mean = base.mean;
  const auto profile = [&](double log_shape) {
    const double shape = std::exp(log_shape);
    mean = BestMean(used, shape, mean);
    return LogLikelihood(used, shape, mean);
  };
  double left = high - ratio * (high - low);
  double right = low + ratio * (high - low);
  double at_left = profile(left);
  double at_right = profile(right);
  while (high - low > 0.02) {
    if (at_left > at_right) {
      high = std::exchange(right, left);
      at_right = at_left;
      left = high - ratio * (high - low);
      at_left = profile(left);
    } else {
      low = std::exchange(left, right);
      at_left = at_right;
      right = low + ratio * (high - low);
      at_right = profile(right);
    }
  }
  const double shape = std::exp((low + high) / 2);
  return {.mean = BestMean(used, shape, mean), .shape = shape};
}

void SiteLearner::AddPage(const RateSample& sample) {
  if (pages_++ % stride_ != 0) return;
  if (samples_.size() == limits::kMaxPriorSamples) {
    for (size_t i = 0; 2 * i < samples_.size(); ++i) samples_[i] = samples_[2 * i];
    samples_.resize((samples_.size() + 1) / 2);
    stride_ *= 2;
    if ((pages_ - 1) % stride_ != 0) return;
  }
  samples_.push_back(sample);
}

void SiteLearner::AddSignals(SourceClass source_class, double signals, double truth) {
  DCHECK(truth <= signals * (1 + 1e-9));
  ClassSums& sums = classes_[source_class.packed()];
  sums.signals += signals;
  sums.truth += truth;
}

SiteModel SiteLearner::Fit(const SiteModel& base, const AgeCounts& counts,
                           Strength strength) const {
  SiteModel::Classes classes;
  const bool weak = strength == Strength::kWeak;
  const double precision_strength = weak ? kWeakSignals : kStrongSignals;
  const double recall_strength = weak ? kWeakChanges : kStrongSignals;
  double changes = unsignalled_;
  for (const ClassSums& sums : classes_) changes += sums.truth;
  for (size_t k = 0; k < kSourceClasses; ++k) {
    const ClassTrust& from = base.trust(SourceClass(static_cast<uint8_t>(k)));
    const ClassSums& sums = classes_[k];
    ClassTrust& trust = classes[k];
    trust.signals = sums.signals;
    trust.precision =
        (sums.truth + precision_strength * from.precision) / (sums.signals + precision_strength);
    trust.recall = (sums.truth + recall_strength * from.recall) / (changes + recall_strength);
  }
  return SiteModel(FitRatePrior(samples_, base.prior()), counts.Fit(base.curve()), classes);
}

std::string SerialiseSite(const std::string& host, const SiteModel& site, const AgeCounts& counts) {
  std::string out = fmt::format("{}\t{} {}\t{}\t{}\t{}\t", host, site.prior().mean,
                                site.prior().shape, fmt::join(site.curve().levels(), " "),
                                fmt::join(counts.events, " "), fmt::join(counts.expected, " "));
  for (size_t k = 0; k < kSourceClasses; ++k) {
    const ClassTrust& trust = site.trust(SourceClass(static_cast<uint8_t>(k)));
    if (trust.recall == 0 && trust.signals == 0) continue;
    out += fmt::format("{}:{}:{}:{} ", k, trust.signals, trust.precision, trust.recall);
  }
  return out;
}

Status ParseSite(std::string_view line, std::string* host, SiteModel* site, AgeCounts* counts) {
  const std::vector<std::string> fields = absl::StrSplit(Text(line), '\t');
  if (fields.size() != 6) return InvalidArgument("site model: {} fields, not 6", fields.size());
  std::array<double, 2> prior;
  if (!ParseDoubles(fields[1], ' ', prior) || !(prior[0] > 0) || !(prior[1] > 0)) {
    return InvalidArgument("site model: prior '{}'", fields[1]);
  }
  AgeCurve::Levels levels;
  if (!ParseDoubles(fields[2], ' ', levels) ||
      *std::min_element(levels.begin(), levels.end()) <= 0) {
    return InvalidArgument("site model: curve '{}'", fields[2]);
  }
  SiteModel::Classes classes;
  AgeCounts read_counts;
  if (!ParseDoubles(fields[3], ' ', read_counts.events) ||
      !ParseDoubles(fields[4], ' ', read_counts.expected)) {
    return InvalidArgument("site model: counts '{}', '{}'", fields[3], fields[4]);
  }
  for (const auto item : absl::StrSplit(fields[5], ' ', absl::SkipEmpty())) {
    std::array<double, 4> n;
    if (!ParseDoubles(std::string_view(item.data(), item.size()), ':', n) ||
        n[0] >= kSourceClasses || n[0] != std::floor(n[0]) || !(n[2] > 0) || n[2] >= 1 ||
        n[3] > 1) {
      return InvalidArgument("site model: class '{}'", std::string(item));
    }
    classes[static_cast<size_t>(n[0])] = {.signals = n[1], .precision = n[2], .recall = n[3]};
  }
  *host = fields[0];
  *site = SiteModel({.mean = prior[0], .shape = prior[1]}, AgeCurve(levels), classes);
  *counts = read_counts;
  return absl::OkStatus();
}

}  // namespace freshet
