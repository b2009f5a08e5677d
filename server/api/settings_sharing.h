// The settings of a fleet in one order: the interface for the services. The server of division
// SlotDivision::kKeeper keeps the settings, and those of all others follow.
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

// The sharing. Thread-safe.
class SettingsSharing {
 public:
  using Answered = std::function<void(StatusOr<v1::ShareSettingsResponse>)>;
  // Is told the outcome of each other division.
  using Published = std::function<void(const std::vector<std::pair<uint32_t, Status>>&)>;

  SettingsSharing() = default;
  virtual ~SettingsSharing() = default;
  SettingsSharing(const SettingsSharing&) = delete;
  SettingsSharing& operator=(const SettingsSharing&) = delete;

  // Only at the keeper: publishes a change that is in force here. `done`, which may be null, is
  // called once, on any thread. By then every other division follows, has failed to, or was not
  // heard of for 15 s (Unavailable).
  virtual void Publish(Published done) = 0;
  // Only at the keeper: takes a report of another division's server. `answered` is called once, on
  // any thread, with the errors of FleetService.ShareSettings.
  virtual void Hear(const v1::ShareSettingsRequest& report, Answered answered) = 0;

  // Whether the keeper has answered this server lately. Not to be asked at the keeper.
  [[nodiscard]] virtual bool hears_keeper() const = 0;
  // Keeps a pause that was made without the keeper, until the keeper has heard of it and has all
  // divisions pause.
  virtual void KeepPause(const std::string& reason) = 0;
  // Takes the keeper's settings again, after a change here that they do not know.
  virtual void Forget() = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_SETTINGS_SHARING_H_
