// A gallery of generated worlds for `freshet-sim replay` and `compare`: pages with known true
// rates. Each world tests one situation that crawlers meet. docs/worlds.md describes the worlds.
// (The worlds of the noisy-signals paper are in lab/sim/synthetic_worlds.h.)
#ifndef FRESHET_LAB_SIM_WORLDS_H_
#define FRESHET_LAB_SIM_WORLDS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "lab/sim/replay.h"

namespace freshet {

class WorldMaker;

// The rates of one page. They apply from an instant until the next rates do. Changes are signalled
// with probability `recall`. Value type, thread-compatible.
struct TrueRates {
  Instant from;
  double change_rate = 0;  // a day
  double recall = 0;
  double false_rate = 0;  // false signals a day
};

// A poll that names every page of a host, after an event that affects all of them. Value type,
// thread-compatible.
struct TrueBurst {
  Instant arrives;
  std::string host;
  double changed_share = 0;  // share of the pages that have changed
};

// A world. Invariants: `truth` has one entry for each page, or is empty if it is not known. Each
// entry is in order of time, and begins when its page does. Pages are in order of first_seen, and
// bursts in order of arrival. Value type, thread-compatible.
struct World {
  std::string name;
  std::string description;
  double crawls_per_day = 0;  // the default crawl rate
  Duration signal_delay;      // see ReplayOptions::signal_delay
  Instant begin;
  Instant end;
  std::vector<ReplayPage> pages;
  std::vector<std::vector<TrueRates>> truth;
  std::vector<TrueBurst> bursts;
};

// A world of the gallery that can be made.
struct WorldPlan {
  const char* name;
  double crawls_per_day;
  int days;
  Duration signal_delay;
  const char* description;
  void (*draw)(WorldMaker& maker);
};
[[nodiscard]] std::span<const WorldPlan> WorldPlans();
// Finds the plan with this name. InvalidArgument: there is none; the message lists all names.
[[nodiscard]] StatusOr<const WorldPlan*> FindWorldPlan(std::string_view name);

// Makes the world with this name. The same seed gives the same world on every machine. Errors: see
// FindWorldPlan.
[[nodiscard]] StatusOr<World> MakeWorld(std::string_view name, uint64_t seed);
// Returns the pages of a history file as a world without rates, span or truth, whose sources are
// polled daily. Errors: from ReadHistory and PrepareReplay.
[[nodiscard]] StatusOr<World> WorldOfHistory(const std::string& file);

// Returns the options with which the world is played at its own rate.
[[nodiscard]] ReplayOptions OptionsOf(const World& world);

// Returns the mean number of pages over the world's span.
[[nodiscard]] double MeanPages(const World& world);

// Returns the instant after `crawls_per_page` crawls for each of MeanPages pages at that rate. By
// then a policy has had time to learn. The instant can lie after the end.
[[nodiscard]] Instant SettledAfter(const World& world, double crawls_per_page,
                                   double crawls_per_day);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_WORLDS_H_
