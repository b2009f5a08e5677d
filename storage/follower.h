// Decides when a store that is a cache of a log (storage/change_log.h) takes ownership of the log,
// and prepares for the takeover.
#ifndef FRESHET_STORAGE_FOLLOWER_H_
#define FRESHET_STORAGE_FOLLOWER_H_

#include <cstdint>

#include "core/base/status.h"

namespace freshet {

struct FollowedChanges;
class Store;

// Owner thread only (the thread that opens the store), except for Update. Slow functions delay a
// takeover.
class Follower {
 public:
  virtual ~Follower() = default;

  // Called once, before all other functions, after the store has read the log to its end. A
  // follower offers to take over only from this call on, so that every candidate can take over
  // quickly. Any status other than OK ends opening.
  [[nodiscard]] virtual Status CaughtUp() = 0;
  // Returns true if the store may own the log now. Called about twenty times a second.
  [[nodiscard]] virtual bool MayOwn() = 0;
  // Returns true if MayOwn might soon return true. Called about twice a second. Before the function
  // returns false, the follower drops the state that it has prepared.
  [[nodiscard]] virtual bool MayOwnSoon() = 0;
  // Called once when MayOwnSoon returns true, and again after Outdate. The store can be read (Load,
  // LoadGlobals, ReadPages, List), and generation() is final unless another server owns the log
  // before this one. Store::Open later returns this same store. If Store::Open fails, the store is
  // destroyed, and objects that refer to it must not be used any more, only destroyed. Any status
  // other than OK ends opening.
  [[nodiscard]] virtual Status Prepare(Store& store) = 0;
  // Receives the changes that later rows of one partition make to the state that Prepare has read,
  // a few thousand rows at a time. The changes do not include leases: the follower reads all leases
  // once the store is open. Several threads call Update, but only one at a time for each partition,
  // and with the changes of a partition in order. After any status other than OK the prepared state
  // is outdated.
  [[nodiscard]] virtual Status Update(uint16_t partition, FollowedChanges changes) = 0;
  // Called when the log has rows that Update cannot express: the state from Prepare and Update no
  // longer matches the store.
  virtual void Outdate() = 0;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_FOLLOWER_H_
