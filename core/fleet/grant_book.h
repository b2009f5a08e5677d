// The leader's record of its grants (RateGrant in core/fleet/fleet_rate.h), and of grants by
// earlier leaders that nodes might still obey. This class alone decides how much can be granted, so
// that the sum of the obeyed rates never exceeds the crawl rate R.
#ifndef FRESHET_CORE_FLEET_GRANT_BOOK_H_
#define FRESHET_CORE_FLEET_GRANT_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "core/base/units.h"
#include "core/fleet/fleet_rate.h"

namespace freshet {

// Owner thread only. Instants never go backwards.
//
// A node obeys the latest grant that it has received, but the leader does not know which grant this
// is. So the book counts the highest grant that the node might obey: its claim. A grant counts
// until the node has reported that it obeys a later one, or until its end has passed on every
// clock, which is the lifetime plus the clock bound after the grant was made.
//
// Guarantee: while R is constant, the sum of the obeyed rates in the fleet is at most R at any
// instant. If R changes, the sum is at most the highest R of the preceding period, which has the
// length of the lifetime plus twice the clock bound. If the leader changed in this period, the
// period is twice as long.
//
// - When R is lowered, the sum of later grants stays within the lower R. The sum of later and
//   earlier grants stays within the limit that applied to the earlier ones. The total falls as fast
//   as nodes answer, and at the latest when the earlier grants have expired.
// - A new leader does not know the grants of its predecessor. It knows only that their sum is
//   within R, and that they have expired after the lifetime plus twice the clock bound: the quiet
//   time. During the quiet time, the new leader can only renew what nodes report that they hold
//   (Adopt), so that the fleet keeps crawling. The quiet time ends early if it is known that no
//   node obeys an earlier grant any more (EndQuiet).
class GrantBook {
 public:
  // Opens the book of a leader whose term begins now. Precondition: the options are valid.
  GrantBook(const FleetRateOptions& options, uint64_t term, Rate rate, Instant now);

  // Sets R. Precondition: at least 0.
  void SetRate(Rate rate);
  [[nodiscard]] Rate rate() const { return Rate::PerSecond(limits_.back().rate); }
  // Returns true during the quiet time, in which no node gets more than it already had. The value
  // is that of the last Expire or EndQuiet.
  [[nodiscard]] bool quiet() const { return quiet_; }

  // Drops expired grants. Call it before Allowed, Claim and Free.
  void Expire(Instant now);
  // Records that the node obeyed this grant of the present term. From then on, the node obeys no
  // earlier grant.
  void Acknowledge(NodeId node, uint64_t number);
  // Records that the node obeys the grant `held`, which is of an earlier term. `sent` is the time
  // of the node's report, by the node's clock. The book must be sure that the predecessor still
  // counted the grant when the predecessor stopped. So Adopt accepts only reports that were sent
  // after this term began, and takes an expired grant as a rate of 0. A node that reports no valid
  // grant becomes Unbound.
  void Adopt(const RateGrant& held, Instant sent, Instant now);
  // Frees the grants of a node that will never pick pages again.
  void Release(NodeId node);
  // Ends the quiet time. Precondition: no node obeys a grant of an earlier term, now or later.
  void EndQuiet() {
    quiet_until_ = began_;
    quiet_ = false;
    adopted_.clear();
  }

  // The highest rate that can be granted to the node now.
  [[nodiscard]] Rate Allowed(NodeId node) const;
  // Returns true if a grant during the quiet time, of any rate, cannot lower the rate that the node
  // obeys.
  [[nodiscard]] bool Unbound(NodeId node) const {
    const auto it = adopted_.find(node);
    return it != adopted_.end() && it->second == 0;
  }
  // Claim: the highest rate that the node might obey now. Claimed: the sum of the claims of all
  // nodes.
  [[nodiscard]] Rate Claim(NodeId node) const;
  [[nodiscard]] Rate Claimed() const { return Rate::PerSecond(limits_.front().claimed); }
  // The rate that can be granted in addition to all claims.
  [[nodiscard]] Rate Free() const;
  // Makes and records a grant. Precondition: `rate` is at most Allowed(node).
  [[nodiscard]] RateGrant Grant(NodeId node, Rate rate, Instant now);
  // The number of the last grant of this term.
  [[nodiscard]] uint64_t last_number() const { return next_number_ - 1; }

 private:
  // A grant in the book. Rates are doubles, per second, so that they can be added.
  struct Entry {
    uint64_t number = 0;
    double rate = 0;
    Instant over;  // the time, by the leader's clock, from which no node obeys the grant
  };
  // Rates fall from front to back: an older grant that is not higher than a newer one is dropped,
  // because only the highest counts.
  using Entries = std::deque<Entry>;
  // The sum of grants from number `first` on stays within `rate`. In limits_, rates fall and
  // numbers rise.
  struct Limit {
    double rate = 0;
    uint64_t first = 0;
    double claimed = 0;  // sum of the claims of all nodes, counting only grants from `first` on
  };
  static constexpr size_t kMostEntries = 32;  // max entries of one node
  static constexpr size_t kMostLimits = 8;

  // The rate of the highest grant from number `first` on.
  [[nodiscard]] static double ClaimOf(const Entries& entries, uint64_t first);
  [[nodiscard]] const Entries& EntriesOf(NodeId node) const;
  void AddUp();

  FleetRateOptions options_;
  uint64_t term_;
  Instant began_;
  Instant quiet_until_;
  bool quiet_ = true;
  uint64_t next_number_ = 1;
  std::map<NodeId, Entries> nodes_;   // ordered, so that sums do not depend on hashes
  std::map<NodeId, double> adopted_;  // max rates of nodes during the quiet time
  std::vector<Limit> limits_;         // never empty; the last limit is R
};

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_GRANT_BOOK_H_
