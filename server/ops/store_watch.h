// What a store that takes no writes means for everybody else, said when it changes and no more
// often than people read.
#ifndef FRESHET_SERVER_OPS_STORE_WATCH_H_
#define FRESHET_SERVER_OPS_STORE_WATCH_H_

#include <functional>
#include <string_view>

#include "core/base/status.h"
#include "core/base/units.h"
#include "server/ops/health.h"
#include "storage/store.h"

namespace freshet {

// The kind of what keeps the store from taking writes: "disk_full", "damaged" or "write_failed";
// "" if nothing does. A small fixed set, for labels.
[[nodiscard]] std::string_view FailureKind(const Status& failure);

// Looks at the store now and then. Owner thread only.
class StoreWatch {
 public:
  // `on_change` hears why no page can be handed out, as workers are told: ResourceExhausted while
  // the disk is full, Unavailable once the store has failed; OK when it goes on.
  StoreWatch(Health& health, std::function<void(const Status&)> on_change);

  // `failure`: why no shard can write, OK if one can.
  void Look(const Status& failure, const StoreStats& stats, Instant now);

 private:
  void LookAtFullDisk(const StoreStats& stats, Instant now);
  void LookAtSpace(const StoreStats& stats, Instant now);

  Health& health_;
  const std::function<void(const Status&)> on_change_;
  bool failed_ = false;
  bool full_ = false;
  Instant full_since_;
  Instant said_;                   // when the log last said that the disk is full
  uint64_t refused_at_first_ = 0;  // commits before
};

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_STORE_WATCH_H_
