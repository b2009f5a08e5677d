#include "lab/sim/synthetic_worlds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

#include "core/base/check.h"
#include "core/base/wrong_value.h"

namespace freshet {
namespace {

constexpr double kMeanDelaySlots = 6;

enum class Kind : uint8_t { kChange, kFalseSignal, kArrival };

struct Happening {
  double time;
  uint32_t page;
  Kind kind;
  bool operator>(const Happening& other) const { return time > other.time; }
};

// The truth: the changes of each page, and their signals.
class Truth {
 public:
  Truth(const SyntheticWorld& world, const std::vector<PaperRates>& pages, Random random)
      : world_(world),
        pages_(pages),
        random_(random),
        delays_(random.Split()),
        pages_state_(pages.size()) {
    for (uint32_t i = 0; i < pages.size(); ++i) {
      Push(i, Kind::kChange, random_.Exponential(pages[i].change_rate));
      Push(i, Kind::kFalseSignal, random_.Exponential(pages[i].false_signal_rate));
    }
  }

  // Sets the length of a slot from now on. It is the unit of delays.
  void SetSlot(double slot) { slot_ = slot; }

  // Plays all events up to and including `time`. Passes signals to `policy` as they arrive.
  void RunTo(double time, SlotPolicy& policy) {
    while (!queue_.empty() && queue_.top().time <= time) {
      const Happening next = queue_.top();
      queue_.pop();
      const PaperRates& rates = pages_[next.page];
      switch (next.kind) {
        case Kind::kChange:
          Change(next.page, next.time);
          if (random_.Uniform() < rates.recall) Send(next, policy);
          Push(next.page, Kind::kChange, next.time + random_.Exponential(rates.change_rate));
          break;
        case Kind::kFalseSignal:
          Send(next, policy);
          Push(next.page, Kind::kFalseSignal,
               next.time + random_.Exponential(rates.false_signal_rate));
          break;
        case Kind::kArrival:
          policy.Signal(next.page, next.time);
          break;
      }
    }
  }

  // Crawls the page. Returns true if it had changed.
  bool Crawl(uint32_t page, double time) {
    State& state = pages_state_[page];
    if (state.fresh) return false;
    state.fresh = true;
    state.fresh_since = time;
    PayPenalty(page, time);
    state.missed = 0;
    state.penalty = 0;
    return true;
  }

  // Returns the fresh time up to `end`, weighted by importance.
  [[nodiscard]] double FreshTime(double end) const {
    double sum = fresh_time_;
    for (size_t i = 0; i < pages_.size(); ++i) {
      const State& state = pages_state_[i];
      if (state.fresh) sum += pages_[i].importance * (end - state.fresh_since);
    }
    return sum;
  }

  // Returns the time up to `end`, weighted by importance and by H(n) of the n changes since the
  // last crawl.
  [[nodiscard]] double PenaltyTime(double end) const {
    double sum = penalty_time_;
    for (size_t i = 0; i < pages_.size(); ++i) {
      const State& state = pages_state_[i];
      sum += pages_[i].importance * state.penalty * (end - state.penalty_since);
    }
    return sum;
  }

 private:
  struct State {
    bool fresh = true;
    uint32_t missed = 0;  // changes since the last crawl
    double fresh_since = 0;
    double penalty = 0;  // H(missed)
    double penalty_since = 0;
  };

  void Push(uint32_t page, Kind kind, double time) {
    if (!std::isinf(time)) queue_.push({time, page, kind});
  }

  void Change(uint32_t page, double time) {
    State& state = pages_state_[page];
    PayPenalty(page, time);
    state.penalty += 1.0 / ++state.missed;
    if (!state.fresh) return;
    state.fresh = false;
    fresh_time_ += pages_[page].importance * (time - state.fresh_since);
  }

  void PayPenalty(uint32_t page, double time) {
    State& state = pages_state_[page];
    penalty_time_ += pages_[page].importance * state.penalty * (time - state.penalty_since);
    state.penalty_since = time;
  }

  void Send(const Happening& cause, SlotPolicy& policy) {
    if (!world_.delayed) {
      policy.Signal(cause.page, cause.time);
      return;
    }
    Push(cause.page, Kind::kArrival, cause.time + slot_ * delays_.Poisson(kMeanDelaySlots));
  }

