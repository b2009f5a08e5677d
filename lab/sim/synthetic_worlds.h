// The synthetic worlds of the noisy-signals paper (Busa-Fekete et al.), simulated in virtual time.
// Pages have known rates, and there is one crawl in each slot of 1/R. Every page is fresh at the
// start, and the whole horizon counts.
#ifndef FRESHET_LAB_SIM_SYNTHETIC_WORLDS_H_
#define FRESHET_LAB_SIM_SYNTHETIC_WORLDS_H_

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

// The distribution of a world's pages. In all worlds importance and change rate are uniform on (0,
// 1).
struct SyntheticWorld {
  std::string name;
  bool signals = false;        // recall ~ Beta(1/4, 1/4); otherwise there are no signals
  bool false_signals = false;  // false signal rate uniform on (0.1, 0.6); otherwise 0
  bool delayed = false;        // signals arrive late, by Poisson(6) slots
};

// Parses ncis-fig2 (no signals), ncis-fig3 (no false signals), ncis-fig4 (noisy), ncis-fig8 (noisy
// and late). InvalidArgument: the name is unknown; the message lists all names.
[[nodiscard]] StatusOr<SyntheticWorld> ParseSyntheticWorld(std::string_view name);

// Draws pages. Precondition: pages >= 1.
[[nodiscard]] std::vector<PaperRates> DrawPages(const SyntheticWorld& world, int pages,
                                                Random random);

// A policy that picks a page in every slot. Owner thread only.
class SlotPolicy {
 public:
  virtual ~SlotPolicy() = default;
  // Receives a signal of `page` at `time`, which is not earlier than in any previous call.
  virtual void Signal(uint32_t page, double time) = 0;
  // Returns the page to crawl at `time`, which then counts as crawled; nullopt = the slot stays
  // idle.
  virtual std::optional<uint32_t> Pick(double time) = 0;
  // Reports, for learners, whether the page had changed since its previous crawl.
  virtual void Crawled(uint32_t /*page*/, double /*time*/, bool /*changed*/) {}
};

// Returns the share of requests, weighted by importance, that find the page unchanged since its
// last crawl, over (0, horizon]. It is the expectation over requests, so it does not have their
// noise. `crawl_rate` > 0 and `horizon` > 0 in the same unit of time. Events of the world depend
// only on `random`, not on the policy, and are the same with and without delays.
[[nodiscard]] double Simulate(const SyntheticWorld& world, const std::vector<PaperRates>& pages,
                              double crawl_rate, double horizon, Random random, SlotPolicy& policy);

// A crawl rate that applies from `from` on, with a slot every 1/crawl_rate. Value type,
// thread-compatible.
struct CrawlRateStep {
  double from = 0;
  double crawl_rate = 0;
};

// Returns the share that Simulate returns for each of `parts` equal parts of (0, horizon], with a
// changing crawl rate. Precondition: the steps are in order of time, the first is at 0, the others
// are before the horizon; parts >= 1.
[[nodiscard]] std::vector<double> SimulateOverTime(const SyntheticWorld& world,
                                                   const std::vector<PaperRates>& pages,
                                                   std::span<const CrawlRateStep> steps,
                                                   double horizon, int parts, Random random,
                                                   SlotPolicy& policy);

// The measured costs of a policy over a part of a run, defined per page as in core/plan/plan.h.
// Value type, thread-compatible.
struct SimulatedCosts {
  double accuracy = 0;
  double j_h = 0;                // harmonic penalty: importance x H(changes since the last crawl)
  double j_b = 0;                // binary penalty: importance if there was a change
  std::vector<uint32_t> crawls;  // per page, over the whole run
};

// Returns the costs over (from, horizon], 0 <= from < horizon, at a constant crawl rate. In all
// other respects it works like Simulate.
[[nodiscard]] SimulatedCosts SimulateCosts(const SyntheticWorld& world,
                                           const std::vector<PaperRates>& pages, double crawl_rate,
                                           double from, double horizon, Random random,
                                           SlotPolicy& policy);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_SYNTHETIC_WORLDS_H_
