#include "server/config/written.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/base/day_hours.h"
#include "core/base/wrong_value.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "server/base/limits.h"
#include "server/config_values.h"
#include "server/logs/loggers.h"
#include "yaml-cpp/yaml.h"

namespace freshet {
namespace {

template <typename Value, typename Write>
std::string WriteMap(const std::map<std::string, Value>& map, const Write& write) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : map) entries.push_back(WriteText(name) + ": " + write(value));
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

std::string WriteGroupEntries(const GroupTerms& terms) {
  std::vector<std::string> entries;
  if (terms.min_delay != Duration()) entries.push_back("min_delay: " + WriteSpan(terms.min_delay));
  if (terms.max_in_flight != 0) {
    entries.push_back(fmt::format("max_in_flight: {}", terms.max_in_flight));
  }
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

std::string WriteRule(const HostRule& rule) {
  std::vector<std::string> entries = {"name: " + WriteText(rule.name)};
  if (!rule.hosts.empty()) entries.push_back("hosts: " + WriteNames(rule.hosts));
  if (!rule.suffix.empty()) entries.push_back("suffix: " + WriteText(rule.suffix));
  if (rule.min_delay) entries.push_back("min_delay: " + WriteSpan(*rule.min_delay));
  if (rule.max_in_flight) entries.push_back(fmt::format("max_in_flight: {}", *rule.max_in_flight));
  if (rule.min_page_interval) {
    entries.push_back("min_page_interval: " + WriteSpan(*rule.min_page_interval));
  }
  if (rule.max_crawls) entries.push_back("max_crawls: " + WriteCap(*rule.max_crawls));
  if (rule.hours) entries.push_back("hours: " + WriteText(DayHoursText(*rule.hours)));
  if (rule.group) entries.push_back("group: " + WriteGroupEntries(*rule.group));
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

}  // namespace

std::string WriteText(std::string_view text) {
  YAML::Emitter out;
  // Words that YAML would not read as strings.
  static constexpr std::array<std::string_view, 8> kWords = {"true", "false", "yes",  "no",
                                                             "on",   "off",   "null", "~"};
  const bool plain = !text.empty() && std::find(kWords.begin(), kWords.end(), text) == kWords.end();
  const bool number = plain && ParseNumberValue(text).ok();
  if (!plain || number) out << YAML::DoubleQuoted;
  out << YAML::Flow << std::string(text);
  return out.c_str();
}

std::string WriteSpan(Duration span) {
  struct Unit {
    int64_t micros;
    std::string_view name;
  };
  static constexpr std::array<Unit, 6> kUnits = {{{86'400'000'000, "d"},
                                                  {3'600'000'000, "h"},
                                                  {60'000'000, "m"},
                                                  {1'000'000, "s"},
                                                  {1000, "ms"},
                                                  {1, "us"}}};
  if (span == Duration()) return "0s";
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(), [span](const Unit& each) {
    return span.micros() % each.micros == 0;
  });
  return fmt::format("{}{}", span.micros() / unit->micros, unit->name);
}

std::string WriteNumber(double number) { return fmt::format("{}", number); }

std::string WriteNames(const std::vector<std::string>& names) {
  std::vector<std::string> written;
  for (const std::string& name : names) written.push_back(WriteText(name));
  return fmt::format("[{}]", fmt::join(written, ", "));
}

std::string WriteCap(const CrawlCap& cap) {
  return cap.count == 0 ? "0" : fmt::format("{}/{}", cap.count, WriteSpan(cap.per));
}

std::string WriteRates(const std::map<std::string, double>& rates) {
  return WriteMap(rates, WriteNumber);
}

std::string WriteTexts(const std::map<std::string, std::string>& texts) {
  return WriteMap(texts, WriteText);
}

std::string WriteRules(const std::vector<HostRule>& rules) {
  std::vector<std::string> written;
  for (const HostRule& rule : rules) written.push_back(WriteRule(rule));
  return fmt::format("[{}]", fmt::join(written, ", "));
}

std::string WriteGroup(const GroupTerms& terms) {
  return terms == GroupTerms() ? "" : WriteGroupEntries(terms);
}

Status WrongRange(std::string_view value, std::string_view kind, std::string_view low,
                  std::string_view high) {
  return InvalidArgument("{}",
                         WrongValue(value, fmt::format("a {} from {} to {}", kind, low, high)));
}

StatusOr<bool> ParseFlagValue(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return InvalidArgument("{}", WrongChoice(text, {"true", "false"}));
}

StatusOr<double> ParseItemRate(std::string_view text) {
  ASSIGN_OR_RETURN(const double rate, ParseNumberValue(text));
  const bool some = rate >= limits::kLeastItemsPerSecond && rate <= limits::kMostItemsPerSecond;
  if (rate != 0 && !some) {
    return InvalidArgument("{}", WrongValue(text, fmt::format("a number from {:g} to {:g}, or 0",
                                                              limits::kLeastItemsPerSecond,
                                                              limits::kMostItemsPerSecond)));
  }
  return rate;
}

Status CheckChoice(std::string_view text, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return absl::OkStatus();
  return InvalidArgument("{}", WrongChoice(text, choices));
}

Status ReadNames(const std::string& key, const YAML::Node& node, std::vector<std::string>* names) {
  if (!node.IsSequence()) return InvalidArgument("{}: is not a list", key);
  names->clear();
  for (const YAML::Node& name : node) {
    if (!name.IsScalar()) return InvalidArgument("{}: has an entry that is not a name", key);
    names->push_back(name.Scalar());
  }
  return absl::OkStatus();
}

Status ReadScalars(
    const std::string& key, const YAML::Node& node, std::string_view what,
    const std::function<Status(const std::string& name, const std::string& text)>& take) {
  if (node.IsNull()) return absl::OkStatus();
  const Status other = InvalidArgument("{}: must be a map from {}", key, what);
  if (!node.IsMap()) return other;
  std::set<std::string> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar() || !entry.second.IsScalar()) return other;
    const std::string& name = entry.first.Scalar();
    RETURN_IF_ERROR(take(name, entry.second.Scalar()));
    if (!seen.insert(name).second) return InvalidArgument("{}.{}: is given twice", key, name);
  }
  return absl::OkStatus();
}

std::string WrongModule(std::string_view name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < kLogModules; ++i) names.emplace_back(NameOf(static_cast<LogModule>(i)));
  return WrongName(name, "a module of the log", names);
}

Status ReadLogLevels(const std::string& key, const YAML::Node& node,
                     std::map<std::string, std::string>* levels) {
  levels->clear();
  return ReadScalars(
      key, node, "modules to levels",
      [&](const std::string& module, const std::string& level) -> Status {
        if (!LogModuleNamed(module)) return InvalidArgument("{}: {}", key, WrongModule(module));
        RETURN_IF_ERROR(WithKey(key + "." + module, CheckChoice(level, LogLevelNames())));
        levels->try_emplace(module, level);
        return absl::OkStatus();
      });
}

Status ReadTexts(const std::string& key, const YAML::Node& node,
                 std::map<std::string, std::string>* texts) {
  texts->clear();
  return ReadScalars(key, node, "names to texts",
                     [&](const std::string& name, const std::string& text) {
                       texts->try_emplace(name, text);
                       return absl::OkStatus();
                     });
}

}  // namespace freshet
