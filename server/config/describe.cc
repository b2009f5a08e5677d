#include "server/config/describe.h"

#include <algorithm>
#include <functional>
#include <sstream>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "server/config/written.h"

namespace freshet {
namespace {

constexpr size_t kWidth = 100;

// Whether operators can set the key at run time. The store keeps the value that they set, which
// overrides the configuration.
bool IsStored(const ConfigKey& key) {
  return key.name == "crawl_rate" || key.name == "policy" || key.name == "politeness.min_delay" ||
         key.name == "politeness.max_in_flight" || key.name == "politeness.min_page_interval" ||
         key.name == "sources";
}

std::string_view LocalName(const ConfigKey& key) {
  return key.section().empty() ? std::string_view(key.name)
                               : std::string_view(key.name).substr(key.section().size() + 1);
}

// Makes a YAML comment of the text, indented by `indent` spaces.
std::string Comment(const std::string& text, size_t indent) {
  std::istringstream words(text);
  std::string out;
  std::string line;
  std::string word;
  const std::string begin = std::string(indent, ' ') + "#";
  while (words >> word) {
    if (!line.empty() && begin.size() + line.size() + 1 + word.size() > kWidth) {
      out += begin + line + '\n';
      line.clear();
    }
    line += ' ' + word;
  }
  return line.empty() ? out : out + begin + line + '\n';
}

// Calls `begin` once for each section, and `each` for each of its keys, in order.
void ForSections(const std::function<void(std::string_view section)>& begin,
                 const std::function<void(const ConfigKey& key)>& each) {
  std::string_view section = "none yet";
  for (const ConfigKey& key : AllKeys()) {
    if (key.section() != section) begin(key.section());
    section = key.section();
    each(key);
  }
}

std::string SectionText(std::string_view name) {
  for (const ConfigSection& section : AllSections()) {
    if (section.name == name) return section.text;
  }
  return {};
}

std::string BoundText(const ConfigKey& key, double bound) {
  return key.type == KeyType::kSpan ? WriteSpan(Duration::FromSeconds(bound)) : WriteNumber(bound);
}

std::string RangeText(const ConfigKey& key) {
  if (!key.choices.empty()) return fmt::format("`{}`", fmt::join(key.choices, "`, `"));
  if (!key.low || !key.high) return {};
  const std::string range = BoundText(key, *key.low) + " to " + BoundText(key, *key.high);
  return key.or_zero ? "0, or " + range : range;
}

std::string_view TypeText(const ConfigKey& key) {
  switch (key.type) {
    case KeyType::kFlag:
      return "true or false";
    case KeyType::kInteger:
      return "whole number";
    case KeyType::kNumber:
      return "number a second";
    case KeyType::kShare:
      return "share";
    case KeyType::kSpan:
      return "duration";
    case KeyType::kChoice:
      return "one of";
    case KeyType::kCap:
      return "crawls in a span";
    case KeyType::kHours:
      return "hours of the day";
    case KeyType::kNames:
      return key.choices.empty() ? "list of names" : "list, of";
    case KeyType::kRates:
      return "map from names to numbers a second";
    case KeyType::kLevels:
      return "map from modules to levels, of";
    case KeyType::kTexts:
      return "map from names to texts";
    case KeyType::kRules:
      return "list of rules";
    case KeyType::kGroup:
      return "limits";
    case KeyType::kText:
      break;
  }
  return "text";
}

std::string DefaultText(const ConfigKey& key) {
  static const ServerConfig kDefaults;
  return key.write(kDefaults);
}

}  // namespace

std::string ConfigText(const LoadedConfig& loaded) {
  std::string out =
      "# What is in force, and where each value comes from. What operators have set at run time "
      "is in\n# the store, and wins over the values that say so: `freshet rate`, `freshet policy`, "
      "`freshet\n# politeness` and `freshet sources` show it.\n";
  std::string indent;
  ForSections(
      [&](std::string_view section) {
        if (!section.empty()) out += fmt::format("{}:\n", section);
        indent = section.empty() ? "" : "  ";
      },
      [&](const ConfigKey& key) {
        const std::string value = key.write(loaded.config);
        out += fmt::format("{}{}{}:{}{}  # {}{}\n", indent, value.empty() ? "# " : "",
                           LocalName(key), value.empty() ? "" : " ", value, loaded.OriginOf(key),
                           IsStored(key) ? "; what is set at run time wins" : "");
      });
  return out;
}

std::string ConfigExample() {
  std::string out =
      Comment(
          "Configuration of freshetd: `freshetd --config freshet.yaml`. Every key is shown with "
          "its default; leave out what you do not change. docs/configuration.md has ranges, "
          "variables of the environment and what a reload takes. Flags of the command line win "
          "over the environment, that over this file. Values that operators set at run time (crawl "
          "rate, policy, pause, sources, politeness of hosts) are stored and win over all.",
          0) +
      Comment(
          "Durations are numbers with a unit: us, ms, s, m, h or d; without one they are seconds.",
          0) +
      "# yaml-language-server: $schema=freshet.schema.json\n";
  size_t indent = 0;
  ForSections(
      [&](std::string_view section) {
        indent = section.empty() ? 0 : 2;
        out += '\n';
        if (section.empty()) return;
        out += Comment(SectionText(section), 0) + fmt::format("{}:\n", section);
      },
      [&](const ConfigKey& key) {
        const std::string value = DefaultText(key);
        out += Comment(key.text, indent);
        out += fmt::format("{}{}{}:{}{}\n", std::string(indent, ' '), value.empty() ? "# " : "",
                           LocalName(key), value.empty() ? "" : " ", value);
      });
  return out;
}

std::string ConfigReference() {
  std::string out =
      "# Configuration reference\n\n"
      "This page lists every key of `freshetd`. [Operations](operations.md#configuration) says how "
      "to check and change a configuration. This command makes the page, [the example "
      "file](../deploy/freshet.example.yaml) and [the schema for "
      "editors](../deploy/freshet.schema.json) from the server's [table of "
      "keys](../server/config/key.h):\n\n"
      "<!-- doctest: skip: writes this page -->\n\n"
      "    FRESHET_WRITE_GOLDEN=1 build/release/tests/server_config_test\n\n"
      "- A **duration** is a number with a unit: `us`, `ms`, `s`, `m`, `h` or `d`. A number "
      "without a unit is in seconds.\n"
      "- The column **takes effect** says when a change applies: at a *reload* (SIGHUP, `systemctl "
      "reload freshet`) or at the next *restart*.\n"
      "- **s** marks a key that you can also set while the server runs, by a command or in the "
      "console. The server stores this value, and it overrides all others.\n";
  ForSections(
      [&](std::string_view section) {
        out += fmt::format("\n## {}\n\n", section.empty() ? "Without a section" : section);
        if (const std::string text = SectionText(section); !text.empty()) out += text + "\n\n";
        out +=
            "| key | value | default | takes effect | environment, flag | what it does |\n"
            "|---|---|---|---|---|---|\n";
      },
      [&](const ConfigKey& key) {
        const std::string value = DefaultText(key);
        std::string names = key.environment().empty() ? "" : "`" + key.environment() + "`";
        if (!key.flag.empty()) names += ", `" + key.flag + "`";
        const std::string range = RangeText(key);
        out += fmt::format("| `{}`{} | {}{}{} | {} | {} | {} | {} |\n", key.name,
                           IsStored(key) ? " **s**" : "", TypeText(key), range.empty() ? "" : " ",
                           range, value.empty() ? "none" : "`" + value + "`",
                           key.effect == Effect::kReload ? "reload" : "restart", names, key.text);
      });
  return out;
}

}  // namespace freshet
