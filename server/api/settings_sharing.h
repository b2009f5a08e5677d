// The interface by which services share the settings of a fleet. The server of division
// SlotDivision::kKeeper, the keeper, makes all changes, and the servers of the other divisions copy
// them. So settings change in the same order everywhere.
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

// Shares the settings. Thread-safe.
class SettingsSharing {
 public:
  using Answered = std::function<void(StatusOr<v1::ShareSettingsResponse>)>;
  // Takes the outcome for each other division.
  using Published = std::function<void(const std::vector<std::pair<uint32_t, Status>>&)>;

  SettingsSharing() = default;
  virtual ~SettingsSharing() = default;
  SettingsSharing(const SettingsSharing&) = delete;
  SettingsSharing& operator=(const SettingsSharing&) = delete;

  // Only on the keeper: publishes a change that is in force there. `done` (nullptr = none) is
  // called once, on any thread. By then every other division has the change, has failed to apply
  // it, or has not answered for 15 s (Unavailable).
  virtual void Publish(Published done) = 0;
  // Only on the keeper: handles a report from another division's server. `answered` is called once,
  // on any thread, with the errors of FleetService.ShareSettings.
  virtual void Hear(const v1::ShareSettingsRequest& report, Answered answered) = 0;

  // Whether the keeper has answered this server recently. Must not be called on the keeper.
  [[nodiscard]] virtual bool hears_keeper() const = 0;
  // Keeps a pause that was made without the keeper, until the keeper has learned of it and has
  // paused all divisions.
  virtual void KeepPause(const std::string& reason) = 0;
  // Makes this server copy all of the keeper's settings again, after a change here that the keeper
  // does not know about.
  virtual void Forget() = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_SETTINGS_SHARING_H_
