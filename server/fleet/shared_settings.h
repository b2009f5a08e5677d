// The shared settings of a fleet, on the server of one division. The server of division 0 keeps the
// settings (SettingsKeeper). All other servers ask it for changes and apply them
// (settings_taking.h).
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
  uint64_t generation = 0;  // the store's generation in this run; rises with each run
};

// Keeps or follows the settings. Thread-safe, except Start and Stop.
class SharedSettings final : public SettingsSharing {
 public:
  // `serves`: returns true if it is certain that this server serves its division. `clock` must
  // outlive this object.
  SharedSettings(const SharedSettingsOptions& options, Clock& clock, std::function<bool()> serves);
  ~SharedSettings() override;

  // Must be called before all other methods. `context` must outlive this object, and its
  // `divisions` must be stopped before the destruction.
  void Start(const ServerContext& context);
  // Takes over no more settings from now on, and answers all waiting reports. Idempotent.
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
  std::shared_ptr<Following> following_;  // nullptr = this server keeps; shared with callbacks
  std::unique_ptr<Ticker> attender_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FLEET_SHARED_SETTINGS_H_
