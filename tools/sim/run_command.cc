// freshet-sim run: how much of the requests a policy serves fresh in a synthetic world.
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "core/index/price_index.h"
#include "core/model/policy.h"
#include "core/plan/lds.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "tools/sim/commands.h"
#include "tools/sim/synthetic_worlds.h"

namespace freshet {
namespace {

// One unit of the paper's time in seconds: so long that a microsecond, the grain of Instant, is
// nothing.
constexpr double kUnitSeconds = 1e6;
// greedy_ncis_d discards signals that arrive within this many slots of a crawl (the paper's figure
// 8).
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
      entry.policy = policy;
      entry.rates = MakeIndexRates(pages[i].importance, RatesFromPaper(PerSecond(pages[i])));
      index_.Put(PageId(i), entry);
      jump_.push_back(ValueOf(entry).jump);
    }
  }

  void Signal(uint32_t page, double time) override {
    if (jump_[page] == 0 || !CountsSignal(policy_, time - crawled_[page], delay_)) return;
    const Instant now = InstantOf(time);
    index_.Restart(PageId(page), index_.ExponentOf(PageId(page), now) + jump_[page], now);
  }

  uint32_t Pick(double time) override {
    const Instant now = InstantOf(time);
    const auto best = index_.Best(now);
    CHECK(best.has_value(), "no page to pick");
    index_.Restart(best->page, 0, now);
    crawled_[best->page.value()] = time;
    return best->page.value();
  }

 private:
  Policy policy_;
  double delay_;
  std::vector<double> crawled_;
  std::vector<double> jump_;  // what a signal adds to the exponent
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

// What the best crawling at equal intervals reaches if nobody heeds signals (Azar et al.).
StatusOr<double> Baseline(const std::vector<PaperRates>& pages, double crawl_rate) {
  std::vector<double> importance;
  std::vector<double> change_rate;
  for (const PaperRates& page : pages) {
    importance.push_back(page.importance);
    change_rate.push_back(page.change_rate);
  }
  const PlanPages columns{.importance = importance, .change_rate = change_rate};
  ASSIGN_OR_RETURN(const RatePlan plan, PlanLds(columns, crawl_rate));
  return ComputePlanCosts(columns, plan, CrawlTimes::kEqualIntervals).accuracy;
}

struct Mean {
  double sum = 0;
  double squares = 0;
  int n = 0;
  void Add(double x) {
    sum += x;
    squares += x * x;
    ++n;
  }
  [[nodiscard]] double mean() const { return sum / n; }
  // Standard error of the mean; zero for a single repetition, which has none.
  [[nodiscard]] double error() const {
    if (n < 2) return 0;
    const double variance = std::max(0.0, (squares - sum * sum / n) / (n - 1));
    return std::sqrt(variance / n);
  }
};

Status Validate(const RunFlags& flags) {
  if (flags.pages < 1) return InvalidArgument("--pages {}: at least 1 is needed", flags.pages);
  if (flags.repeats < 1)
    return InvalidArgument("--repeats {}: at least 1 is needed", flags.repeats);
  if (!(flags.rate > 0) || std::isinf(flags.rate)) {
    return InvalidArgument("--rate {}: must be positive and finite", flags.rate);
  }
  if (!(flags.horizon > 0) || flags.horizon * kUnitSeconds > 4e12) {
    return InvalidArgument("--horizon {}: must be positive and at most {}", flags.horizon,
                           4e12 / kUnitSeconds);
  }
  return {};
}

Status Run(const RunFlags& flags) {
  RETURN_IF_ERROR(Validate(flags));
  ASSIGN_OR_RETURN(const Policy policy, ParsePolicy(flags.policy));
  ASSIGN_OR_RETURN(const SyntheticWorld world, ParseSyntheticWorld(flags.world));
  const auto started = std::chrono::steady_clock::now();
  Random seeds(flags.seed);
  Mean accuracy;
  Mean baseline;
  for (int repeat = 0; repeat < flags.repeats; ++repeat) {
    const std::vector<PaperRates> pages = DrawPages(world, flags.pages, seeds.Split());
    ASSIGN_OR_RETURN(const double reachable, Baseline(pages, flags.rate));
    baseline.Add(reachable);
    ValuePolicy picks(policy, pages, flags.rate);
    accuracy.Add(Simulate(world, pages, flags.rate, flags.horizon, seeds.Split(), picks));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  const nlohmann::ordered_json line = {{"policy", flags.policy},
                                       {"pages", flags.pages},
                                       {"rate", flags.rate},
                                       {"repeats", flags.repeats},
                                       {"accuracy_mean", accuracy.mean()},
                                       {"accuracy_stderr", accuracy.error()},
                                       {"baseline_mean", baseline.mean()},
                                       {"seconds", seconds.count()}};
  std::cout << line.dump() << '\n';
  return {};
}

}  // namespace

void AddRunCommand(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("run", "Accuracy of a policy in a synthetic world");
  auto flags = std::make_shared<RunFlags>();
  command->add_option("--policy", flags->policy, "Index policy")->capture_default_str();
  command->add_option("--world", flags->world, "ncis-fig2, -fig3, -fig4 or -fig8")
      ->capture_default_str();
  command->add_option("--pages", flags->pages, "Pages")->capture_default_str();
  command->add_option("--rate", flags->rate, "Crawls per unit of time")->capture_default_str();
  command->add_option("--horizon", flags->horizon, "Units of time")->capture_default_str();
  command->add_option("--repeats", flags->repeats, "Instances to average")->capture_default_str();
  command->add_option("--seed", flags->seed, "Seed of instances and events")->capture_default_str();
  command->callback([&action, flags] { action = [flags] { return Run(*flags); }; });
}

}  // namespace freshet
