// A fleet of nodes that share one crawl rate (core/fleet), against one index over all its pages.
#ifndef FRESHET_TOOLS_SIM_FLEET_H_
#define FRESHET_TOOLS_SIM_FLEET_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/fleet/fleet_rate.h"
#include "tools/sim/fleet_world.h"

namespace freshet {

// Pages live faster here than real ones, so that weeks of theirs can be played: a round, which is a
// second in a server, is ten minutes. All that the rate's options say in rounds is as in a server.
// Value type, thread-compatible.
struct FleetOptions {
  FleetWorldOptions world;
  size_t nodes = 10;
  size_t partitions = 0;  // 0: two for each node
  std::string policy = "default";
  double crawls_per_page_per_day = 0.5;
  double days = 10;
  bool learn = false;  // change rates have to be learned, instead of being known
  double epoch_days = 2;
  double round_seconds = 600;
  double gain = FleetRateOptions().gain;
  bool by_pages = false;  // nodes tell no price: R is split by the number of pages
  // Of each message between nodes and leader: the probability that it is lost, and that it comes up
  // to a lifetime late.
  double loss = 0.02;
  double late = 0.01;
  size_t deaths = 0;          // nodes that are cut off, at random times
  size_t joins = 0;           // nodes that come, likewise
  size_t leader_changes = 0;  // with the loss of all that the leader knew
  uint64_t seed = 1;
};

// How rates are split under these options: FleetRateOptions as a server has them, in rounds of
// `round_seconds`.
[[nodiscard]] FleetRateOptions RateOptionsOf(const FleetOptions& options);

// What came of it. Value type, thread-compatible.
struct FleetResult {
  size_t pages = 0;
  size_t partitions = 0;
  Rate rate;             // R
  double one_index = 0;  // weighted freshness
  double fleet = 0;      // likewise
  uint64_t one_index_crawls = 0;
  uint64_t fleet_crawls = 0;
  // Of the pages of the largest node at the begin, over the mean.
  double largest_node = 0;
  // How far prices are from the common one, as a share of it, from the second tenth of the time on:
  // by rates, on the mean of all rounds; and of the node and round where it was most.
  double mean_price_gap = 0;
  double largest_price_gap = 0;
  double used_rate = 0;  // mean sum of grants over R, likewise
  // At any instant, over R.
  double largest_sum_of_grants = 0;
  // Crawls beyond R x length, of any window.
  double largest_excess = 0;
  size_t most_nodes = 0;  // that were there at a time
  size_t least_nodes = 0;

  // How much less fresh the fleet is, as a share.
  [[nodiscard]] double loss() const { return 1 - fleet / one_index; }
};

// Plays both. InvalidArgument for options out of range. `progress` is told of the share that is
// done.
[[nodiscard]] StatusOr<FleetResult> PlayFleet(const FleetOptions& options,
                                              const std::function<void(double share)>& progress);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_FLEET_H_
