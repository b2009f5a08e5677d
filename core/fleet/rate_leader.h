// The leader's side of the fleet rate (core/fleet/fleet_rate.h): it takes the reports of nodes, and
// grants each node its part of the rate once per round.
#ifndef FRESHET_CORE_FLEET_RATE_LEADER_H_
#define FRESHET_CORE_FLEET_RATE_LEADER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/fleet/fleet_rate.h"
#include "core/fleet/grant_book.h"
#include "core/fleet/price_split.h"

namespace freshet {

// Figures of the leader, for metrics and for people. Value type, thread-compatible.
struct FleetRateFigures {
  size_t nodes = 0;     // nodes that reported recently
  size_t refusing = 0;  // those of them that cannot obey their grants
  double price = 0;     // the common price of the last round; 0 = not known
  // The largest relative difference between a node's price and the common price. Only nodes whose
  // rate could both rise and fall are counted.
  double price_gap = 0;
  Rate claimed;          // the sum of the rates that nodes might obey now
  Rate rate;             // R
  bool quiet = false;    // after a change of leader: no node gets more than it had
  bool deposed = false;  // a node has heard of a later leader, so this one makes no more grants
};

// Splits R among nodes during one term of leadership, without memory of earlier terms. GrantBook
// states the guarantees. Owner thread only. Instants never go backwards.
//
// In each round, the target rate of a node is
//
//   keeping rate x (price/lambda)^(gain/|elasticity|),    lambda such that all together get R.
//
// The keeping rate is the rate at which the node's price stays constant in the long run. It is the
// demand that the node reports at that price, or the node's part of R by pages if it reports none,
// times a learned correction (FleetRateOptions::memory).
//
// Prices react late to rates: a page that is crawled less often must first grow old, which takes
// far longer than a round. A rule that raised a rate for as long as the price is too high would
// overshoot for hours. With the formula above, a price approaches lambda and slows down on the way.
// A higher gain makes this faster. In each round, a rate moves only a part of the way to its
// target, and at most doubles or halves, so that delays and random errors do no harm.
//
// Rate that a node cannot use goes to other nodes. A node gets at most its recent use plus the
// credit of its workers, and nothing if it has no pages. With pages and credit, it gets at least
// probing_share of the mean rate.
class RateLeader {
 public:
  // Precondition: the options are valid, term > 0.
  RateLeader(const FleetRateOptions& options, uint64_t term, Rate rate, Instant now);

  // Sets R. A higher R takes effect at once, a lower one as GrantBook describes. Here and in the
  // constructor, a rate of less than one crawl in thirty years counts as 0.
  void SetRate(Rate rate);

  // Takes a report. Not OK: InvalidArgument if it is malformed. FailedPrecondition if it is older
  // than the node's last report or than `silence`, if it is from the future by more than the clock
  // bound, or if another node has taken the place. ResourceExhausted beyond kMaxFleetNodes. A
  // refused report changes nothing.
  [[nodiscard]] Status Hear(const RateReport& report, Instant now);

  // Makes the grants of this round, which the caller publishes: at most one for each node that
  // reported within `silence`. Linear in the nodes, with about fifty exponentials per node.
  [[nodiscard]] std::vector<RateGrant> Round(Instant now);

  [[nodiscard]] const FleetRateFigures& figures() const { return figures_; }

 private:
  // The rate that a node used, and the rate that it was granted.
  struct Use {
    double used = 0;
    double had = 0;

    // Moves both rates by `share` of the way to `seen`.
    void Learn(const Use& seen, double share) {
      used += share * (seen.used - used);
      had += share * (seen.had - had);
    }
  };
  struct Node {
    RateReport report;
    Instant heard;
    double expected = 0;  // the keeping rate by the node's report; per second, like all rates here
    double factor = 1;    // learned correction factor of `expected`
    double granted = 0;   // rate of the last grant
    double obeyed = 0;    // rate that the last report said the node obeys
    Use use;              // smoothed
    Use recent;           // smoothed over fewer rounds
    double reports = 0;   // number of reports in both means, at most kUseRounds
    bool fitted = false;  // `factor` has been learned from a grant
    bool by_demand = false;
  };
  // A node that takes part in the round.
  struct Part {
    NodeId id;
    Node* node = nullptr;
    double wanted = 0;
  };

  [[nodiscard]] Status Refuse(const RateReport& report, Instant now) const;
  void Acknowledge(const RateReport& report, Instant now);
  // If another node had the place, removes it. The new node inherits what was learned about the
  // pages.
  void TakePlace(const RateReport& report);
  // Ends the quiet time once the present nodes of all places obey grants of this term.
  void CountPlaces(const RateReport& report);
  void ExpectRates(const std::vector<Part>& parts) const;
  [[nodiscard]] PriceShare ShareOf(const Node& node, double mean) const;
  [[nodiscard]] double MostOf(const Node& node, double mean) const;
  // Sets `wanted`: the rate that each node would get if there were no claims.
  void Split(std::vector<Part>& parts);
  // Makes the grants that claims permit. Nodes whose rates do not rise above their claims come
  // first.
  [[nodiscard]] std::vector<RateGrant> GrantAll(std::vector<Part>& parts, Instant now);
  void GrantOne(const Part& part, double rate, Instant now, std::vector<RateGrant>* grants);
  void TakeFigures(const std::vector<Part>& parts, const std::vector<PriceShare>& shares,
                   const PriceSplit& split);

  FleetRateOptions options_;
  uint64_t term_;
  GrantBook book_;
  std::map<NodeId, Node> nodes_;  // ordered, so that a round does not depend on hashes
  struct Place {
    NodeId node;            // the latest node that reported for the place
    bool answered = false;  // the node obeys a grant of this term
  };
  std::map<uint32_t, Place> places_;
  uint64_t rounds_ = 0;
  FleetRateFigures figures_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_RATE_LEADER_H_
