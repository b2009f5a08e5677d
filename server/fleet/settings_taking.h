// The settings of a fleet as one message, and a server that takes them over.
#ifndef FRESHET_SERVER_FLEET_SETTINGS_TAKING_H_
#define FRESHET_SERVER_FLEET_SETTINGS_TAKING_H_

#include <functional>
#include <string>

#include "core/base/status.h"
#include "freshet/v1/fleet.pb.h"
#include "server/api/context.h"

namespace freshet {

// What this server has set: a part with crawl ids from behind `after_crawl_id` on, and all else in
// the first part. Thread-safe.
[[nodiscard]] v1::FleetSettings SettingsOf(const ServerContext& context,
                                           const std::string& after_crawl_id);

// How far a part is taken over. Value type, thread-compatible.
struct TakingDone {
  // Called once: it is stored, or why not. Of what is not, the rest is left out.
  std::function<void(const Status&)> stored;
  // Called once after that, if it is stored: it is in force on all shards, or why not.
  std::function<void(const Status&)> in_force;
};

// Makes this server's settings those of the part. `stay_paused`: it does not go on if it is paused.
// One part at a time. Thread-safe.
void TakeSettings(const ServerContext& context, v1::FleetSettings part, bool stay_paused,
                  TakingDone done);

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_SETTINGS_TAKING_H_
