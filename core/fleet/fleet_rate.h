// The messages of nodes and leader about one crawl rate R over many nodes.
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
// of order, and whichever node leads. This rests on three guarantees of the surroundings:
//
//  1. Clocks of any two machines differ by at most FleetRateOptions::clock_bound at any instant.
//  2. Leaders have terms that rise, and once one of a later term was made, none of an earlier term
//     publishes a grant any more; what was published before may arrive at any time. A log with
//     fenced writers does that, such as a Kafka topic written to by one transactional id.
//  3. A node id names one run of a process: a node that starts again has another.
//
// Where nodes have known places, such as the divisions of a fleet (FleetRateOptions::places), and
//
//  4. of the runs of one place the one with the highest id is the only one that picks, and none
//     reports that may have been replaced by then,
//
// the grant of an earlier run is free as soon as the next run reports, and a new leader stops
// waiting once all places have answered it.
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

// The way a fleet shares its rate; equal on all machines. Value type, thread-compatible.
struct FleetRateOptions {
  // How often nodes report and the leader grants.
  Duration round = Duration::Seconds(1);
  // The time a grant lasts: a node that hears nothing stops then. A lower R is in force everywhere
  // at the latest after this time and the clock bound. At least two rounds.
  Duration lifetime = Duration::Seconds(10);
  // The most by which the clocks of two machines differ.
  Duration clock_bound = Duration::Millis(500);
  // A node that is silent for this time gets no more grants: it may be dead.
  Duration silence = Duration::Seconds(5);
  // The strength of the answer to a price other than the common one. A node whose price answers its
  // rate by a power of -1 gets (price/common price)^gain times the rate that keeps its price.
  double gain = 3;
  // The time over which the leader learns how far the rates that nodes ask for are from those that
  // keep their prices: about as long as pages go without a crawl, rather more than less.
  Duration memory = Duration::Hours(6);
  // The least rate of a node with pages and credit, as a share of the mean rate of all nodes. Thus
  // each has a price to show.
  double probing_share = 0.01;
  // Cuts of a rate by less than this share happen in every tenth round only: nobody can use the
  // rate that a node gives up until it has answered.
  double dead_band = 0.01;
  // The places of the fleet (RateReport::place), each with one node at a time; 0 = nodes have no
  // places.
  uint32_t places = 0;
};

// InvalidArgument, naming the option, where one is out of its range.
[[nodiscard]] Status Validate(const FleetRateOptions& options);

// A part of R. Value type, thread-compatible.
struct RateGrant {
  NodeId node;
  uint64_t term = 0;    // the leader's term; 0 = none: the node never had a grant
  uint64_t number = 0;  // rises within the term
  Rate rate;
  Instant until;  // obeyed by the node while its clock is before this
  bool operator==(const RateGrant&) const = default;
};

// The demand of pages that are crawled whenever they are worth the price (DemandAt). Value type,
// thread-compatible.
struct PriceDemand {
  Rate rate;               // the crawl rate at which the price stays the same in the long run; > 0
  double elasticity = -1;  // d ln(price) / d ln(rate) there; < 0
};

// A node's message to the leader. Value type, thread-compatible.
struct RateReport {
  NodeId node;
  uint32_t place = 0;   // below FleetRateOptions::places, if that is not 0
  uint64_t number = 0;  // rises with every report of the node
  Instant sent;         // by the node's clock
  RateGrant held;       // the grant obeyed last; term 0 = none
  // The value of the next crawl, smoothed (PriceMeter); 0 = not known.
  double price = 0;
  std::optional<PriceDemand> demand;  // the demand at `price`; unset = not known
  Rate used;                          // pages sent out since the last report
  uint64_t credit = 0;                // pages that workers would take at once beyond those sent
  uint64_t pages = 0;                 // pages that are not leased, of any value
  bool refuses = false;               // the last grant was outside its time: a clock is wrong
};

// InvalidArgument, naming the field, for reports that no node can mean: values that are not finite,
// rates below 0, prices and demands next to nothing or beyond all bounds, an elasticity that is not
// below
// 0. Nothing else is trusted to be right.
[[nodiscard]] Status Validate(const RateReport& report);
// InvalidArgument, naming the field, for grants that no leader can mean.
[[nodiscard]] Status Validate(const RateGrant& grant);

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_FLEET_RATE_H_
