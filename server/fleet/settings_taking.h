// Writes the settings of a fleet into messages, and applies these messages to a server.
#ifndef FRESHET_SERVER_FLEET_SETTINGS_TAKING_H_
#define FRESHET_SERVER_FLEET_SETTINGS_TAKING_H_

#include <functional>
#include <string>

#include "core/base/status.h"
#include "freshet/v1/fleet.pb.h"
#include "server/api/context.h"

namespace freshet {

// Returns a part of this server's settings: some crawl ids after `after_crawl_id`. The first part,
// with an empty `after_crawl_id`, also has all other settings. Thread-safe.
[[nodiscard]] v1::FleetSettings SettingsOf(const ServerContext& context,
                                           const std::string& after_crawl_id);

// The callbacks of TakeSettings. Value type, thread-compatible.
struct TakingDone {
  // Called once, when the part is stored or with an error. After an error the rest of the part is
  // not applied.
  std::function<void(const Status&)> stored;
  // Called once, after `stored` was called with OK: when the part is in force on all shards, or
  // with an error.
  std::function<void(const Status&)> in_force;
};

// Applies the settings of the part to this server. `stay_paused`: if this server is paused, the
// part does not resume it. Thread-safe. Precondition: no other part is being stored.
void TakeSettings(const ServerContext& context, v1::FleetSettings part, bool stay_paused,
                  TakingDone done);

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_SETTINGS_TAKING_H_
