// What a server has to do beside handing out pages.
#ifndef FRESHET_BENCH_DISTURBANCE_H_
#define FRESHET_BENCH_DISTURBANCE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/served.h"
#include "bench/synthetic_store.h"
#include "core/base/status.h"

namespace freshet {

inline constexpr const char* kNothingBeside = "nothing";
inline constexpr const char* kCertificates = "certificates";
// The names: nothing; rate-changes, to half as much again and back; signals, 10,000 a second;
// reads, a flood of GetPage; epochs, one after the other; checkpoints, likewise; compactions of the
// whole store, likewise; certificates, replaced and reloaded ten times a second.
[[nodiscard]] const std::vector<std::string>& Besides();

// Goes on until End. Owner thread only.
class Disturbance {
 public:
  virtual ~Disturbance() = default;
  // What went wrong, if anything. Call once.
  [[nodiscard]] virtual Status End() = 0;
  // How often it happened, a second, so far.
  [[nodiscard]] virtual double per_second() const = 0;
  // Where it changes the crawl rate, the greatest that it has set.
  [[nodiscard]] virtual std::optional<double> greatest_rate() const { return std::nullopt; }
};

// `rate` is the crawl rate. `served` outlives it, and is not used for anything else meanwhile that
// sets the rate.
[[nodiscard]] std::unique_ptr<Disturbance> MakeDisturbance(const std::string& name, Served& served,
                                                           const SyntheticOptions& pages,
                                                           double rate);

}  // namespace freshet

#endif  // FRESHET_BENCH_DISTURBANCE_H_
