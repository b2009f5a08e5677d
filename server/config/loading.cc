#include "server/config/loading.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/base/wrong_value.h"
#include "fmt/format.h"
#include "server/base/limits.h"
#include "yaml-cpp/yaml.h"

namespace freshet {
namespace {

using Kind = ConfigOrigin::Kind;

int LineOf(const YAML::Node& node) { return node.Mark().line + 1; }

std::string_view KeyIn(std::string_view message) { return message.substr(0, message.find(": ")); }

// The names of all keys and sections.
std::vector<std::string> KnownNames() {
  std::set<std::string> names;
  for (const ConfigKey& key : AllKeys()) {
    names.insert(key.name);
    if (!key.section().empty()) names.insert(std::string(key.section()));
  }
  return {names.begin(), names.end()};
}

std::string Unknown(std::string_view what, const std::string& name,
                    const std::vector<std::string>& names) {
  return fmt::format("{}: {}{}", name, what, DidYouMean(name, names));
}

// Reads one file. Owner thread only.
class FileReader {
 public:
  explicit FileReader(LoadedConfig* loaded) : loaded_(*loaded) {}

  void ReadMap(const YAML::Node& map, const std::string& section) {
    std::set<std::string> seen;
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) {
        Fault(entry.first, fmt::format("{}: has a key that is not a string",
                                       section.empty() ? "config" : section));
        continue;
      }
      const std::string key = section + entry.first.Scalar();
      if (!seen.insert(key).second) {
        Fault(entry.first,
              fmt::format("{}: is given twice, again in line {}", key, LineOf(entry.first)));
        continue;
      }
      ReadEntry(key, section.empty(), entry.first, entry.second);
    }
  }

 private:
  void ReadEntry(const std::string& name, bool top, const YAML::Node& at, const YAML::Node& value) {
    if (top && IsSection(name)) {
      if (value.IsNull()) return;
      if (value.IsMap()) return ReadMap(value, name + ".");
      return Fault(at, name + ": is not a section, which has keys of its own");
    }
    // A name at the top of a file must have no dot: `limits.streams: 5` would set no key.
    const ConfigKey* key = name.find('.') != std::string::npos && top ? nullptr : FindKey(name);
    if (key == nullptr) return Fault(at, Unknown("unknown key", name, KnownNames()));
    if (key->scalar() && !value.IsScalar()) return Fault(at, name + ": is not a single value");
    const Status status = key->scalar() ? WithKey(name, key->set(value.Scalar(), &loaded_.config))
                                        : key->read(name, value, &loaded_.config);
    if (!status.ok()) return Fault(at, std::string(status.message()));
    loaded_.origins[name] = {.kind = Kind::kFile, .line = LineOf(at)};
  }

  void Fault(const YAML::Node& at, std::string text) {
    loaded_.problems.push_back({.text = std::move(text), .line = LineOf(at)});
  }

  LoadedConfig& loaded_;
};

void SetText(const ConfigKey& key, const std::string& text, ConfigOrigin origin,
             LoadedConfig* loaded) {
  const Status status = key.set(text, &loaded->config);
  if (status.ok()) {
    loaded->origins[key.name] = origin;
  } else {
    const std::string& name = origin.kind == Kind::kFlag ? key.flag : key.environment();
    loaded->problems.push_back({.text = std::string(WithKey(name, status).message())});
  }
}

// --- The environment

constexpr std::string_view kPrefix = "FRESHET_";

// Variables that begin with FRESHET_ but are not for the server: those of the client, of tests, and
// of tools that start servers.
constexpr std::array<std::string_view, 9> kOfOthers = {
    "FRESHET_SERVER",  "FRESHET_TOKEN",      "FRESHET_TOKEN_FILE",
    "FRESHET_TLS_CA",  "FRESHET_CONFIG",     "FRESHET_BIN",
    "FRESHET_BIN_DIR", "FRESHET_SOURCE_DIR", "FRESHET_CALLER_DIR"};

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Whether Kubernetes sets the variable in containers because a service is called freshet or
// freshet-something.
bool IsOfKubernetes(std::string_view name) {
  return EndsWith(name, "_SERVICE_HOST") || EndsWith(name, "_PORT") ||
         name.find("_SERVICE_PORT") != std::string_view::npos ||
         name.find("_TCP") != std::string_view::npos || name.find("_UDP") != std::string_view::npos;
}

const ConfigKey* KeyOfVariable(std::string_view name) {
  const auto it = std::find_if(AllKeys().begin(), AllKeys().end(),
                               [name](const ConfigKey& key) { return key.environment() == name; });
  return it == AllKeys().end() ? nullptr : &*it;
}

