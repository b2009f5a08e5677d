// The leader's book of what it has granted and what of that may still be obeyed: it alone decides
// how much may be granted, so that the sum of what is obeyed never exceeds R.
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
// A node obeys the latest grant that has reached it, and nobody knows which that is: so it counts
// at the highest of those that it may obey, its claim. A grant counts until the node has said that
// it obeys a later one, or until every clock has passed its end: lifetime and clock bound after it
// was made.
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
//                 nodes say they have (Adopt), so that the fleet goes on meanwhile. It is over
//                 sooner where it is known of all that they obey no such grant any more (EndQuiet).
class GrantBook {
 public:
  // Of the leader of a term that begins now. Precondition: the options are valid.
  GrantBook(const FleetRateOptions& options, uint64_t term, Rate rate, Instant now);

  void SetRate(Rate rate);
  [[nodiscard]] Rate rate() const { return Rate::PerSecond(limits_.back().rate); }
  // Whether a node gets no more than it had, as of the last Expire or EndQuiet.
  [[nodiscard]] bool quiet() const { return quiet_; }

  // Takes off the books what has run out. To be called before the three below.
  void Expire(Instant now);
  // The node has said that it obeys that grant of this term, or one before it was sent.
  void Acknowledge(NodeId node, uint64_t number);
  // The node says that it obeys this grant of an earlier term; `sent` is when it said so, by its
  // clock. Does nothing unless the predecessor, too, must have counted with it when it stopped:
  // said after this term began, and not run out. One that says so that it obeys nothing any more
  // is Unbound.
  void Adopt(const RateGrant& held, Instant sent, Instant now);
  // The node picks nothing any more and never will: what it was granted is free.
  void Release(NodeId node);
  // Nobody obeys a grant of an earlier term any more, nor ever will.
  void EndQuiet() {
    quiet_until_ = began_;
    quiet_ = false;
    adopted_.clear();
  }

  // The highest rate that the node may be granted now.
  [[nodiscard]] Rate Allowed(NodeId node) const;
  // Whether a grant in the quiet time takes nothing from it, whatever the rate.
  [[nodiscard]] bool Unbound(NodeId node) const {
    const auto it = adopted_.find(node);
    return it != adopted_.end() && it->second == 0;
  }
  // What the node may be obeying, and what all may be obeying.
  [[nodiscard]] Rate Claim(NodeId node) const;
  [[nodiscard]] Rate Claimed() const { return Rate::PerSecond(limits_.front().claimed); }
  // What can be granted on top of all claims.
  [[nodiscard]] Rate Free() const;
  // Enters a grant. Precondition: at most Allowed(node).
  [[nodiscard]] RateGrant Grant(NodeId node, Rate rate, Instant now);
  // Of the last grant; all of this term are up to it.
  [[nodiscard]] uint64_t last_number() const { return next_number_ - 1; }

 private:
  // Rates per second, as doubles, are what it adds up.
  struct Entry {
    uint64_t number = 0;
    double rate = 0;
    Instant over;  // by the leader's clock: nobody obeys it any more
  };
  // Rates fall from the front to the back: of two that may be obeyed, only the higher of the two
  // counts as long as it may be; so one that came before a higher one is dropped.
  using Entries = std::deque<Entry>;
  // Grants from `first` on keep to `rate` among themselves. Rates fall, numbers rise.
  struct Limit {
    double rate = 0;
    uint64_t first = 0;
    double claimed = 0;  // by grants from `first` on
  };
  static constexpr size_t kMostEntries = 32;  // of a node
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
  std::map<NodeId, double> adopted_;  // in the quiet time: the most that nodes may have
  std::vector<Limit> limits_;         // never empty; the last one has R
};

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_GRANT_BOOK_H_
