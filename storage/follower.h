// Who says when a store that is a cache of a log becomes its owner, and uses the time before.
#ifndef FRESHET_STORAGE_FOLLOWER_H_
#define FRESHET_STORAGE_FOLLOWER_H_

#include <cstdint>

#include "core/base/status.h"

namespace freshet {

struct FollowedChanges;
class Store;

// Owner thread only, that which opens the store, but for Update: whoever takes long is late for its
// turn.
class Follower {
 public:
  virtual ~Follower() = default;

  // The store has been at the end of the log: it is as good for its turn as others that follow.
  // Called once, first of all. Opening fails with what is not OK.
  [[nodiscard]] virtual Status CaughtUp() = 0;
  // Whether the store may own the log now. Asked some twenty times a second.
  [[nodiscard]] virtual bool MayOwn() = 0;
  // Whether that may be soon. Asked about twice a second. After a no what was prepared is out of
  // date by itself.
  [[nodiscard]] virtual bool MayOwnSoon() = 0;
  // It may be soon: once, until it was outdated. The store can be read (Load, LoadGlobals,
  // ReadPages, List), and generation() is the one that it will have if nobody else has owned the
  // log meanwhile. It is the one that Store::Open returns; when that fails it is gone, and what
  // refers to it may only be destroyed. Opening fails with what is not OK.
  [[nodiscard]] virtual Status Prepare(Store& store) = 0;
  // What rows that the store has taken in since then, of one partition, change of what Prepare has
  // read, some thousand rows at a time. Leases are for the follower to read when the store is open.
  // Called by several threads, for each partition by one at a time and in order. After a status
  // that is not OK what was prepared is outdated.
  [[nodiscard]] virtual Status Update(uint16_t partition, FollowedChanges changes) = 0;
  // What Prepare has read, and Update has said, is not what the store has: rows came that Update
  // cannot tell.
  virtual void Outdate() = 0;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_FOLLOWER_H_
