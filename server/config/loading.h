// Loads a configuration from a file, the environment and the command line. Reports the origin of
// each value, and all faults.
#ifndef FRESHET_SERVER_CONFIG_LOADING_H_
#define FRESHET_SERVER_CONFIG_LOADING_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "server/config.h"
#include "server/config/key.h"

namespace freshet {

// The origin of a value. Value type, thread-compatible.
struct ConfigOrigin {
  enum class Kind { kDefault, kFile, kEnvironment, kFlag };
  Kind kind = Kind::kDefault;
  int line = 0;  // line of the file; 0 = the value is not from a file
};

// A fault of a configuration. Value type, thread-compatible.
struct ConfigProblem {
  std::string text;  // begins with the key at fault, or `config`
  int line = 0;      // line of the file; 0 = no single line
};

// A configuration with the origins of its values. Value type, thread-compatible.
struct LoadedConfig {
  ServerConfig config;
  std::string file;  // its path; empty = none
  std::map<std::string, ConfigOrigin, std::less<>>
      origins;  // by key; keys that are not here have kDefault
  std::vector<ConfigProblem> problems;

  // The first problem, and the number of further problems; OK = none.
  [[nodiscard]] Status status() const;
  // The origin of a key, for people: "default", "freshet.yaml:12", "FRESHET_SHARDS", "--shards".
  [[nodiscard]] std::string OriginOf(const ConfigKey& key) const;
  // The problem, preceded by its file and line.
  [[nodiscard]] std::string Describe(const ConfigProblem& problem) const;
};

// All functions are thread-safe.

// The names and values of environment variables.
using Environment = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] Environment ProcessEnvironment();

// Loads a configuration. Flags override the environment, the environment overrides the file, and
// the file overrides the defaults. A variable is a problem if its name begins with FRESHET_ and
// resembles a key, but is none. Variables of Freshet's other programs, and variables that
// Kubernetes sets for a service called freshet, are ignored.
[[nodiscard]] LoadedConfig LoadConfig(const CommandLine& line, const Environment& environment);

// Applies YAML text to a configuration that is already loaded. Skips faulty values, and adds them
// to the problems.
void LoadYaml(std::string_view yaml, LoadedConfig* loaded);

// Finds all faults of a configuration; each begins with its key.
[[nodiscard]] std::vector<Status> ProblemsOf(const ServerConfig& config);

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_LOADING_H_
