// The leader's side of the fleet's rate: hears what nodes report, and once a round grants each its
// part.
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

// What the leader sees, for metrics and people. Value type, thread-compatible.
struct FleetRateFigures {
  size_t nodes = 0;     // heard of lately
  size_t refusing = 0;  // of these, those that cannot obey what they are granted
  double price = 0;     // the common one of the last round; 0: not known
  // Of the nodes that could have more and less: how far the price of the one furthest off is from
  // the common one, as a share of it.
  double price_gap = 0;
  Rate claimed;          // that nodes may be obeying
  Rate rate;             // R
  bool quiet = false;    // after a change of leader: nobody gets more than before
  bool deposed = false;  // a node has heard of a later leader: nothing is granted any more
};

// Owner thread only; instants never step back. One is made for each term of leadership, without
// any memory of the one before; what it promises is GrantBook's.
//
// How it splits R. In a round a node is to get
//
//   keeping rate x (price/lambda)^(gain/|elasticity|),    lambda such that all together get R.
//
// The keeping rate is what the node's price stays at in the long run: what the node says that its
// pages ask for at that price, or its part of R by pages, times what that has proved to be off by
// (FleetRateOptions::memory). Prices answer rates late: a page that is crawled less often has to
// grow old first, while rounds are seconds. To raise a rate as long as its price is too high would
// thus overshoot for hours; here a price goes to lambda by itself and slows down on the way, the
// sooner the higher the gain. A rate goes a part of its way in each round, and at most to its
// double or half, so that what was seen late and measured by chance does no harm.
//
// What a node cannot use goes to others. It gets at most what it used of late and what its workers
// would take on top (credit), nothing without pages, and at least probing_share of the mean rate
// where it has both.
class RateLeader {
 public:
  // Precondition: the options are valid, term > 0.
  RateLeader(const FleetRateOptions& options, uint64_t term, Rate rate, Instant now);

  // R from now on: higher ones at once, lower ones as GrantBook says. Here and at first, less than
  // one crawl in thirty years is none.
  void SetRate(Rate rate);

  // Takes a report. InvalidArgument for a malformed one; FailedPrecondition for one that is older
  // than what was heard of the node, or than `silence`, from the future by more than the clock
  // bound, or of a node in whose place another has been heard of; ResourceExhausted beyond
  // kMaxFleetNodes. What was refused has changed nothing.
  [[nodiscard]] Status Hear(const RateReport& report, Instant now);

  // The grants of this round, at most one for each node that was heard of within `silence`, to be
  // published. Linear in the nodes, fifty exponentials each.
  [[nodiscard]] std::vector<RateGrant> Round(Instant now);

  [[nodiscard]] const FleetRateFigures& figures() const { return figures_; }

 private:
  // What a node took of what it could have taken.
  struct Use {
    double used = 0;
    double had = 0;

    // Goes so much of the way from what it is to what is `seen`.
    void Learn(const Use& seen, double share) {
      used += share * (seen.used - used);
      had += share * (seen.had - had);
    }
  };
  struct Node {
    RateReport report;
    Instant heard;
    double expected = 0;  // the keeping rate by what it says, per second, as are all of these;
    double factor = 1;    // times this
    double granted = 0;   // last
    double obeyed = 0;    // when it reported last
    Use use;              // smoothed
    Use recent;           // likewise, over fewer rounds
    double reports = 0;   // that both are of, as far as they are remembered
    bool fitted = false;  // the factor is one
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
  // Who had the node's place before it is gone; what was learned of its pages is the node's.
  void TakePlace(const RateReport& report);
  // Ends the quiet time once the present nodes of all places obey grants of this term.
  void CountPlaces(const RateReport& report);
  void ExpectRates(const std::vector<Part>& parts) const;
  [[nodiscard]] PriceShare ShareOf(const Node& node, double mean) const;
  [[nodiscard]] double MostOf(const Node& node, double mean) const;
  // What each is to have, were there no claims.
  void Split(std::vector<Part>& parts);
  // What of it can be granted, those that get less first.
  [[nodiscard]] std::vector<RateGrant> GrantAll(std::vector<Part>& parts, Instant now);
  void GrantOne(const Part& part, double rate, Instant now, std::vector<RateGrant>* grants);
  void TakeFigures(const std::vector<Part>& parts, const std::vector<PriceShare>& shares,
                   const PriceSplit& split);

  FleetRateOptions options_;
  uint64_t term_;
  GrantBook book_;
  std::map<NodeId, Node> nodes_;  // in order, so that a round does not depend on hashes
  struct Place {
    NodeId node;            // the latest that was heard of
    bool answered = false;  // it obeys a grant of this term
  };
  std::map<uint32_t, Place> places_;
  uint64_t rounds_ = 0;
  FleetRateFigures figures_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_RATE_LEADER_H_
