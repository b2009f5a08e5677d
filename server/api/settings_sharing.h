// The one order of the settings of a fleet, as the services reach it: the server of one division
// keeps them, and those of all others take them over.
#ifndef FRESHET_SERVER_API_SETTINGS_SHARING_H_
#define FRESHET_SERVER_API_SETTINGS_SHARING_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "freshet/v1/fleet.pb.h"

namespace freshet {

// Thread-safe.
class SettingsSharing {
 public:
  using Answered = std::function<void(StatusOr<v1::ShareSettingsResponse>)>;
  // How each other division ended up.
  using Published = std::function<void(const std::vector<std::pair<uint32_t, Status>>&)>;

  SettingsSharing() = default;
  virtual ~SettingsSharing() = default;
  SettingsSharing(const SettingsSharing&) = delete;
  SettingsSharing& operator=(const SettingsSharing&) = delete;

  // The division whose server keeps the settings: they are changed there first.
  static constexpr uint32_t kKeeper = 0;

  // Whether this server is the keeper.
  [[nodiscard]] virtual bool keeps() const = 0;
  // The keeper's: a change of settings is in force here. `done`, which may be null, is called once,
  // on any thread, when all other divisions follow it, or have failed to, or were not heard of for
  // 15 s (Unavailable).
  virtual void Publish(Published done) = 0;
  // The keeper's: takes what the server of another division says of itself. `answered` is called
  // once, on any thread, errors as FleetService.ShareSettings has them.
  virtual void Hear(const v1::ShareSettingsRequest& report, Answered answered) = 0;

  // Whether the keeper has answered this server lately. Not at the keeper.
  [[nodiscard]] virtual bool hears_keeper() const = 0;
  // This server was paused without the keeper: it stays so until the keeper has heard of it, and
  // has all divisions pause.
  virtual void KeepPause(const std::string& reason) = 0;
  // Something was changed here that the keeper's settings say nothing of: they are taken anew.
  virtual void Forget() = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_SETTINGS_SHARING_H_
