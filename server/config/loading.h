// Makes a configuration of a file, the environment and the command line, and says where each value
// has come from and everything that is wrong.
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

// Value type, thread-compatible.
struct ConfigOrigin {
  enum class Kind { kDefault, kFile, kEnvironment, kFlag };
  Kind kind = Kind::kDefault;
  int line = 0;  // of the file
};

// Value type, thread-compatible.
struct ConfigProblem {
  std::string text;  // begins with the key at fault, or `config`
  int line = 0;      // of the file; 0: it is not of one line
};

// Value type, thread-compatible.
struct LoadedConfig {
  ServerConfig config;
  std::string file;  // its path; empty: there is none
  std::map<std::string, ConfigOrigin, std::less<>>
      origins;  // by key; those that are not here: kDefault
  std::vector<ConfigProblem> problems;

  // The first problem, and how many more there are; OK if there is none.
  [[nodiscard]] Status status() const;
  // Where a key is from, for people: "default", "freshet.yaml:12", "FRESHET_SHARDS", "--shards".
  [[nodiscard]] std::string OriginOf(const ConfigKey& key) const;
  // With file and line in front.
  [[nodiscard]] std::string Describe(const ConfigProblem& problem) const;
};

// All functions are thread-safe.

// Names and values of variables, all of them.
using Environment = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] Environment ProcessEnvironment();

// Flags win over the environment, that over the file, the file over the defaults. Variables that
// begin with FRESHET_ and are neither a key nor those of the client, or made by Kubernetes for a
// service of this name, are problems.
[[nodiscard]] LoadedConfig LoadConfig(const CommandLine& line, const Environment& environment);

// Applies YAML text on top of what is loaded. What is wrong is left out and said.
void LoadYaml(std::string_view yaml, LoadedConfig* loaded);

// Everything that is wrong with a configuration, each with its key in front.
[[nodiscard]] std::vector<Status> ProblemsOf(const ServerConfig& config);

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_LOADING_H_