void LoadEnvironment(const Environment& environment, LoadedConfig* loaded) {
  for (const auto& [name, value] : environment) {
    if (name.compare(0, kPrefix.size(), kPrefix) != 0) continue;
    if (const ConfigKey* key = KeyOfVariable(name); key != nullptr) {
      SetText(*key, value, {.kind = Kind::kEnvironment}, loaded);
      continue;
    }
    const bool of_others = std::find(kOfOthers.begin(), kOfOthers.end(), name) != kOfOthers.end();
    if (of_others || IsOfKubernetes(name)) continue;
    std::vector<std::string> names;
    for (const ConfigKey& key : AllKeys()) {
      if (key.scalar()) names.push_back(key.environment());
    }
    // A variable whose name resembles no key is assumed to belong to another program.
    if (DidYouMean(name, names).empty()) continue;
    loaded->problems.push_back({.text = Unknown("unknown variable", name, names)});
  }
}

// --- The command line

void LoadFlags(const CommandLine& line, LoadedConfig* loaded) {
  const auto set = [loaded](std::string_view name, const std::optional<std::string>& text) {
    if (text) SetText(*FindKey(name), *text, {.kind = Kind::kFlag}, loaded);
  };
  set("data_dir", line.data_dir);
  set("listen", line.listen);
  set("http_listen", line.http_listen);
  if (line.crawl_rate) set("crawl_rate", fmt::format("{}", *line.crawl_rate));
  set("policy", line.policy);
  set("durability", line.durability);
  if (line.shards) set("shards", fmt::format("{}", *line.shards));
  set("log_level", line.log_level);
  set("log_format", line.log_format);
  set("tls.certificate", line.tls_certificate);
  set("tls.key", line.tls_key);
  set("tls.client_ca", line.tls_client_ca);
  set("auth.file", line.auth_file);
  if (line.insecure) set("insecure", "true");
}

// Adds a problem that begins with a key. If the file sets the key, the problem gets the line. If a
// flag or a variable sets it, the name of the flag or variable replaces the key.
void AddProblemOfKey(std::string text, LoadedConfig* loaded) {
  const std::string_view name = KeyIn(text);
  const auto it = loaded->origins.find(std::string(name));
  const Kind kind = it == loaded->origins.end() ? Kind::kDefault : it->second.kind;
  const int line = kind == Kind::kFile ? it->second.line : 0;
  if (kind == Kind::kFlag || kind == Kind::kEnvironment) {
    text.replace(0, name.size(), loaded->OriginOf(*FindKey(it->first)));
  }
  loaded->problems.push_back({.text = std::move(text), .line = line});
}

}  // namespace

Environment ProcessEnvironment() {
  Environment all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    all.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::sort(all.begin(), all.end());
  return all;
}

Status LoadedConfig::status() const {
  if (problems.empty()) return absl::OkStatus();
  const std::string& text = problems.front().text;
  if (problems.size() == 1) return InvalidArgument("{}", text);
  return InvalidArgument("{} (and {} more: --check-config names all)", text, problems.size() - 1);
}

std::string LoadedConfig::OriginOf(const ConfigKey& key) const {
  const auto it = origins.find(key.name);
  if (it == origins.end()) return "default";
  switch (it->second.kind) {
    case Kind::kFile:
      return fmt::format("{}:{}", file, it->second.line);
    case Kind::kEnvironment:
      return key.environment();
    case Kind::kFlag:
      return key.flag;
    case Kind::kDefault:
      break;
  }
  return "default";
}

std::string LoadedConfig::Describe(const ConfigProblem& problem) const {
  if (problem.line == 0 || file.empty()) return problem.text;
  return fmt::format("{}:{}: {}", file, problem.line, problem.text);
}

void LoadYaml(std::string_view yaml, LoadedConfig* loaded) {
  const auto fault = [loaded](std::string text, int line) {
    loaded->problems.push_back({.text = std::move(text), .line = line});
  };
  if (yaml.size() > limits::kMaxConfigBytes) {
    return fault(fmt::format("config: is over the limit of {} bytes", limits::kMaxConfigBytes), 0);
  }
  try {
    if (const Status shape = CheckYamlShape(yaml); !shape.ok()) {
      return fault("config: " + std::string(shape.message()), 0);
    }
    const YAML::Node root = YAML::Load(std::string(yaml));
    if (root.IsNull()) return;
    if (!root.IsMap()) return fault("config: must be a map of keys to values", LineOf(root));
    FileReader(loaded).ReadMap(root, "");
  } catch (const YAML::Exception& error) {
    fault(fmt::format("config: {}", error.what()), error.mark.line + 1);
  }
}

LoadedConfig LoadConfig(const CommandLine& line, const Environment& environment) {
  LoadedConfig loaded;
  if (line.config_file) {
    loaded.file = *line.config_file;
    const StatusOr<std::string> yaml = ReadSettingsFile(loaded.file, limits::kMaxConfigBytes);
    if (yaml.ok()) {
      LoadYaml(*yaml, &loaded);
    } else {
      loaded.problems.push_back({.text = "config: " + std::string(yaml.status().message())});
    }
  }
  LoadEnvironment(environment, &loaded);
  LoadFlags(line, &loaded);
  for (const Status& problem : ProblemsOf(loaded.config)) {
    AddProblemOfKey(std::string(problem.message()), &loaded);
  }
  return loaded;
}

}  // namespace freshet
