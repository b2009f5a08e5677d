#include "core/model/page_statistics.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr int kSpanBits = 11;
// An interval counts as starting at the previous observation if its length differs from the time
// since that observation by at most 2^-8 (0.4%) of this time. The difference is then only rounding.
constexpr int kContiguousShift = 8;
// A float has 24 significant bits. The lowest 16 are dropped.
constexpr uint32_t kDroppedExposureBits = 16;

}  // namespace

Duration CoarseSpan(Duration span) {
  CHECK(span >= Duration(), "{} us", span.micros());
  const auto micros = static_cast<uint64_t>(span.micros());
  const int extra = std::bit_width(micros) - kSpanBits;
  if (extra <= 0) return span;
  return Duration::Micros(static_cast<int64_t>(micros >> extra << extra));
}

float CoarseExposure(double exposure) {
  CHECK(exposure >= 0, "{}", exposure);
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(exposure));
  constexpr uint32_t kHalf = 1U << (kDroppedExposureBits - 1);
  const auto coarse =
      std::bit_cast<float>((bits + kHalf) >> kDroppedExposureBits << kDroppedExposureBits);
  // Rounding up can leave the range of floats.
  return coarse <= std::numeric_limits<float>::max() ? coarse : std::bit_cast<float>(0x7F7F0000U);
}

CrawlObservation Coarse(CrawlObservation observation, const PageStatistics& before) {
  const Duration elapsed = observation.elapsed;
  observation.exposure = CoarseExposure(observation.exposure);
  observation.elapsed = CoarseSpan(elapsed);
  if (before.recent.empty()) return observation;
  const Instant last = before.recent.back().fetched;
  CHECK(observation.fetched > last, "observations out of order");
  const Duration step = observation.fetched - last;
  // Rounding down keeps the order. Each step also corrects the rounding of earlier steps, so errors
  // do not add up.
  observation.fetched = last + CoarseSpan(step);
  // Usually the interval began at the previous observation, so it is stored with the length of the
  // step.
  const Duration gap = elapsed > step ? elapsed - step : step - elapsed;
  if (gap.micros() <= step.micros() >> kContiguousShift) observation.elapsed = CoarseSpan(step);
  return observation;
}

bool MayBeFetch(const CrawlObservation& observation, Instant fetched) {
  const Duration after = fetched - observation.fetched;
  return after >= Duration() && after.micros() <= observation.elapsed.micros() >> (kSpanBits - 1);
}

}  // namespace freshet
