// All that is known of the keys of a configuration, as one table: what they are called, what they
// may be, how they are read, written and checked, and what they are for. The file, the environment
// and the command line are read by it; `--print-config`, the schema for editors, the reference and
// the example file are made of it.
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
  kInteger,  // bounds are of the number
  kNumber,   // of something a second
  kShare,
  kSpan,    // "1.5s"; bounds are in seconds
  kChoice,  // one of `choices`
  kCap,     // "1000/1d", 0 is none
  kHours,   // "22:00-06:00"
  kNames,   // a list of names, of `choices` if there are any
  kRates,   // a map from names to items a second
  kLevels,  // a map from modules to levels
  kTexts,   // a map from names to texts
  kRules,   // politeness.rules
  kGroup,   // politeness.by_address
};

// When a change of the file is taken.
enum class Effect : uint8_t {
  kRestart,
  kReload,  // at SIGHUP
};

// Value type, thread-compatible.
struct ConfigKey {
  std::string name;  // "limits.streams"
  KeyType type = KeyType::kText;
  std::string text;  // what it is for, in sentences
  Effect effect = Effect::kRestart;
  std::string flag;  // "--crawl-rate"; empty: there is none
  std::vector<std::string> choices;
  // What the value may be at least and at most, on its own; unset: anything of its type.
  std::optional<double> low;
  std::optional<double> high;
  bool or_zero = false;  // zero as well

  // Of keys with a single value: InvalidArgument says what is wrong with the text.
  std::function<Status(const std::string& text, ServerConfig* config)> set;
  // Of the others: InvalidArgument begins with the key at fault.
  std::function<Status(const std::string& key, const YAML::Node& node, ServerConfig* config)> read;
  // As a file would have it, in one line.
  std::function<std::string(const ServerConfig& config)> write;
  // Null: whatever could be read is good, as far as the key itself is concerned.
  std::function<Status(const ServerConfig& config)> check;
  // Null: who uses the value is told of a change, or there is a restart. Else the value can be
  // changed while others read it.
  std::function<void(const ServerConfig& from, ServerConfig* to)> copy;

  [[nodiscard]] bool scalar() const { return set != nullptr; }
  // "FRESHET_LIMITS_STREAMS"; empty where a single text cannot say it.
  [[nodiscard]] std::string environment() const;
  // "limits", or nothing.
  [[nodiscard]] std::string_view section() const;

  // For tables.
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

// In the order of the example file. Thread-safe.
[[nodiscard]] const std::vector<ConfigKey>& AllKeys();
// nullptr: there is no such key. Thread-safe.
[[nodiscard]] const ConfigKey* FindKey(std::string_view name);
// Whether some key lies in this section. Thread-safe.
[[nodiscard]] bool IsSection(std::string_view name);

// What a section as a whole is for; empty: nothing more than its keys say.
struct ConfigSection {
  std::string name;
  std::string text;
};
[[nodiscard]] const std::vector<ConfigSection>& AllSections();

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_KEY_H_
