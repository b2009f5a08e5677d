// The settings of a fleet, on a server of one division. Division 0 keeps them (SettingsKeeper); all
// others ask it for changes (SettingsTaking).
#ifndef FRESHET_SERVER_FLEET_SHARED_SETTINGS_H_
#define FRESHET_SERVER_FLEET_SHARED_SETTINGS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/fleet/slot_division.h"
#include "server/api/context.h"
#include "server/api/settings_sharing.h"
#include "server/base/system_clock.h"
#include "server/base/ticker.h"

namespace freshet {

// Options of SharedSettings. Value type, thread-compatible.
struct SharedSettingsOptions {
  SlotDivision division;
  uint64_t generation = 0;  // of the store in this run: rises with each server of the division
};

// Keeps or follows the settings. Thread-safe but for Start and Stop.
class SharedSettings final : public SettingsSharing {
 public:
  // `serves`: whether this server surely serves its division. The clock outlives this.
  SharedSettings(const SharedSettingsOptions& options, Clock& clock, std::function<bool()> serves);
  ~SharedSettings() override;

  // Before any other call. The context outlives this, and its divisions are stopped before.
  void Start(const ServerContext& context);
  // Takes nothing over from now on, and answers all waiting reports. Idempotent.
  void Stop();

  void Publish(Published done) override;
  void Hear(const v1::ShareSettingsRequest& report, Answered answered) override;
  [[nodiscard]] bool hears_keeper() const override;
  void KeepPause(const std::string& reason) override;
  void Forget() override;

 private:
  class Keeping;
  class Following;

  const SharedSettingsOptions options_;
  Clock& clock_;
  const std::function<bool()> serves_;
  std::unique_ptr<Keeping> keeping_;      // nullptr = this server follows
  std::shared_ptr<Following> following_;  // nullptr = this server keeps; answers hold it as well
  std::unique_ptr<Ticker> attender_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_SHARED_SETTINGS_H_
