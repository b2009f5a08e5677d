// The rates of a page that decide the value of a crawl. Value type, thread-compatible.
#ifndef FRESHET_CORE_MODEL_PAGE_RATES_H_
#define FRESHET_CORE_MODEL_PAGE_RATES_H_

#include <cstdint>

namespace freshet {

// PageRates::age_bin of a page whose rates do not depend on the age of its last event.
inline constexpr uint8_t kAgeless = 255;

// The rates that the scheduler uses now, per second of wall-clock time, as of
// `PageState::carried_at`.
struct PageRates {
  double change_rate = 0;       // Delta
  double unsignalled_rate = 0;  // alpha
  double signal_rate = 0;       // gamma, summed over sources
  double signal_weight = 0;     // kappa of one source that represents all sources; can be infinite
  double staleness_rate = 0;    // ds/dt
  // The bin of the age curve that the rates hold for (core/estimate/operational_time.h), and the
  // site model that they come from. Only the Estimator writes these.
  uint8_t age_bin = kAgeless;
  uint16_t site = 0;
  bool operator==(const PageRates&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_PAGE_RATES_H_
