// The settings of the server that the store keeps. Value type, thread-compatible.
#ifndef FRESHET_CORE_MODEL_SETTINGS_H_
#define FRESHET_CORE_MODEL_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/units.h"

namespace freshet {

// Configuration that was set at run time. It survives restarts and overrides flags and files.
struct Settings {
  std::optional<Rate> crawl_rate;     // unset: configured default
  std::optional<std::string> policy;  // unset: configured default
  bool paused = false;
  std::string pause_reason;  // empty: no reason was given, or not paused
  // Politeness of hosts that have no setting of their own. Unset: configured default.
  std::optional<Duration> min_delay;
  std::optional<uint32_t> max_in_flight;
  std::optional<Duration> min_page_interval;
  bool operator==(const Settings&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_SETTINGS_H_
