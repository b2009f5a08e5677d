// freshet-sim run: how much of the requests a policy serves fresh in a synthetic world.
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/index/price_index.h"
#include "core/model/policy.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "tools/sim_commands.h"
#include "tools/worlds.h"

namespace freshet {
namespace {

// One unit of the paper's time in seconds: so long that a microsecond, the grain of Instant, is nothing.
constexpr double kUnitSeconds = 1e6;
// greedy_ncis_d discards signals that arrive within this many slots of a crawl (the paper's figure 8).
constexpr double kDelaySlots = 5;

Instant InstantOf(double time) { return Instant() + Duration::FromSeconds(time * kUnitSeconds); }

PaperRates PerSecond(PaperRates rates) {
  rates.change_rate /= kUnitSeconds;
  rates.false_signal_rate /= kUnitSeconds;
  return rates;
}

// Picks the page of highest crawl value, knowing the true rates.
class ValuePolicy final : public SlotPolicy {
 public:
  ValuePolicy(Policy policy, const std::vector<PaperRates>& pages, double crawl_rate)
      : policy_(policy), delay_(kDelaySlots / crawl_rate), crawled_(pages.size(), 0.0) {
    for (uint32_t i = 0; i < pages.size(); ++i) {
      IndexEntry entry;
      entry.value =
          MakeValueParameters(policy, pages[i].importance, RatesFromPaper(PerSecond(pages[i])));
      index_.Put(PageId(i), entry);
    }
  }

  void Signal(uint32_t page, double time) override {
    IndexEntry entry = *index_.Find(PageId(page));
    if (entry.value.jump == 0 || !CountsSignal(policy_, time - crawled_[page], delay_)) return;
    const Instant now = InstantOf(time);
    entry.exponent = ExponentAt(entry, now) + entry.value.jump;
    entry.since = now;
    index_.Put(PageId(page), entry);
  }

  uint32_t Pick(double time) override {
    const Instant now = InstantOf(time);
    const auto best = index_.Best(now);
    CHECK(best.has_value(), "no page to pick");
    IndexEntry entry = *index_.Find(best->page);
    entry.exponent = 0;
    entry.since = now;
    index_.Put(best->page, entry);
    crawled_[best->page.value()] = time;
    return best->page.value();
  }

 private:
  Policy policy_;
  double delay_;
  std::vector<double> crawled_;
  PriceIndex index_;
};

struct RunFlags {
  std::string policy = "greedy_ncis";
  std::string world = "ncis-fig4";
  int pages = 1000;
  double rate = 100;
  double horizon = 1000;
  int repeats = 10;
  uint64_t seed = 1;
};

}  // namespace
}  // namespace freshet
