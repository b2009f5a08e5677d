// Work that competes with the server when it hands out pages.
#ifndef FRESHET_LAB_BENCH_DISTURBANCE_H_
#define FRESHET_LAB_BENCH_DISTURBANCE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "lab/bench/served.h"
#include "lab/bench/synthetic_store.h"

namespace freshet {

inline constexpr const char* kNothingBeside = "nothing";
inline constexpr const char* kCertificates = "certificates";
// Returns the names of the disturbances: nothing; rate-changes (to 1.5 times the rate and back);
// signals (10,000 a second); reads (a flood of GetPage); epochs, checkpoints and compactions (of
// the whole store, one after the other); certificates (replaced and reloaded ten times a second).
[[nodiscard]] const std::vector<std::string>& Besides();

// A disturbance that runs until End. Owner thread only.
class Disturbance {
 public:
  virtual ~Disturbance() = default;
  // Ends the disturbance, and returns its first error. Call once.
  [[nodiscard]] virtual Status End() = 0;
  // The number of events per second so far.
  [[nodiscard]] virtual double per_second() const = 0;
  // The highest crawl rate that the disturbance has set; nullopt = it does not change the rate.
  [[nodiscard]] virtual std::optional<double> greatest_rate() const { return std::nullopt; }
};

// Starts a disturbance. `rate` is the crawl rate. `served` must outlive the disturbance, and
// nothing else may set the rate until End.
[[nodiscard]] std::unique_ptr<Disturbance> MakeDisturbance(const std::string& name, Served& served,
                                                           const SyntheticOptions& pages,
                                                           double rate);

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_DISTURBANCE_H_