  const SyntheticWorld& world_;
  const std::vector<PaperRates>& pages_;
  double slot_ = 0;
  Random random_;
  Random delays_;  // a separate generator, so that events are the same with and without delays
  std::vector<State> pages_state_;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<Happening>> queue_;
  double fresh_time_ = 0;
  double penalty_time_ = 0;
};

}  // namespace

StatusOr<SyntheticWorld> ParseSyntheticWorld(std::string_view name) {
  const std::array<SyntheticWorld, 4> worlds = {
      {{.name = "ncis-fig2"},
       {.name = "ncis-fig3", .signals = true},
       {.name = "ncis-fig4", .signals = true, .false_signals = true},
       {.name = "ncis-fig8", .signals = true, .false_signals = true, .delayed = true}}};
  std::vector<std::string> names;
  for (const SyntheticWorld& world : worlds) {
    if (world.name == name) return world;
    names.emplace_back(world.name);
  }
  return InvalidArgument("world: {}", WrongName(name, "a world", names));
}

std::vector<PaperRates> DrawPages(const SyntheticWorld& world, int pages, Random random) {
  CHECK(pages >= 1, "{} pages", pages);
  std::vector<PaperRates> drawn(static_cast<size_t>(pages));
  for (PaperRates& page : drawn) {
    page.importance = random.Uniform();
    page.change_rate = random.Uniform();
    const double recall = random.Beta(0.25, 0.25);
    const double false_signal_rate = random.Uniform(0.1, 0.6);
    if (world.signals) page.recall = recall;
    if (world.false_signals) page.false_signal_rate = false_signal_rate;
  }
  return drawn;
}

double Simulate(const SyntheticWorld& world, const std::vector<PaperRates>& pages,
                double crawl_rate, double horizon, Random random, SlotPolicy& policy) {
  const CrawlRateStep always{.from = 0, .crawl_rate = crawl_rate};
  return SimulateOverTime(world, pages, {&always, 1}, horizon, 1, random, policy).front();
}

std::vector<double> SimulateOverTime(const SyntheticWorld& world,
                                     const std::vector<PaperRates>& pages,
                                     std::span<const CrawlRateStep> steps, double horizon,
                                     int parts, Random random, SlotPolicy& policy) {
  CHECK(!steps.empty() && steps.front().from == 0 && horizon > 0 && parts >= 1);
  double importance = 0;
  for (const PaperRates& page : pages) importance += page.importance;
  Truth truth(world, pages, random);
  std::vector<double> accuracy;
  const double length = horizon / parts;
  double fresh_before = 0;
  // Ends all parts of the horizon that end before `time`.
  const auto end_parts = [&](double time) {
    while (accuracy.size() < static_cast<size_t>(parts)) {
      const auto number = static_cast<double>(accuracy.size() + 1);
      const double end = number == parts ? horizon : number * length;
      if (end >= time) return;
      truth.RunTo(end, policy);
      const double fresh = truth.FreshTime(end);
      accuracy.push_back((fresh - fresh_before) / (importance * length));
      fresh_before = fresh;
    }
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto [from, crawl_rate] = steps[i];
    const double until = i + 1 < steps.size() ? steps[i + 1].from : horizon;
    CHECK(crawl_rate > 0 && from < until && until <= horizon);
    truth.SetSlot(1 / crawl_rate);
    const auto slots = static_cast<int64_t>(std::floor((until - from) * crawl_rate * (1 + 1e-12)));
    for (int64_t slot = 1; slot <= slots; ++slot) {
      const double time = from + static_cast<double>(slot) / crawl_rate;
      end_parts(time);
      truth.RunTo(time, policy);
      const std::optional<uint32_t> page = policy.Pick(time);
      if (page.has_value()) policy.Crawled(*page, time, truth.Crawl(*page, time));
    }
  }
  end_parts(std::numeric_limits<double>::infinity());
  return accuracy;
}

SimulatedCosts SimulateCosts(const SyntheticWorld& world, const std::vector<PaperRates>& pages,
                             double crawl_rate, double from, double horizon, Random random,
                             SlotPolicy& policy) {
  CHECK(crawl_rate > 0 && 0 <= from && from < horizon, "{} to {}", from, horizon);
  Truth truth(world, pages, random);
  truth.SetSlot(1 / crawl_rate);
  SimulatedCosts costs{.crawls = std::vector<uint32_t>(pages.size())};
  double fresh_before = 0;
  double penalty_before = 0;
  bool begun = false;
  const auto begin_after = [&](double time) {
    if (begun || time <= from) return;
    begun = true;
    truth.RunTo(from, policy);
    fresh_before = truth.FreshTime(from);
    penalty_before = truth.PenaltyTime(from);
  };
  const auto slots = static_cast<int64_t>(std::floor(horizon * crawl_rate * (1 + 1e-12)));
  for (int64_t slot = 1; slot <= slots; ++slot) {
    const double time = static_cast<double>(slot) / crawl_rate;
    begin_after(time);
    truth.RunTo(time, policy);
    const std::optional<uint32_t> page = policy.Pick(time);
    if (!page.has_value()) continue;
    policy.Crawled(*page, time, truth.Crawl(*page, time));
    ++costs.crawls[*page];
  }
  begin_after(horizon);
  truth.RunTo(horizon, policy);
  double importance = 0;
  for (const PaperRates& page : pages) importance += page.importance;
  const double length = horizon - from;
  const auto n = static_cast<double>(pages.size());
  costs.accuracy = (truth.FreshTime(horizon) - fresh_before) / (importance * length);
  costs.j_b = (1 - costs.accuracy) * importance / n;
  costs.j_h = (truth.PenaltyTime(horizon) - penalty_before) / (length * n);
  return costs;
}

}  // namespace freshet
