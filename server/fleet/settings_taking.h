// Writes the settings of a fleet into messages, and applies such messages.
#ifndef FRESHET_SERVER_FLEET_SETTINGS_TAKING_H_
#define FRESHET_SERVER_FLEET_SETTINGS_TAKING_H_

#include <functional>
#include <string>

#include "core/base/status.h"
#include "freshet/v1/fleet.pb.h"
#include "server/api/context.h"

namespace freshet {

// The settings of this server: crawl ids after `after_crawl_id`, and everything else in the first
// part. Thread-safe.
[[nodiscard]] v1::FleetSettings SettingsOf(const ServerContext& context,
                                           const std::string& after_crawl_id);

// The progress of taking over a part. Value type, thread-compatible.
struct TakingDone {
  // Called once when the part is stored, or with an error. After an error the rest is left out.
  std::function<void(const Status&)> stored;
  // Called once after `stored` succeeded: when the part is in force on all shards, or with an
  // error.
  std::function<void(const Status&)> in_force;
};

// Applies the settings of the part to this server. `stay_paused`: a paused server stays paused. One
// part at a time. Thread-safe.
void TakeSettings(const ServerContext& context, v1::FleetSettings part, bool stay_paused,
                  TakingDone done);

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_SETTINGS_TAKING_H_
