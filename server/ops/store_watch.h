// Tells the rest of the server when the store accepts no writes. Logs the begin and the end of that
// time, and reminders in between.
#ifndef FRESHET_SERVER_OPS_STORE_WATCH_H_
#define FRESHET_SERVER_OPS_STORE_WATCH_H_

#include <functional>

#include "core/base/status.h"
#include "core/base/units.h"
#include "server/ops/health.h"
#include "storage/store.h"

namespace freshet {

// Watches the store. Owner thread only.
class StoreWatch {
 public:
  // `on_change` gets the status to send to workers: OK = pages are handed out again,
  // ResourceExhausted = the disk is full, Unavailable = the store has failed.
  StoreWatch(Health& health, std::function<void(const Status&)> on_change);

  // Checks the store. `failure`: the reason why no shard can write; OK = at least one shard can
  // write.
  void Look(const Status& failure, const StoreStats& stats, Instant now);

 private:
  void LookAtFullDisk(const StoreStats& stats, Instant now);
  void LookAtSpace(const StoreStats& stats, Instant now);

  Health& health_;
  const std::function<void(const Status&)> on_change_;
  bool failed_ = false;
  bool full_ = false;
  Instant full_since_;
  Instant said_;                   // when the log last reported the full disk
  uint64_t refused_at_first_ = 0;  // commits that were refused by the time the disk became full
};

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_STORE_WATCH_H_
