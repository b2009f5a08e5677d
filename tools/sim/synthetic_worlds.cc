#include "tools/sim/synthetic_worlds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>

#include "core/base/check.h"

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

// The truth: when each page changes, and what of it is signalled.
class Truth {
 public:
  Truth(const SyntheticWorld& world, const std::vector<PaperRates>& pages, double slot,
        Random random)
      : world_(world), pages_(pages), slot_(slot), random_(random), pages_state_(pages.size()) {
    for (uint32_t i = 0; i < pages.size(); ++i) {
      Push(i, Kind::kChange, random_.Exponential(pages[i].change_rate));
      Push(i, Kind::kFalseSignal, random_.Exponential(pages[i].false_signal_rate));
    }
  }

  // Everything that happens up to and including `time`; signals go to `policy` as they arrive.
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

  void Crawl(uint32_t page, double time) {
    State& state = pages_state_[page];
    if (state.fresh) return;
    state.fresh = true;
    state.fresh_since = time;
  }

  // Fresh time up to `end`, weighted by importance.
  [[nodiscard]] double FreshTime(double end) const {
    double sum = fresh_time_;
    for (size_t i = 0; i < pages_.size(); ++i) {
      const State& state = pages_state_[i];
      if (state.fresh) sum += pages_[i].importance * (end - state.fresh_since);
    }
    return sum;
  }

 private:
  struct State {
    bool fresh = true;
    double fresh_since = 0;
  };

  void Push(uint32_t page, Kind kind, double time) {
    if (!std::isinf(time)) queue_.push({time, page, kind});
  }

  void Change(uint32_t page, double time) {
    State& state = pages_state_[page];
    if (!state.fresh) return;
    state.fresh = false;
    fresh_time_ += pages_[page].importance * (time - state.fresh_since);
  }

  void Send(const Happening& cause, SlotPolicy& policy) {
    if (!world_.delayed) {
      policy.Signal(cause.page, cause.time);
      return;
    }
    Push(cause.page, Kind::kArrival, cause.time + slot_ * random_.Poisson(kMeanDelaySlots));
  }

  const SyntheticWorld& world_;
  const std::vector<PaperRates>& pages_;
  double slot_;
  Random random_;
  std::vector<State> pages_state_;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<Happening>> queue_;
  double fresh_time_ = 0;
};

}  // namespace

StatusOr<SyntheticWorld> ParseSyntheticWorld(std::string_view name) {
  const std::array<SyntheticWorld, 4> worlds = {
      {{.name = "ncis-fig2"},
       {.name = "ncis-fig3", .signals = true},
       {.name = "ncis-fig4", .signals = true, .false_signals = true},
       {.name = "ncis-fig8", .signals = true, .false_signals = true, .delayed = true}}};
  for (const SyntheticWorld& world : worlds) {
    if (world.name == name) return world;
  }
  return InvalidArgument("world: '{}' is none of ncis-fig2, ncis-fig3, ncis-fig4, ncis-fig8", name);
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
  CHECK(crawl_rate > 0 && horizon > 0);
  Truth truth(world, pages, 1 / crawl_rate, random);
  const auto slots = static_cast<int64_t>(std::floor(horizon * crawl_rate * (1 + 1e-12)));
  for (int64_t slot = 1; slot <= slots; ++slot) {
    const double time = static_cast<double>(slot) / crawl_rate;
    truth.RunTo(time, policy);
    truth.Crawl(policy.Pick(time), time);
  }
  truth.RunTo(horizon, policy);
  double importance = 0;
  for (const PaperRates& page : pages) importance += page.importance;
  return truth.FreshTime(horizon) / (importance * horizon);
}

}  // namespace freshet
