#include "server/config_politeness.h"

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/base/url.h"
#include "core/base/wrong_value.h"
#include "server/base/limits.h"
#include "server/config_values.h"
#include "yaml-cpp/yaml.h"

namespace freshet {
namespace {

constexpr Duration kLongest = Duration::Days(366);

// Makes an error that names the key and its line.
Status At(const std::string& key, const YAML::Node& node, std::string_view what) {
  return InvalidArgument("{}: {} (line {})", key, what, node.Mark().line + 1);
}

Status At(const std::string& key, const YAML::Node& node, const Status& status) {
  return status.ok() ? status : At(key, node, std::string(status.message()));
}

StatusOr<Duration> ReadSpan(const std::string& text) {
  ASSIGN_OR_RETURN(const Duration span, ParseSpanValue(text));
  if (span >= Duration() && span <= kLongest) return span;
  return InvalidArgument("{}", WrongValue(text, "a duration from 0 to 366 days"));
}

StatusOr<uint32_t> ReadLimit(const std::string& text) {
  ASSIGN_OR_RETURN(const int64_t limit, ParseIntegerValue(text));
  if (limit >= 0 && limit <= UINT32_MAX) return static_cast<uint32_t>(limit);
  return InvalidArgument("{}",
                         WrongValue(text, fmt::format("a whole number from 0 to {}", UINT32_MAX)));
}

// Reads a host, and returns it in the form that canonical URLs use.
StatusOr<std::string> ReadHost(const std::string& text) {
  const StatusOr<CanonicalUrl> url = Canonicalise("http://" + text + "/");
  if (text.empty() || !url.ok()) return InvalidArgument("{}", WrongValue(text, "a host"));
  // Refuses a text that is more than a host, for example a URL or a host with a port.
  if (text.find_first_of("/?#@ ") != std::string::npos ||
      (text.find(':') != std::string::npos && text.front() != '[')) {
    return InvalidArgument("{}", WrongValue(text, "a host alone, without a scheme, port or path"));
  }
  return url->host;
}

StatusOr<std::string> ReadSuffix(const std::string& text) {
  ASSIGN_OR_RETURN(std::string host, ReadHost(text));
  if (host.front() == '[' || (host.back() >= '0' && host.back() <= '9')) {
    return InvalidArgument(
        "'{}' is an IP address, not a domain: give a domain, or list the address as a host", text);
  }
  if (text.front() == '.' || text.front() == '*') {
    return InvalidArgument(
        "'{}' is not a domain: give the name without '*' or a leading '.'; it covers all hosts "
        "below it",
        text);
  }
  return host;
}

using Reader = std::function<Status(const std::string& text)>;
using Readers = std::map<std::string, Reader>;

template <typename T, typename Target>
Reader Into(StatusOr<T> (*parse)(const std::string&), Target* target) {
  return [parse, target](const std::string& text) -> Status {
    ASSIGN_OR_RETURN(*target, parse(text));
    return absl::OkStatus();
  };
}

// Calls `read` once for each key of a map.
Status ReadMap(const std::string& key, const YAML::Node& node,
               const std::function<Status(const std::string& name, const YAML::Node&)>& read) {
  if (!node.IsMap()) return At(key, node, "is not a section, which has keys of its own");
  std::set<std::string> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) return At(key, entry.first, "has a key that is not a string");
    const std::string name = entry.first.Scalar();
    if (!seen.insert(name).second) return At(key + "." + name, entry.first, "is given twice");
    RETURN_IF_ERROR(read(name, entry.second));
  }
  return absl::OkStatus();
}

std::vector<std::string> NamesOf(const Readers& readers) {
  std::vector<std::string> names;
  for (const auto& [name, reader] : readers) names.push_back(name);
  return names;
}

