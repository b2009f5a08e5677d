#include "lab/sim/worlds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/wrong_value.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "lab/common/history.h"
#include "lab/sim/world_maker.h"

namespace freshet {
namespace {

using Rates = WorldMaker::Rates;

constexpr double kMeanRate = 0.02;   // changes a day of a page, mostly
constexpr double kFewFalse = 0.001;  // false signals a day of a page with few
constexpr double kHonestRecall = 0.95;

double Importance(WorldMaker& maker) { return maker.LogUniform(0.1, 10); }

// Draws a change rate. It is gamma-distributed with shape 1 around the usual mean, but at least one
// change in about 27 years.
double ChangeRate(WorldMaker& maker) { return std::max(1e-4, maker.Gamma(1, kMeanRate)); }

struct SitePlan {
  int site = 0;
  int pages = 0;
  double recall = kHonestRecall;
  double false_rate = kFewFalse;
  double born = 0;
};

void AddSite(WorldMaker& maker, const SitePlan& plan) {
  for (int i = 0; i < plan.pages; ++i) {
    maker.Add({.site = plan.site,
               .importance = Importance(maker),
               .rates = {{.change_rate = ChangeRate(maker),
                          .recall = plan.recall,
                          .false_rate = plan.false_rate}},
               .born = plan.born});
  }
}

// Adds a site that reports all its pages every day, whether they changed or not. Its signals carry
// no information, so the true recall is 0. It reports at night, like a nightly job.
void AddDailyLiar(WorldMaker& maker, int site, int pages, double born = 0) {
  for (int i = 0; i < pages; ++i) {
    const size_t page =
        maker.AddChanging({.site = site,
                           .importance = Importance(maker),
                           .rates = {{.change_rate = ChangeRate(maker), .false_rate = 1}},
                           .born = born});
    for (double day = std::floor(born) + 0.125; day < maker.days(); day += 1) {
      if (day > born) maker.FalseSignal(page, day);
    }
  }
}

void Honest(WorldMaker& maker) {
  for (int site = 0; site < 2; ++site) AddSite(maker, {.site = site, .pages = 350});
}

void Noisy(WorldMaker& maker) {
  for (int i = 0; i < 700; ++i) {
    maker.Add({.site = i / 350,
               .importance = Importance(maker),
               .rates = {{.change_rate = ChangeRate(maker),
                          .recall = 0.6,
                          .false_rate = maker.Gamma(0.5, 0.6 * kMeanRate)}}});
  }
}

void PingsAllDaily(WorldMaker& maker) {
  AddSite(maker, {.site = 0, .pages = 175, .recall = 1});
  AddDailyLiar(maker, 1, 175);
}

void PingsAllSingly(WorldMaker& maker) {
  constexpr int kPings = 3;
  AddSite(maker, {.site = 0, .pages = 175, .recall = 1});
  for (int i = 0; i < 175; ++i) {
    const size_t page =
        maker.AddChanging({.site = 1,
                           .importance = Importance(maker),
                           .rates = {{.change_rate = ChangeRate(maker), .false_rate = kPings}}});
    for (int slot = 0; slot < maker.days() * kPings; ++slot) {
      maker.FalseSignal(page, (slot + maker.random().Uniform()) / kPings);
    }
  }
}

void LiarAlone(WorldMaker& maker) { AddDailyLiar(maker, 0, 60); }

void Perfect(WorldMaker& maker) {
  AddSite(maker, {.site = 0, .pages = 700, .recall = 1, .false_rate = 0});
}

// Adds 800 pages whose rate of false signals changes once, at `day`.
void FalseRateChanges(WorldMaker& maker, double day, double before, double after) {
  for (int i = 0; i < 800; ++i) {
    const double rate = ChangeRate(maker);
    maker.Add({.site = i / 400,
               .importance = Importance(maker),
               .rates = {{0, rate, kHonestRecall, before}, {day, rate, kHonestRecall, after}}});
  }
}
void Collapse(WorldMaker& maker) { FalseRateChanges(maker, 450, kFewFalse, 0.1); }
void Recovery(WorldMaker& maker) { FalseRateChanges(maker, 300, 0.1, kFewFalse); }

void Delayed(WorldMaker& maker) {
  maker.DelaySignals(1.5, 5, WorldMaker::Told::kYes);
  Honest(maker);
}
void DelayedUndated(WorldMaker& maker) {
  maker.DelaySignals(1.5, 5, WorldMaker::Told::kUndated);
  Honest(maker);
}

void Regimes(WorldMaker& maker) {
  for (int i = 0; i < 700; ++i) {
    std::vector<Rates> rates;
    for (double day = 0; day < maker.days(); day += maker.random().Exponential(1 / 200.0)) {
      rates.push_back({day, maker.LogUniform(0.001, 0.3), 0.7, 0.002});
    }
    maker.Add({.site = i / 350, .importance = Importance(maker), .rates = std::move(rates)});
  }
}

void Joining(WorldMaker& maker) {
  int site = 0;
  for (double day = 0; day < maker.days(); day += 60, ++site) {
    if (site % 3 == 2) {
      AddDailyLiar(maker, site, 30, day);
    } else {
      AddSite(maker, {.site = site, .pages = 30, .born = day});
    }
  }
}

void Hosts(WorldMaker& maker, int hosts, int pages) {
  for (int site = 0; site < hosts; ++site) {
    AddSite(maker, {.site = site, .pages = pages, .false_rate = site % 2 == 0 ? kFewFalse : 0.1});
  }
}
void SmallHosts(WorldMaker& maker) { Hosts(maker, 30, 40); }
void LargeHosts(WorldMaker& maker) { Hosts(maker, 4, 250); }

void NoSignals(WorldMaker& maker) {
  for (int i = 0; i < 1000; ++i) {
    maker.Add({.site = i / 500,
               .importance = Importance(maker),
               .rates = {{.change_rate = std::max(1e-5, maker.Gamma(0.5, kMeanRate))}}});
  }
}

void Fast(WorldMaker& maker) {
  for (int i = 0; i < 200; ++i) {
    maker.Add(
        {.site = i / 100,
         .importance = Importance(maker),
         .rates = {{.change_rate = maker.LogUniform(1, 10), .recall = 0.6, .false_rate = 0.5}}});
  }
}

// An attack: the last of four sites earns trust and then abuses it, in phases of 30 days that
// alternate. In the first phase, it signals exactly its changes. In the second, it also names a
// random third of its pages each day, dated ten minutes before the poll, so that no crawl can be
// later. A third of its pages, known to the crawler, are ten times as important as the rest.
void Attracting(WorldMaker& maker) {
  constexpr double kPhase = 30;
  for (int site = 0; site < 3; ++site) AddSite(maker, {.site = site, .pages = 175});
  for (int i = 0; i < 175; ++i) {
    const double rate = ChangeRate(maker);
    std::vector<Rates> rates;
    for (double day = 0; day < maker.days(); day += 2 * kPhase) {
      rates.push_back({day, rate, 1, 0});
      rates.push_back({day + kPhase, rate, 1, 1.0 / 3});
    }
    const double importance = Importance(maker) * (i % 3 == 0 ? 10 : 1);
    const size_t page =
        maker.AddChanging({.site = 3, .importance = importance, .rates = std::move(rates)});
    for (double day = 0; day < maker.days(); day += 1) {
      if (std::fmod(day, 2 * kPhase) < kPhase || maker.random().Below(3) != 0) continue;
      maker.FalseSignal(page, day + 1 - 10.0 / 1440);
    }
  }
}

void Churn(WorldMaker& maker) {
  constexpr double kLife = 200;
  constexpr int kAlive = 400;
  int number = 0;
  const auto add = [&](double born) {
    maker.Add({.site = number++ % 4,
               .importance = Importance(maker),
               .rates = {{.change_rate = ChangeRate(maker),
                          .recall = kHonestRecall,
                          .false_rate = 0.005}},
               .born = born,
               .dies = born + maker.random().Exponential(1 / kLife)});
  };
  for (int i = 0; i < kAlive; ++i) add(0);
  for (double day = maker.random().Exponential(kAlive / kLife); day < maker.days();
       day += maker.random().Exponential(kAlive / kLife)) {
    add(day);
  }
}

void Dying(WorldMaker& maker) {
  for (int i = 0; i < 700; ++i) {
    maker.Add({.site = i / 350,
               .importance = Importance(maker),
               .rates = {{.change_rate = ChangeRate(maker),
                          .recall = kHonestRecall,
                          .false_rate = kFewFalse}},
               .dies = i % 3 == 0 ? maker.random().Uniform(0, maker.days()) : WorldMaker::kNever});
  }
}

void TemplateEdits(WorldMaker& maker) {
  Honest(maker);
  for (int site = 0; site < 2; ++site) {
    for (double day = 7 + site * 10; day < maker.days(); day += 20) {
      maker.Burst(site, day + maker.random().Uniform(), 0);
    }
  }
}

void Releases(WorldMaker& maker) {
  Honest(maker);
  for (int site = 0; site < 2; ++site) {
    for (double day = 10 + site * 7; day < maker.days(); day += 30) {
      maker.Burst(site, day + maker.random().Uniform(0.3, 0.7), 0.5);
      const double edit = day + 15;
      if (edit < maker.days()) maker.Burst(site, edit + maker.random().Uniform(0.3, 0.7), 0);
    }
  }
}

// Nearly all changes of a week happen in 40 working hours. The rest is spread evenly.
void Rhythm(WorldMaker& maker) {
  constexpr double kOpens = 9.0 / 24;
  constexpr double kCloses = 17.0 / 24;
  constexpr double kOpenShare = 40.0 / 168;
  constexpr double kNight = 0.05;  // relative to the mean rate
  constexpr double kDay = (1 - kNight * (1 - kOpenShare)) / kOpenShare;
  for (int i = 0; i < 400; ++i) {
    const double rate = ChangeRate(maker);
    std::vector<Rates> rates = {{0, kNight * rate, 0.6, 0.005}};
    for (int day = 0; day < maker.days(); ++day) {
      if (day % 7 >= 5) continue;
      rates.push_back({day + kOpens, kDay * rate, 0.6, 0.005});
      rates.push_back({day + kCloses, kNight * rate, 0.6, 0.005});
    }
    maker.Add({.site = i / 200, .importance = Importance(maker), .rates = std::move(rates)});
  }
}

// Gaps are hyperexponential: three times out of four, the next edit follows after half a day on
// average; otherwise it follows after a long pause. The mean rate is the usual one.
void Bursty(WorldMaker& maker) {
  constexpr double kShortShare = 0.75;
  constexpr double kShortMean = 0.5;
  constexpr double kRecall = 0.6;
  for (int i = 0; i < 700; ++i) {
    const double rate = std::min(0.5, ChangeRate(maker));
    const double long_mean = (1 / rate - kShortShare * kShortMean) / (1 - kShortShare);
    const size_t page = maker.AddSilent(
        {.site = i / 350, .importance = Importance(maker), .rates = {{0, rate, kRecall, 0.002}}});
    Random& random = maker.random();
    const auto gap = [&] {
      return random.Exponential(1 / (random.Uniform() < kShortShare ? kShortMean : long_mean));
    };
    // The world begins at a random moment of the stationary process, which nearly always lies in a
    // long gap. So the first gap is drawn as a long one.
    for (double day = random.Exponential(1 / long_mean); day < maker.days(); day += gap()) {
      const bool told = random.Uniform() < kRecall;
      maker.Change(page, day, told ? WorldMaker::Told::kYes : WorldMaker::Told::kNo);
    }
    for (double day = random.Exponential(0.002); day < maker.days();
         day += random.Exponential(0.002)) {
      maker.FalseSignal(page, day);
    }
  }
}

constexpr Duration kDaily = Duration::Days(1);
constexpr Duration kSingly;
constexpr Duration kQuarterDay = Duration::Hours(6);

constexpr WorldPlan kPlans[] = {
    {"honest", 12, 1600, kDaily, "two sites that signal nearly every change, and little else",
     Honest},
    {"noisy", 12, 1600, kDaily, "half of the signals are false, and four changes of ten silent",
     Noisy},
    {"pings_all_daily", 6, 1600, kDaily, "one of two sites names all its pages in a poll a day",
     PingsAllDaily},
    {"pings_all_singly", 6, 1500, kSingly,
     "one of two sites pings each page three times a day, by itself", PingsAllSingly},
    {"liar_alone", 3, 900, kDaily, "one small site that names all its pages every day", LiarAlone},
    {"critical", 14, 1500, kDaily, "perfect signals, as many crawls as changes", Perfect},
    {"perfect_scarce", 7, 2600, kDaily, "perfect signals, half as many crawls as changes", Perfect},
    {"perfect_plenty", 42, 800, kDaily, "perfect signals, three times as many crawls as changes",
     Perfect},
    {"collapse", 16, 1600, kDaily, "honest for 450 days, then false signals for ever", Collapse},
    {"recovery", 16, 1600, kDaily, "false signals for 300 days, then honest", Recovery},
    {"delayed", 12, 1600, kDaily, "signals come up to five days late, and say of when they are",
     Delayed},
    {"delayed_undated", 12, 1600, kDaily,
     "signals come up to five days late, and do not say of when they are", DelayedUndated},
    {"regimes", 20, 1100, kDaily, "each page's rate jumps at random times", Regimes},
    {"joining", 16, 1200, kDaily, "a new site every 60 days, every third one a liar", Joining},
    {"small_hosts", 15, 2000, kDaily, "30 hosts of 40 pages, every second with false signals",
     SmallHosts},
    {"large_hosts", 12, 2100, kDaily, "4 hosts of 250 pages, every second with false signals",
     LargeHosts},
    {"no_signals", 15, 2000, kDaily, "nobody signals anything; rates differ widely", NoSignals},
    {"fast", 300, 100, kQuarterDay, "pages that change one to ten times a day", Fast},
    {"attracting", 12, 1600, kDaily, "one of four sites earns trust and spends it on lies",
     Attracting},
    {"churn", 8, 1600, kDaily, "pages are born and die all the time", Churn},
    {"dying", 12, 1600, kDaily, "a third of the pages dies", Dying},
    {"template_edits", 12, 1600, kDaily, "now and then a site names all pages, none has changed",
     TemplateEdits},
    {"releases", 12, 1600, kDaily, "bursts of which half is true, and others that are false",
     Releases},
    {"rhythm", 8, 1500, kQuarterDay, "changes from nine to five on working days", Rhythm},
    {"bursty", 12, 1600, kDaily, "edits come in clusters", Bursty},
};

}  // namespace

std::span<const WorldPlan> WorldPlans() { return kPlans; }

StatusOr<const WorldPlan*> FindWorldPlan(std::string_view name) {
  std::vector<std::string> names;
  for (const WorldPlan& plan : kPlans) {
    names.emplace_back(plan.name);
    if (name == plan.name) return &plan;
  }
  return InvalidArgument("world: {}", WrongName(name, "a world", names));
}

StatusOr<World> MakeWorld(std::string_view name, uint64_t seed) {
  ASSIGN_OR_RETURN(const WorldPlan* const plan, FindWorldPlan(name));
  WorldMaker maker(*plan, seed);
  plan->draw(maker);
  return std::move(maker).Finish();
}

StatusOr<World> WorldOfHistory(const std::string& file) {
  World world;
  world.signal_delay = Duration::Days(1);
  ASSIGN_OR_RETURN(const std::vector<HistoryPage> history, ReadHistory(file));
  ASSIGN_OR_RETURN(world.pages, PrepareReplay(history));
  return world;
}

ReplayOptions OptionsOf(const World& world) {
  return {.crawls_per_day = world.crawls_per_day,
          .signal_delay = world.signal_delay,
          .from = world.begin,
          .to = world.end};
}

double MeanPages(const World& world) {
  double page_seconds = 0;
  for (const ReplayPage& page : world.pages) {
    page_seconds += (std::min(page.gone_at, world.end) - page.first_seen).seconds();
  }
  return page_seconds / (world.end - world.begin).seconds();
}

Instant SettledAfter(const World& world, double crawls_per_page, double crawls_per_day) {
  const double days = crawls_per_page * MeanPages(world) / crawls_per_day;
  return world.begin + Duration::FromSeconds(days * 86400);
}

}  // namespace freshet
