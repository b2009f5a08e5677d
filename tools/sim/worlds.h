// A gallery of generated worlds for `freshet-sim replay` and `compare`: pages whose true rates are
// known, each world made for one thing that happens to crawlers. docs/worlds.md says what each
// stands for. (The worlds of the noisy-signals paper are in tools/sim/synthetic_worlds.h.)
#ifndef FRESHET_TOOLS_SIM_WORLDS_H_
#define FRESHET_TOOLS_SIM_WORLDS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "tools/sim/replay.h"

namespace freshet {

class WorldMaker;

// The rates of one page, in force from an instant on until the next ones are. Changes are signalled
// with probability `recall`. Value type, thread-compatible.
struct TrueRates {
  Instant from;
  double change_rate = 0;  // a day
  double recall = 0;
  double false_rate = 0;  // false signals a day
};

// A poll in which every page of a host is named, because something happened to all at once. Value
// type, thread-compatible.
struct TrueBurst {
  Instant arrives;
  std::string host;
  double changed_share = 0;  // of the pages have changed
};

// Value type, thread-compatible. Invariants: as many truths as pages, each in order of time and
// beginning when its page does; pages in order of first_seen, bursts of arrival.
struct World {
  std::string name;
  std::string description;
  double crawls_per_day = 0;  // what it is played at unless told otherwise
  Duration signal_delay;      // as ReplayOptions::signal_delay
  Instant begin;
  Instant end;
  std::vector<ReplayPage> pages;
  std::vector<std::vector<TrueRates>> truth;
  std::vector<TrueBurst> bursts;
};

// What there is to choose from.
struct WorldPlan {
  const char* name;
  double crawls_per_day;
  int days;
  Duration signal_delay;
  const char* description;
  void (*draw)(WorldMaker& maker);
};
[[nodiscard]] std::span<const WorldPlan> WorldPlans();
// The one of that name. InvalidArgument, with all names, for any other name.
[[nodiscard]] StatusOr<const WorldPlan*> FindWorldPlan(std::string_view name);

// The world of that name, the same for the same seed on every machine. InvalidArgument as above.
[[nodiscard]] StatusOr<World> MakeWorld(std::string_view name, uint64_t seed);
// The pages of a history file as a world without rates, span or truth of its own, polled daily.
// Errors as of ReadHistory and PrepareReplay.
[[nodiscard]] StatusOr<World> WorldOfHistory(const std::string& file);

// How the world is played at its own rates.
[[nodiscard]] ReplayOptions OptionsOf(const World& world);

// How many pages exist, on average over the world's span.
[[nodiscard]] double MeanPages(const World& world);

// When so many crawls for each of MeanPages have been made at that rate: by then a policy could
// have learned what there is to learn. It may lie after the end.
[[nodiscard]] Instant SettledAfter(const World& world, double crawls_per_page,
                                   double crawls_per_day);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_WORLDS_H_
