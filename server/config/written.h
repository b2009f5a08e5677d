// Writes values of a configuration as in a file, and reads values that need no table of keys.
//
// All functions are thread-safe.
#ifndef FRESHET_SERVER_CONFIG_WRITTEN_H_
#define FRESHET_SERVER_CONFIG_WRITTEN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/crawl_cap.h"
#include "core/schedule/host_group.h"
#include "core/schedule/host_rules.h"
#include "server/base/live.h"

namespace YAML {  // NOLINT(readability-identifier-naming): theirs
class Node;
}  // namespace YAML

namespace freshet {

// Writes a text as YAML, in quotes if necessary.
[[nodiscard]] std::string WriteText(std::string_view text);
// Writes a duration in the largest unit that makes it a whole number: "5m", "250ms", "0s".
[[nodiscard]] std::string WriteSpan(Duration span);
// Writes the shortest text that is parsed as the same number.
[[nodiscard]] std::string WriteNumber(double number);
[[nodiscard]] std::string WriteNames(const std::vector<std::string>& names);
[[nodiscard]] std::string WriteCap(const CrawlCap& cap);
[[nodiscard]] std::string WriteRates(const std::map<std::string, double>& rates);
[[nodiscard]] std::string WriteTexts(const std::map<std::string, std::string>& texts);
[[nodiscard]] std::string WriteRules(const std::vector<HostRule>& rules);
[[nodiscard]] std::string WriteGroup(const GroupTerms& terms);

// Makes an InvalidArgument error: "'5' is not a KIND from LOW to HIGH".
[[nodiscard]] Status WrongRange(std::string_view value, std::string_view kind, std::string_view low,
                                std::string_view high);

[[nodiscard]] StatusOr<bool> ParseFlagValue(std::string_view text);
// Reads a rate in items a second, from limits::kLeastItemsPerSecond to limits::kMostItemsPerSecond;
// 0 = no limit.
[[nodiscard]] StatusOr<double> ParseItemRate(std::string_view text);
[[nodiscard]] Status CheckChoice(std::string_view text, const std::vector<std::string>& choices);
// Reads a list of names, and replaces the content of `names` with it. InvalidArgument begins with
// `key`.
[[nodiscard]] Status ReadNames(const std::string& key, const YAML::Node& node,
                               std::vector<std::string>* names);

// Reads a map from names to single values. `what` describes the map in errors: "sources to
// numbers". Calls `take` for each entry, and stops if `take` fails. InvalidArgument begins with the
// key at fault; a name must not occur twice.
[[nodiscard]] Status ReadScalars(
    const std::string& key, const YAML::Node& node, std::string_view what,
    const std::function<Status(const std::string& name, const std::string& text)>& take);
// The text of the error for a name that is not a log module.
[[nodiscard]] std::string WrongModule(std::string_view name);
// Reads a map from log modules to levels, like ReadNames.
[[nodiscard]] Status ReadLogLevels(const std::string& key, const YAML::Node& node,
                                   std::map<std::string, std::string>* levels);

// Reads a map from names to texts, like ReadNames.
[[nodiscard]] Status ReadTexts(const std::string& key, const YAML::Node& node,
                               std::map<std::string, std::string>* texts);

template <typename T>
void AssignCount(int64_t number, T* field) {
  *field = static_cast<T>(number);
}
template <typename T>
void AssignCount(int64_t number, Live<T>* field) {
  *field = static_cast<T>(number);
}
template <typename T>
int64_t CountOf(const T& field) {
  return static_cast<int64_t>(field);
}
template <typename T>
int64_t CountOf(const Live<T>& field) {
  return static_cast<int64_t>(field.get());
}

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_WRITTEN_H_
