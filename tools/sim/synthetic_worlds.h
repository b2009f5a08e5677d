// Synthetic worlds of the noisy-signals paper (Busa-Fekete et al.), simulated in virtual time:
// pages with known rates, one crawl per slot of 1/R. Every page starts fresh and the whole horizon
// counts.
#ifndef FRESHET_TOOLS_SIM_SYNTHETIC_WORLDS_H_
#define FRESHET_TOOLS_SIM_SYNTHETIC_WORLDS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/random.h"
#include "core/base/status.h"
#include "core/model/crawl_value.h"

namespace freshet {

// How the parameters of a world's pages are drawn. All: importance and change rate uniform on (0,
// 1).
struct SyntheticWorld {
  std::string name;
  bool signals = false;        // recall ~ Beta(1/4, 1/4); otherwise no signal is ever sent
  bool false_signals = false;  // false signal rate uniform on (0.1, 0.6); otherwise 0
  bool delayed = false;        // signals arrive Poisson(6) slots late
};

// ncis-fig2 (no signals), ncis-fig3 (no false signals), ncis-fig4 (noisy), ncis-fig8 (noisy and
// late). InvalidArgument, with all names, for any other.
[[nodiscard]] StatusOr<SyntheticWorld> ParseSyntheticWorld(std::string_view name);

// Precondition: pages >= 1.
[[nodiscard]] std::vector<PaperRates> DrawPages(const SyntheticWorld& world, int pages,
                                                Random random);

// Which page the policy picks at every slot. Owner thread only.
class SlotPolicy {
 public:
  virtual ~SlotPolicy() = default;
  // A signal of `page` has arrived at `time`; not earlier than any call before.
  virtual void Signal(uint32_t page, double time) = 0;
  // The page crawled at `time`; it counts as crawled. None: the slot stays idle.
  virtual std::optional<uint32_t> Pick(double time) = 0;
  // What that crawl found: whether the page had changed since the crawl before. For those who
  // learn.
  virtual void Crawled(uint32_t /*page*/, double /*time*/, bool /*changed*/) {}
};

// Share of requests (weight importance) that find the page as it is, over (0, horizon]: the
// expectation over requests, without their noise. `crawl_rate` > 0 and `horizon` > 0 in the same
// unit of time. What happens in the world depends on `random` alone, not on the policy, and is the
// same whether signals are delayed or not.
[[nodiscard]] double Simulate(const SyntheticWorld& world, const std::vector<PaperRates>& pages,
                              double crawl_rate, double horizon, Random random, SlotPolicy& policy);

// From `from` on there is a slot every 1/crawl_rate. Value type, thread-compatible.
struct CrawlRateStep {
  double from = 0;
  double crawl_rate = 0;
};

// The same share in each of `parts` equal parts of (0, horizon], at a crawl rate that changes.
// Precondition: steps in order of time, the first from 0, the others before the horizon; parts >=
// 1.
[[nodiscard]] std::vector<double> SimulateOverTime(const SyntheticWorld& world,
                                                   const std::vector<PaperRates>& pages,
                                                   std::span<const CrawlRateStep> steps,
                                                   double horizon, int parts, Random random,
                                                   SlotPolicy& policy);

// What a policy achieves over part of a run, per page as in core/plan/plan.h: measured, not
// computed. Value type, thread-compatible.
struct SimulatedCosts {
  double accuracy = 0;
  double j_h = 0;                // harmonic penalty: importance x H(changes since the last crawl)
  double j_b = 0;                // binary penalty: importance where there was a change
  std::vector<uint32_t> crawls;  // of each page, of the whole run
};

// The costs over (from, horizon], 0 <= from < horizon, at a constant crawl rate. The rest as
// Simulate.
[[nodiscard]] SimulatedCosts SimulateCosts(const SyntheticWorld& world,
                                           const std::vector<PaperRates>& pages, double crawl_rate,
                                           double from, double horizon, Random random,
                                           SlotPolicy& policy);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_SYNTHETIC_WORLDS_H_
