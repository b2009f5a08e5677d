// Messages between nodes and their leader, by which many nodes share one crawl rate R.
//
// Each node picks pages by its own price: the value of the most valuable page that it could crawl
// now. The fleet crawls best if all nodes pick at the same price, as a single index over all pages
// would. So once per round, each node reports its price, and the leader grants each node a part of
// R for a limited time:
//
//   node                                      leader, one at a time
//   PriceMeter, GrantHolder  -- RateReport -->  RateLeader: PriceSplit computes the target rates,
//   Pacer(holder.rate(now))  <-- RateGrant --     GrantBook limits what can be granted now
//
// The sum of all grants that nodes obey never exceeds R, even if messages are lost, late, repeated
// or out of order. It does not matter which node leads. This bound relies on three guarantees of
// the environment:
//
// 1. At any instant, the clocks of any two machines differ by at most
//    FleetRateOptions::clock_bound.
// 2. Leaders have rising terms. Once a leader of a later term exists, leaders of earlier terms
//    publish no more grants. Grants that were published before can still arrive at any time. A log
//    with fenced writers gives this guarantee, such as a Kafka topic that one transactional id
//    writes to.
// 3. A node id stands for one run of a process. A node that restarts gets a new id.
//
// Nodes can have fixed places, such as the divisions of a fleet (FleetRateOptions::places). Then
// there is a fourth guarantee:
//
// 4. Among the runs of one place, only the one with the highest id picks pages. A run stops sending
//    reports as soon as another run might have replaced it.
//
// In this case the leader can grant the rate of an earlier run to others as soon as the next run of
// the place reports, and a new leader stops waiting once all places have answered it.
//
// The code in core/fleet does no I/O, reads no clock and starts no thread. `now` is always the
// clock of the machine on which the object lives.
#ifndef FRESHET_CORE_FLEET_FLEET_RATE_H_
#define FRESHET_CORE_FLEET_FLEET_RATE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/status.h"
#include "core/base/units.h"

namespace freshet {

// Identifies one run of one node.
using NodeId = StrongId<struct NodeIdTag, uint64_t>;

// The maximum number of nodes among which one leader splits the crawl rate.
inline constexpr size_t kMaxFleetNodes = 4096;

// How a fleet shares its crawl rate. Must be equal on all machines. Value type, thread-compatible.
struct FleetRateOptions {
  // The interval between a node's reports, and between the leader's grants.
  Duration round = Duration::Seconds(1);
  // How long a grant is valid. A node that receives no other grant in this time stops. A lower R
  // takes effect everywhere after this time plus the clock bound at the latest. At least two
  // rounds.
  Duration lifetime = Duration::Seconds(10);
  // The largest difference between the clocks of two machines.
  Duration clock_bound = Duration::Millis(500);
  // A node that sends no report for this time gets no more grants, because it might be dead.
  Duration silence = Duration::Seconds(5);
  // How strongly a node's rate reacts when its price differs from the common price. A node with
  // elasticity -1 gets (price/common price)^gain times the rate that keeps its price.
  double gain = 3;
  // The leader learns for each node a correction factor: the rate that keeps the node's price
  // constant, divided by the demand that the node reports. `memory` is the time over which this
  // factor is averaged. Set it to about the typical time between crawls of a page; too long is
  // better than too short.
  Duration memory = Duration::Hours(6);
  // The minimum rate of a node with pages and credit, as a share of the mean rate of all nodes.
  // With it, every node has a price to report.
  double probing_share = 0.01;
  // The leader cuts a rate by less than this share only in every tenth round, because no other node
  // can use the freed rate until the node has answered.
  double dead_band = 0.01;
  // The number of places in the fleet (RateReport::place), each with one node at a time; 0 = nodes
  // have no places.
  uint32_t places = 0;
};

// Not OK: InvalidArgument, with the option's name, if an option is out of range.
[[nodiscard]] Status Validate(const FleetRateOptions& options);

// A part of R. Value type, thread-compatible.
struct RateGrant {
  NodeId node;
  uint64_t term = 0;    // the leader's term; 0 = none: the node never had a grant
  uint64_t number = 0;  // rises within the term
  Rate rate;
  Instant until;  // the node obeys the grant while its clock is before this
  bool operator==(const RateGrant&) const = default;
};

// The crawl rate that pages need if each page is crawled whenever its value reaches the price
// (DemandAt). Value type, thread-compatible.
struct PriceDemand {
  Rate rate;               // the crawl rate that keeps the price constant in the long run; > 0
  double elasticity = -1;  // d ln(price) / d ln(rate) at that rate; < 0
};

// A node's message to the leader. Value type, thread-compatible.
struct RateReport {
  NodeId node;
  uint32_t place = 0;   // below FleetRateOptions::places, if that is not 0
  uint64_t number = 0;  // rises with every report of the node
  Instant sent;         // by the node's clock
  RateGrant held;       // the latest grant that the node obeyed; term 0 = none
  // The value of the next crawl, smoothed (PriceMeter); 0 = not known.
  double price = 0;
  std::optional<PriceDemand> demand;  // the demand at `price`; unset = not known
  Rate used;                          // the rate of pages handed out since the last report
  uint64_t credit = 0;   // pages that workers would take at once, in addition to those handed out
  uint64_t pages = 0;    // pages that are not leased, of any value
  bool refuses = false;  // the last grant had expired or lasts too long: a clock is wrong
};

// Not OK: InvalidArgument, with the field's name, for a report that no correct node sends: values
// that are not finite, negative rates, prices and demands outside any real range, or an elasticity
// that is not below 0. The leader does not rely on any other property of a report.
[[nodiscard]] Status Validate(const RateReport& report);
// Not OK: InvalidArgument, with the field's name, for a grant that no correct leader makes.
[[nodiscard]] Status Validate(const RateGrant& grant);

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_FLEET_RATE_H_
