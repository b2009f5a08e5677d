// Who says when a store that is a cache of a log becomes its owner, and uses the time before.
#ifndef FRESHET_STORAGE_FOLLOWER_H_
#define FRESHET_STORAGE_FOLLOWER_H_

#include "core/base/status.h"

namespace freshet {

class Store;

// Owner thread only, that which opens the store: whoever takes long is late for its turn.
class Follower {
 public:
  virtual ~Follower() = default;

  // The store has been at the end of the log: it is as good for its turn as others that follow.
  // Called once, first of all. Opening fails with what is not OK.
  [[nodiscard]] virtual Status CaughtUp() = 0;
  // Whether the store may own the log now. Asked some twenty times a second.
  [[nodiscard]] virtual bool MayOwn() = 0;
  // Whether that may be soon. Asked about twice a second, while nothing new is in the log. After a
  // no what was prepared is out of date by itself.
  [[nodiscard]] virtual bool MayOwnSoon() = 0;
  // It may be soon, and the store has all that is in the log as far as anybody knows: once for
  // each state of it. The store can be read (Load, LoadGlobals, ReadPages, List), and generation()
  // is the one that it will have if it stays as it is. It is the one that Store::Open returns;
  // when that fails it is gone, and what refers to it may only be destroyed. Opening fails with
  // what is not OK.
  [[nodiscard]] virtual Status Prepare(Store& store) = 0;
  // What Prepare has read is no longer all that the store has.
  virtual void Outdate() = 0;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_FOLLOWER_H_
