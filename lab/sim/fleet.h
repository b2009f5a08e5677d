// Simulates a fleet of nodes that share one crawl rate (core/fleet), and compares it with one index
// over all its pages.
#ifndef FRESHET_LAB_SIM_FLEET_H_
#define FRESHET_LAB_SIM_FLEET_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/fleet/fleet_rate.h"
#include "lab/sim/fleet_world.h"

namespace freshet {

// The options of a simulation. A round lasts a second in a server, but ten minutes here, so that
// weeks can be played. Options that are counted in rounds have the same values as in a server.
// Value type, thread-compatible.
struct FleetOptions {
  FleetWorldOptions world;
  size_t nodes = 10;
  size_t partitions = 0;  // 0 = two for each node
  std::string policy = "default";
  double crawls_per_page_per_day = 0.5;
  double days = 10;
  bool learn = false;  // change rates must be learned; false = they are known
  double epoch_days = 2;
  double round_seconds = 600;
  double gain = FleetRateOptions().gain;
  bool by_pages = false;  // nodes report no price, and R is split by the number of pages
  // The probabilities that a message between a node and the leader is lost (`loss`), or late by at
  // most its lifetime (`late`).
  double loss = 0.02;
  double late = 0.01;
  size_t deaths = 0;          // nodes that are cut off, at random times
  size_t joins = 0;           // nodes that join, at random times
  size_t leader_changes = 0;  // each loses what the old leader knew
  uint64_t seed = 1;
};

// Returns FleetRateOptions as in a server, for rounds of `round_seconds`.
[[nodiscard]] FleetRateOptions RateOptionsOf(const FleetOptions& options);

// The result of a simulation. R is the crawl rate of the fleet, and a grant is the part of R that
// the leader allows a node (core/fleet/fleet_rate.h). Value type, thread-compatible.
struct FleetResult {
  size_t pages = 0;
  size_t partitions = 0;
  Rate rate;             // R
  double one_index = 0;  // weighted freshness
  double fleet = 0;      // weighted freshness
  uint64_t one_index_crawls = 0;
  uint64_t fleet_crawls = 0;
  // The number of pages of the largest node at the beginning, relative to the mean.
  double largest_node = 0;
  // The relative differences between the nodes' prices and the common price, after the first tenth
  // of the time. The mean is over all rounds, weighted by rates; the maximum is over all nodes and
  // rounds.
  double mean_price_gap = 0;
  double largest_price_gap = 0;
  double used_rate = 0;  // mean sum of grants divided by R, after the first tenth
  // The largest sum of grants at any instant, relative to R.
  double largest_sum_of_grants = 0;
  // The largest excess of crawls in any window over R times the length of the window.
  double largest_excess = 0;
  size_t most_nodes = 0;  // maximum number of nodes at a time
  size_t least_nodes = 0;

  // The fleet's relative loss of freshness.
  [[nodiscard]] double loss() const { return 1 - fleet / one_index; }
};

// Simulates the fleet and the single index. InvalidArgument: options are out of range. Calls
// `progress` with the finished share.
[[nodiscard]] StatusOr<FleetResult> PlayFleet(const FleetOptions& options,
                                              const std::function<void(double share)>& progress);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_FLEET_H_
