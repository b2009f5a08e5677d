// The table of configuration keys: their names, types, bounds, readers, writers, checks and
// descriptions. The server uses this table to read the file, the environment and the command line.
// It makes `--print-config`, the schema for editors, the reference and the example file from the
// same table.
#ifndef FRESHET_SERVER_CONFIG_KEY_H_
#define FRESHET_SERVER_CONFIG_KEY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "server/config.h"

namespace YAML {  // NOLINT(readability-identifier-naming): theirs
class Node;
}  // namespace YAML

namespace freshet {

enum class KeyType : uint8_t {
  kText,
  kFlag,     // true or false
  kInteger,  // low and high bound the number
  kNumber,   // a rate per second
  kShare,
  kSpan,    // "1.5s"; the bounds are in seconds
  kChoice,  // one of `choices`
  kCap,     // "1000/1d", 0 = none
  kHours,   // "22:00-06:00"
  kNames,   // a list of names, from `choices` if there are any
  kRates,   // a map from names to items a second
  kLevels,  // a map from modules to levels
  kTexts,   // a map from names to texts
  kRules,   // politeness.rules
  kGroup,   // politeness.by_address
};

// When a new value takes effect.
enum class Effect : uint8_t {
  kRestart,
  kReload,  // at SIGHUP
};

// One key. Value type, thread-compatible.
struct ConfigKey {
  std::string name;  // "limits.streams"
  KeyType type = KeyType::kText;
  std::string text;  // the description, in sentences
  Effect effect = Effect::kRestart;
  std::string flag;  // "--crawl-rate"; empty = none
  std::vector<std::string> choices;
  // The bounds of the value; unset = none.
  std::optional<double> low;
  std::optional<double> high;
  bool or_zero = false;  // 0 is allowed although it is below `low`

  // Reads a single value; nullptr = the value is a list or a map. InvalidArgument says what is
  // wrong with the text.
  std::function<Status(const std::string& text, ServerConfig* config)> set;
  // Reads a list or a map. InvalidArgument begins with the key at fault.
  std::function<Status(const std::string& key, const YAML::Node& node, ServerConfig* config)> read;
  // Writes the value on one line, as in a file.
  std::function<std::string(const ServerConfig& config)> write;
  // Checks the value; nullptr = every value that `set` or `read` accepts is valid.
  std::function<Status(const ServerConfig& config)> check;
  // Copies the value into a configuration that other threads may be reading. nullptr = the value
  // cannot be copied: a reload notifies its users instead, or a change needs a restart.
  std::function<void(const ServerConfig& from, ServerConfig* to)> copy;

  [[nodiscard]] bool scalar() const { return set != nullptr; }
  // "FRESHET_LIMITS_STREAMS"; empty if a single text cannot hold the value.
  [[nodiscard]] std::string environment() const;
  // "limits"; empty = none.
  [[nodiscard]] std::string_view section() const;

  // Setters for building rows; each returns the key.
  [[nodiscard]] ConfigKey Says(std::string what) && {
    text = std::move(what);
    return std::move(*this);
  }
  [[nodiscard]] ConfigKey Flag(std::string name_of_flag) && {
    flag = std::move(name_of_flag);
    return std::move(*this);
  }
  [[nodiscard]] ConfigKey Reloads() && {
    effect = Effect::kReload;
    return std::move(*this);
  }
};

// All keys in the order of the example file. Thread-safe.
[[nodiscard]] const std::vector<ConfigKey>& AllKeys();
// Finds a key; nullptr = no key has this name. Thread-safe.
[[nodiscard]] const ConfigKey* FindKey(std::string_view name);
// Whether there is a section of this name. Thread-safe.
[[nodiscard]] bool IsSection(std::string_view name);

// The description of a section; empty = the descriptions of its keys suffice.
struct ConfigSection {
  std::string name;
  std::string text;
};
[[nodiscard]] const std::vector<ConfigSection>& AllSections();

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_KEY_H_