Status ReadValue(const std::string& key, const YAML::Node& node, const Readers& readers,
                 const std::string& name) {
  const auto reader = readers.find(name);
  if (reader == readers.end())
    return At(key, node, "unknown key" + DidYouMean(name, NamesOf(readers)));
  if (!node.IsScalar()) return At(key, node, "is not a single value");
  return At(key, node, reader->second(node.Scalar()));
}

Status ReadHosts(const std::string& key, const YAML::Node& node, std::vector<std::string>* hosts) {
  if (!node.IsSequence()) return At(key, node, "is not a list");
  if (node.size() > limits::kMaxHostsPerRule) {
    return At(
        key, node,
        fmt::format("{} hosts are over the limit of {}", node.size(), limits::kMaxHostsPerRule));
  }
  for (const YAML::Node& host : node) {
    if (!host.IsScalar()) return At(key, host, "has an entry that is not a name");
    StatusOr<std::string> read = ReadHost(host.Scalar());
    if (!read.ok()) return At(key, host, read.status());
    hosts->push_back(*std::move(read));
  }
  return absl::OkStatus();
}

StatusOr<std::string> ReadName(const std::string& text) {
  RETURN_IF_ERROR(ValidateSourceName(text));
  return text;
}

Status ReadRule(const std::string& key, const YAML::Node& node, HostRule* rule) {
  const Readers readers = {
      {"name", Into(&ReadName, &rule->name)},
      {"suffix", Into(&ReadSuffix, &rule->suffix)},
      {"min_delay", Into(&ReadSpan, &rule->min_delay)},
      {"max_in_flight", Into(&ReadLimit, &rule->max_in_flight)},
      {"min_page_interval", Into(&ReadSpan, &rule->min_page_interval)},
      {"max_crawls",
       [rule](const std::string& text) -> Status {
         ASSIGN_OR_RETURN(rule->max_crawls, ParseCrawlCap(text));
         return absl::OkStatus();
       }},
      {"hours",
       [rule](const std::string& text) -> Status {
         ASSIGN_OR_RETURN(rule->hours, ParseDayHours(text));
         return absl::OkStatus();
       }},
  };
  RETURN_IF_ERROR(
      ReadMap(key, node, [&](const std::string& name, const YAML::Node& value) -> Status {
        const std::string its = key + "." + name;
        if (name == "hosts") return ReadHosts(its, value, &rule->hosts);
        if (name == "group") return ReadGroupTerms(its, value, &rule->group.emplace());
        return ReadValue(its, value, readers, name);
      }));
  return rule->name.empty() ? At(key + ".name", node, "is missing") : absl::OkStatus();
}

}  // namespace

Status ReadHostRules(const std::string& key, const YAML::Node& node, std::vector<HostRule>* rules) {
  rules->clear();
  if (node.IsNull()) return absl::OkStatus();
  if (!node.IsSequence()) return At(key, node, "is not a list");
  if (node.size() > limits::kMaxHostRules) {
    return At(key, node,
              fmt::format("{} rules are over the limit of {}", node.size(), limits::kMaxHostRules));
  }
  // After an error no rules are kept, because an incomplete rule would be reported as a second
  // error.
  std::vector<HostRule> read;
  for (size_t i = 0; i < node.size(); ++i) {
    RETURN_IF_ERROR(ReadRule(fmt::format("{}[{}]", key, i), node[i], &read.emplace_back()));
  }
  *rules = std::move(read);
  return absl::OkStatus();
}

Status ReadGroupTerms(const std::string& key, const YAML::Node& node, GroupTerms* terms) {
  *terms = GroupTerms();
  const Readers readers = {{"min_delay", Into(&ReadSpan, &terms->min_delay)},
                           {"max_in_flight", Into(&ReadLimit, &terms->max_in_flight)}};
  RETURN_IF_ERROR(ReadMap(key, node, [&](const std::string& name, const YAML::Node& value) {
    return ReadValue(key + "." + name, value, readers, name);
  }));
  return *terms == GroupTerms() ? At(key, node, "sets nothing") : absl::OkStatus();
}

}  // namespace freshet
