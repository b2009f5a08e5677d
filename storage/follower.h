// Decides when a store that is a cache of a log becomes its owner, and prepares for that moment.
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

  // Called once, before all other functions, when the store has read the log to its end, so that it
  // can take over as fast as other standbys. Any status other than OK ends opening.
  [[nodiscard]] virtual Status CaughtUp() = 0;
  // Whether the store may own the log now. Called about twenty times a second.
  [[nodiscard]] virtual bool MayOwn() = 0;
  // Whether MayOwn may soon be true. Called about twice a second. After `false` the follower itself
  // drops what it has prepared.
  [[nodiscard]] virtual bool MayOwnSoon() = 0;
  // Called once when MayOwnSoon is true, and again after Outdate. The store can be read (Load,
  // LoadGlobals, ReadPages, List), and generation() is final unless another server owns the log
  // first. Store::Open returns this store. If that fails the store is gone, and objects that refer
  // to it may only be destroyed. Any status other than OK ends opening.
  [[nodiscard]] virtual Status Prepare(Store& store) = 0;
  // Receives the changes that later rows of one partition make to the state that Prepare has read,
  // a few thousand rows at a time. The changes leave out leases: the follower reads them when the
  // store is open. Called by several threads, but only by one at a time for each partition, and in
  // order. After any status other than OK the prepared state is outdated.
  [[nodiscard]] virtual Status Update(uint16_t partition, FollowedChanges changes) = 0;
  // Called when the log has rows that Update cannot express: the state from Prepare and Update no
  // longer matches the store.
  virtual void Outdate() = 0;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_FOLLOWER_H_
