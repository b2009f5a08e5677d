// The leader's book of its grants, and of earlier grants that nodes may still obey. The book alone
// decides how much may be granted, so that the sum of the rates obeyed never exceeds R.
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

// Owner thread only; instants never step back.
//
// A node obeys the latest grant that has reached it, and nobody knows which that is. So the book
// counts the highest grant that the node may obey, its claim. A grant counts until the node has
// said that it obeys a later one, or until every clock has passed its end: lifetime and clock bound
// after it was made.
//
// Guarantee: under a constant R the sum of the rates obeyed in the fleet is at most R at any
// instant. Otherwise it is at most the highest R that was in force at some time in the lifetime and
// twice the clock bound before; and where the leader changed in that time, in twice as long before.
//
//   R is lowered  grants made from then on keep to the lower R among themselves; with those before,
//                 to what was in force for them. The sum goes down as fast as nodes answer, and at
//                 the latest when what was granted before has run out.
//   a new leader  knows nothing of what its predecessor granted but that it keeps to R and has run
//                 out after lifetime and clock bound: the quiet time. In it, it may only renew what
//                 nodes say they have (Adopt), so that the fleet keeps crawling. It is over
//                 sooner where it is known of all that they obey no such grant any more (EndQuiet).
class GrantBook {
 public:
  // Opens the book of a leader whose term begins now. Precondition: the options are valid.
  GrantBook(const FleetRateOptions& options, uint64_t term, Rate rate, Instant now);

  void SetRate(Rate rate);
  [[nodiscard]] Rate rate() const { return Rate::PerSecond(limits_.back().rate); }
  // Whether the quiet time lasts, in which no node gets more than it had, as of the last Expire or
  // EndQuiet.
  [[nodiscard]] bool quiet() const { return quiet_; }

  // Drops grants that have run out. Call it before the three below.
  void Expire(Instant now);
  // Records that the node has obeyed this grant of the present term, so it obeys no earlier one.
  void Acknowledge(NodeId node, uint64_t number);
  // Records that the node obeys this grant of an earlier term; `sent` is the time of its report, by
  // its clock. Does nothing unless the predecessor, too, must have counted the grant when it
  // stopped: reported after this term began, and not run out. A node that reports in this way that
  // it obeys nothing any more is Unbound.
  void Adopt(const RateGrant& held, Instant sent, Instant now);
  // Frees the grants of a node that will never pick again.
  void Release(NodeId node);
  // Ends the quiet time. Precondition: no node obeys a grant of an earlier term, now or later.
  void EndQuiet() {
    quiet_until_ = began_;
    quiet_ = false;
    adopted_.clear();
  }

  // The highest rate that the node may be granted now.
  [[nodiscard]] Rate Allowed(NodeId node) const;
  // Whether a grant in the quiet time, of any rate, takes nothing from the node.
  [[nodiscard]] bool Unbound(NodeId node) const {
    const auto it = adopted_.find(node);
    return it != adopted_.end() && it->second == 0;
  }
  // The highest rate that the node may be obeying, and the sum over all nodes.
  [[nodiscard]] Rate Claim(NodeId node) const;
  [[nodiscard]] Rate Claimed() const { return Rate::PerSecond(limits_.front().claimed); }
  // The rate that can be granted on top of all claims.
  [[nodiscard]] Rate Free() const;
  // Enters a grant. Precondition: at most Allowed(node).
  [[nodiscard]] RateGrant Grant(NodeId node, Rate rate, Instant now);
  // The number of the last grant of this term.
  [[nodiscard]] uint64_t last_number() const { return next_number_ - 1; }

 private:
  // A grant in the book. Rates are doubles, per second, to be added up.
  struct Entry {
    uint64_t number = 0;
    double rate = 0;
    Instant over;  // when no node obeys the grant any more, by the leader's clock
  };
  // Rates fall from the front to the back: a grant that came before a higher one is dropped,
  // because only the higher one counts.
  using Entries = std::deque<Entry>;
  // Grants from `first` on keep to `rate` among themselves. Rates fall, numbers rise.
  struct Limit {
    double rate = 0;
    uint64_t first = 0;
    double claimed = 0;  // claimed by grants from `first` on, over all nodes
  };
  static constexpr size_t kMostEntries = 32;  // entries of one node
  static constexpr size_t kMostLimits = 8;

  // The highest of the grants from `first` on.
  [[nodiscard]] static double ClaimOf(const Entries& entries, uint64_t first);
  [[nodiscard]] const Entries& EntriesOf(NodeId node) const;
  void AddUp();

  FleetRateOptions options_;
  uint64_t term_;
  Instant began_;
  Instant quiet_until_;
  bool quiet_ = true;
  uint64_t next_number_ = 1;
  std::map<NodeId, Entries> nodes_;   // in order, so that sums do not depend on hashes
  std::map<NodeId, double> adopted_;  // the highest rates that nodes may have during the quiet time
  std::vector<Limit> limits_;         // never empty; the last one has R
};

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_GRANT_BOOK_H_
