// Functions that make rows of the table of keys, one for each type of value. Only for
// server/config/keys_*.cc.
//
// All functions are thread-safe. The argument `at` is a function that takes a configuration, const
// or not, and returns the value's field in it: see At.
#ifndef FRESHET_SERVER_CONFIG_KEY_MAKERS_H_
#define FRESHET_SERVER_CONFIG_KEY_MAKERS_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/day_hours.h"
#include "server/base/live.h"
#include "server/config/key.h"
#include "server/config/written.h"
#include "server/config_values.h"

namespace freshet {

inline constexpr Duration kYear = Duration::Days(366);
inline constexpr Duration kSecond = Duration::Seconds(1);
inline constexpr Duration kMilli = Duration::Millis(1);
// The upper bound of keys that count things, such as connections or workers. No machine has room
// for more of them.
inline constexpr int64_t kMost = 1'000'000;

// Makes the argument `at` for a field of ServerConfig, or for a field of one of its member structs.
template <typename S, typename M>
auto At(M S::*field) {
  return [field](auto* config) -> auto& { return config->*field; };
}
template <typename S, typename P, typename M>
auto At(P S::*part, M P::*field) {
  return [ part, field ](auto* config) -> auto& { return config->*part.*field; };
}

template <typename A>
ConfigKey MakeKey(std::string name, KeyType type, A at) {
  using Field = std::remove_cvref_t<decltype(at(static_cast<ServerConfig*>(nullptr)))>;
  ConfigKey key;
  key.name = std::move(name);
  key.type = type;
  if constexpr (kIsLive<Field>) {
    key.effect = Effect::kReload;
    key.copy = [at](const ServerConfig& from, ServerConfig* to) { at(to) = at(&from); };
  }
  return key;
}

template <typename A>
ConfigKey TextKey(std::string name, A at) {
  ConfigKey key = MakeKey(std::move(name), KeyType::kText, at);
  key.set = [at](const std::string& text, ServerConfig* config) {
    at(config) = text;
    return absl::OkStatus();
  };
  key.write = [at](const ServerConfig& config) { return WriteText(at(&config)); };
  return key;
}

template <typename A>
ConfigKey FlagKey(std::string name, A at) {
  ConfigKey key = MakeKey(std::move(name), KeyType::kFlag, at);
  key.set = [at](const std::string& text, ServerConfig* config) -> Status {
    ASSIGN_OR_RETURN(const bool value, ParseFlagValue(text));
    at(config) = value;
    return absl::OkStatus();
  };
  key.write = [at](const ServerConfig& config) { return at(&config) ? "true" : "false"; };
  return key;
}

// Makes a key whose value is a whole number. The field can have any integer type.
template <typename A>
ConfigKey CountKey(std::string name, A at, int64_t low, int64_t high) {
  ConfigKey key = MakeKey(std::move(name), KeyType::kInteger, at);
  key.low = static_cast<double>(low);
  key.high = static_cast<double>(high);
  const auto check = [low, high](int64_t number) -> Status {
    if (number >= low && number <= high) return absl::OkStatus();
    return WrongRange(fmt::format("{}", number), "whole number", fmt::format("{}", low),
                      fmt::format("{}", high));
  };
  key.set = [at, check](const std::string& text, ServerConfig* config) -> Status {
    ASSIGN_OR_RETURN(const int64_t number, ParseIntegerValue(text));
    RETURN_IF_ERROR(check(number));
    AssignCount(number, &at(config));
    return absl::OkStatus();
  };
  key.write = [at](const ServerConfig& config) { return fmt::format("{}", CountOf(at(&config))); };
  key.check = [at, check](const ServerConfig& config) { return check(CountOf(at(&config))); };
  return key;
}

template <typename A>
ConfigKey SpanKey(std::string name, A at, Duration low, Duration high, bool or_zero = false) {
  ConfigKey key = MakeKey(std::move(name), KeyType::kSpan, at);
  key.low = low.seconds();
  key.high = high.seconds();
  key.or_zero = or_zero;
  key.set = [at](const std::string& text, ServerConfig* config) -> Status {
    ASSIGN_OR_RETURN(const Duration span, ParseSpanValue(text));
    at(config) = span;
    return absl::OkStatus();
  };
  key.write = [at](const ServerConfig& config) { return WriteSpan(at(&config)); };
  key.check = [at, low, high, or_zero](const ServerConfig& config) -> Status {
    const Duration span = at(&config);
    if ((span >= low && span <= high) || (or_zero && span == Duration())) return absl::OkStatus();
    return WrongRange(WriteSpan(span), "duration", WriteSpan(low), WriteSpan(high));
  };
  return key;
}

// Makes a key whose value is a rate in items per second.
template <typename A>
ConfigKey ItemRateKey(std::string name, A at) {
  ConfigKey key = MakeKey(std::move(name), KeyType::kNumber, at);
  key.low = limits::kLeastItemsPerSecond;
  key.high = limits::kMostItemsPerSecond;
  key.or_zero = true;
  key.set = [at](const std::string& text, ServerConfig* config) -> Status {
    ASSIGN_OR_RETURN(const double number, ParseItemRate(text));
    at(config) = number;
    return absl::OkStatus();
  };
  key.write = [at](const ServerConfig& config) { return WriteNumber(at(&config)); };
  return key;
}

// Makes a key whose value is one of several texts.
template <typename A>
ConfigKey ChoiceKey(std::string name, A at, std::vector<std::string> choices) {
  ConfigKey key = TextKey(std::move(name), at);
  key.type = KeyType::kChoice;
  key.choices = choices;
  key.check = [at, choices = std::move(choices)](const ServerConfig& config) {
    return CheckChoice(at(&config), choices);
  };
  return key;
}

template <typename A>
ConfigKey NamesKey(std::string name, A at) {
  ConfigKey key = MakeKey(std::move(name), KeyType::kNames, at);
  key.read = [at](const std::string& its, const YAML::Node& node, ServerConfig* config) {
    return ReadNames(its, node, &at(config));
  };
  key.write = [at](const ServerConfig& config) { return WriteNames(at(&config)); };
  return key;
}

// Makes a key with a special reader and writer. `parse` returns StatusOr of the field's type.
template <typename A, typename Parse, typename Write>
ConfigKey ParsedKey(std::string name, KeyType type, A at, Parse parse, Write write) {
  ConfigKey key = MakeKey(std::move(name), type, at);
  key.set = [at, parse](const std::string& text, ServerConfig* config) -> Status {
    ASSIGN_OR_RETURN(at(config), parse(text));
    return absl::OkStatus();
  };
  key.write = [at, write](const ServerConfig& config) { return write(at(&config)); };
  return key;
}

// The parts of the table.
[[nodiscard]] std::vector<ConfigKey> ServerKeys();
[[nodiscard]] std::vector<ConfigKey> CrawlKeys();
[[nodiscard]] std::vector<ConfigKey> LimitKeys();
[[nodiscard]] std::vector<ConfigKey> DoorKeys();
[[nodiscard]] std::vector<ConfigKey> ClusterKeys();

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_KEY_MAKERS_H_
