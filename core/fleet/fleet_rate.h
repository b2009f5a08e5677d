// One crawl rate R over many nodes: what nodes and leader tell each other about it.
//
// Each node picks by its own price, the value of the page that is worth most to it now. The fleet
// does best where all pick at the same price, as one index over all pages would. So once a round
// each node reports its price and the leader grants each a part of R, for a while:
//
//   node                                      leader, one at a time
//   PriceMeter, GrantHolder  -- RateReport -->  RateLeader: PriceSplit says who is to have what,
//   Pacer(holder.rate(now))  <-- RateGrant --     GrantBook what may be granted of it by now
//
// The sum of all grants that are obeyed is never above R, whatever is lost, late, repeated or out
// of order, and whoever is the leader. That rests on three things that the surroundings grant:
//
//  1. Clocks of any two machines differ by at most FleetRateOptions::clock_bound at any instant.
//  2. Leaders have terms that rise, and once one of a later term was made, none of an earlier term
//     publishes a grant any more; what was published before may arrive at any time. A log with
//     fenced writers does that, such as a Kafka topic written to by one transactional id.
//  3. A node id is that of one run of a process: a node that starts again has another.
//
// Where nodes have places that are known, such as the divisions of a fleet (FleetRateOptions::
// places), and
//
//  4. of the runs of one place the one with the highest id is the only one that picks, and none
//     reports that may have been replaced by then,
//
// what a run of before was granted is free as soon as the next one reports, and a new leader need
// not wait once all places have answered it.
//
// Nothing here does I/O, reads a clock or starts a thread; `now` is always the clock of the machine
// on which the object lives.
#ifndef FRESHET_CORE_FLEET_FLEET_RATE_H_
#define FRESHET_CORE_FLEET_FLEET_RATE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/status.h"
#include "core/base/units.h"

namespace freshet {

// One run of one node.
using NodeId = StrongId<struct NodeIdTag, uint64_t>;

// Nodes among which one leader splits the crawl rate.
inline constexpr size_t kMaxFleetNodes = 4096;

// How a fleet shares its rate; the same on all its machines. Value type, thread-compatible.
struct FleetRateOptions {
  // How often nodes report and the leader grants.
  Duration round = Duration::Seconds(1);
  // How long a grant lasts: a node that hears nothing stops then. A lower R is in force everywhere
  // after this and the clock bound, at the latest. At least two rounds.
  Duration lifetime = Duration::Seconds(10);
  // The most by which the clocks of two machines differ.
  Duration clock_bound = Duration::Millis(500);
  // A node that has not reported for so long is granted nothing more: it may be dead.
  Duration silence = Duration::Seconds(5);
  // How strongly the split answers a price that is not that of the others: a node whose price
  // answers its rate by a power of -1 gets (price/common price)^gain times what keeps its price.
  double gain = 3;
  // Over how long it is learned how far the rates that nodes ask for are from those that keep their
  // prices: about as long as their pages go without a crawl, rather more than less.
  Duration memory = Duration::Hours(6);
  // The least that a node with pages and credit gets, of the mean rate of all nodes, so that it has
  // a price to show.
  double probing_share = 0.01;
  // A rate is lowered by less than this, relative to what it is, in every tenth round only: what a
  // node gives up is nobody's until it has answered.
  double dead_band = 0.01;
  // Of the fleet, each with one node at a time, RateReport::place; 0: nodes have none.
  uint32_t places = 0;
};

// InvalidArgument, naming the option, where one is out of its range.
[[nodiscard]] Status Validate(const FleetRateOptions& options);

// A part of R. Value type, thread-compatible.
struct RateGrant {
  NodeId node;
  uint64_t term = 0;    // of the leader; 0: none, as of a node that never had one
  uint64_t number = 0;  // rises within the term
  Rate rate;
  Instant until;  // obeyed by the node while its clock is before this
  bool operator==(const RateGrant&) const = default;
};

// What pages ask for that are crawled whenever they are worth the price (DemandAt). Value type,
// thread-compatible.
struct PriceDemand {
  Rate rate;               // at which the price stays as it is in the long run; > 0
  double elasticity = -1;  // d ln(price) / d ln(rate) there; < 0
};

// What a node tells the leader. Value type, thread-compatible.
struct RateReport {
  NodeId node;
  uint32_t place = 0;   // below FleetRateOptions::places, where there are some
  uint64_t number = 0;  // rises with every report of the node
  Instant sent;         // by the node's clock
  RateGrant held;       // the grant obeyed last; that of term 0: there was none
  // What the next crawl is worth, smoothed (PriceMeter); 0: not known.
  double price = 0;
  std::optional<PriceDemand> demand;  // at that price; unset: not known
  Rate used;                          // pages that left, since the report before
  uint64_t credit = 0;                // pages that workers would take at once, more than there were
  uint64_t pages = 0;                 // that are not out, whatever they are worth
  bool refuses = false;  // what it was granted last was outside its time: a clock is wrong
};

// InvalidArgument, naming the field, for what no node can mean: values that are not finite, rates
// below 0, prices and demands next to nothing or beyond all bounds, an elasticity that is not below
// 0. Nothing else is trusted to be right.
[[nodiscard]] Status Validate(const RateReport& report);
// Likewise for what a node hears.
[[nodiscard]] Status Validate(const RateGrant& grant);

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_FLEET_RATE_H_
