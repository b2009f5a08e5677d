// The leader's side of the fleet's rate: takes the reports of nodes, and once a round grants each
// its part.
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

// The leader's figures, for metrics and people. Value type, thread-compatible.
struct FleetRateFigures {
  size_t nodes = 0;     // that reported of late
  size_t refusing = 0;  // nodes among them that cannot obey their grants
  double price = 0;     // the common price of the last round; 0 = not known
  // The largest difference of a node's price from the common one, as a share of the common one,
  // among nodes that could have more and less.
  double price_gap = 0;
  Rate claimed;          // the sum of rates that nodes may be obeying
  Rate rate;             // R
  bool quiet = false;    // after a change of leader: no node gets more than before
  bool deposed = false;  // a node has heard of a later leader: this one grants nothing any more
};

// Splits R for one term of leadership, without any memory of the term before; GrantBook states what
// it guarantees. Owner thread only; instants never step back.
//
// How it splits R. In a round a node is to get
//
//   keeping rate x (price/lambda)^(gain/|elasticity|),    lambda such that all together get R.
//
// The keeping rate is the rate at which the node's price stays in the long run: the demand that the
// node reports at that price, or its part of R by pages, times a learned correction
// (FleetRateOptions::memory). Prices answer rates late: a page that is crawled less often has to
// grow old first, while rounds are seconds. To raise a rate as long as its price is too high would
// overshoot for hours. Here a price goes to lambda by itself and slows down on the way, the sooner
// the higher the gain. A rate goes a part of its way in each round, and at most to its double or
// half, so that delay and chance do no harm.
//
// Rate that a node cannot use goes to others. A node gets at most its recent use plus the credit of
// its workers, and nothing without pages. With pages and credit, it gets at least probing_share of
// the mean rate.
class RateLeader {
 public:
  // Precondition: the options are valid, term > 0.
  RateLeader(const FleetRateOptions& options, uint64_t term, Rate rate, Instant now);

  // Sets R from now on: a higher R at once, a lower one as GrantBook says. Here and in the
  // constructor, less than one crawl in thirty years is 0.
  void SetRate(Rate rate);

  // Takes a report. InvalidArgument for a malformed one. FailedPrecondition for one older than the
  // node's last report or than `silence`, or from the future by more than the clock bound; also if
  // another node has taken the place. ResourceExhausted beyond kMaxFleetNodes. A refused report
  // changes nothing.
  [[nodiscard]] Status Hear(const RateReport& report, Instant now);

  // The grants of this round, to be published: at most one for each node that reported within
  // `silence`. Linear in the nodes, fifty exponentials each.
  [[nodiscard]] std::vector<RateGrant> Round(Instant now);

  [[nodiscard]] const FleetRateFigures& figures() const { return figures_; }

 private:
  // The rate that a node used, and the rate that it had.
  struct Use {
    double used = 0;
    double had = 0;

    // Moves both by `share` of the way to `seen`.
    void Learn(const Use& seen, double share) {
      used += share * (seen.used - used);
      had += share * (seen.had - had);
    }
  };
  struct Node {
    RateReport report;
    Instant heard;
    double expected = 0;  // the keeping rate by the node's report; per second, like all rates here
    double factor = 1;    // learned correction of `expected`
    double granted = 0;   // rate at the last grant
    double obeyed = 0;    // rate at the last report
    Use use;              // smoothed
    Use recent;           // smoothed over fewer rounds
    double reports = 0;   // reports in both means, at most kUseRounds
    bool fitted = false;  // `factor` is learned
    bool by_demand = false;
  };
  // A node that takes part in a round.
  struct Part {
    NodeId id;
    Node* node = nullptr;
    double wanted = 0;
  };

  [[nodiscard]] Status Refuse(const RateReport& report, Instant now) const;
  void Acknowledge(const RateReport& report, Instant now);
  // Removes the earlier node of the place; the new node inherits what was learned about its pages.
  void TakePlace(const RateReport& report);
  // Ends the quiet time once the present nodes of all places obey grants of this term.
  void CountPlaces(const RateReport& report);
  void ExpectRates(const std::vector<Part>& parts) const;
  [[nodiscard]] PriceShare ShareOf(const Node& node, double mean) const;
  [[nodiscard]] double MostOf(const Node& node, double mean) const;
  // Sets `wanted`: the rate of each node, were there no claims.
  void Split(std::vector<Part>& parts);
  // The grants that claims allow, nodes that get less first.
  [[nodiscard]] std::vector<RateGrant> GrantAll(std::vector<Part>& parts, Instant now);
  void GrantOne(const Part& part, double rate, Instant now, std::vector<RateGrant>* grants);
  void TakeFigures(const std::vector<Part>& parts, const std::vector<PriceShare>& shares,
                   const PriceSplit& split);

  FleetRateOptions options_;
  uint64_t term_;
  GrantBook book_;
  std::map<NodeId, Node> nodes_;  // in order, so that a round does not depend on hashes
  struct Place {
    NodeId node;            // the latest that reported
    bool answered = false;  // the node obeys a grant of this term
  };
  std::map<uint32_t, Place> places_;
  uint64_t rounds_ = 0;
  FleetRateFigures figures_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_RATE_LEADER_H_
