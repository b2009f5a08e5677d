// The settings file of the client: options that need not be repeated with every command.
#ifndef FRESHET_TOOLS_CLI_CONFIG_FILE_H_
#define FRESHET_TOOLS_CLI_CONFIG_FILE_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tools/cli/session.h"

namespace freshet::cli {

// The content of a settings file; missing keys are unset or empty. Value type, thread-compatible.
struct ConfigFile {
  std::optional<std::string> server;
  std::optional<bool> json;
  std::optional<bool> tls;
  std::string ca;
  std::string certificate;
  std::string key;
  std::string token_file;
  std::string token;
};

// Returns freshet/config.yaml in XDG_CONFIG_HOME, else in .config of HOME; ignores a variable that
// is not an absolute path. Empty if both are ignored.
[[nodiscard]] std::string DefaultConfigPath();

// Reads a settings file of up to 64 KiB. Its keys are `server`, `json`, `token`, `token_file` and
// `tls`, which is true, false or has the keys `ca`, `certificate` and `key`. Paths start in the
// folder of the file unless they begin with `/`; `~/` means HOME.
//   NotFound: there is no such file. InvalidArgument names the file and a key that is unknown,
//   repeated or has a wrong value, never a token. A file with a `token` that users other than its
//   owner may read is refused.
[[nodiscard]] absl::StatusOr<ConfigFile> ReadConfigFile(const std::string& path);

// Adds --config to the program. `path` outlives `app`.
void AddConfigOption(CLI::App& app, std::string& path);

// Call after `app` has parsed a command line: takes settings from the file that neither flags nor
// the environment give. Their certificate or token replaces all security settings of the file.
// Without --config a missing file counts as empty; with an empty --config none is read. Errors:
// those of ReadConfigFile.
[[nodiscard]] absl::Status TakeConfig(const CLI::App& app, const std::string& path,
                                      Settings& settings);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_CONFIG_FILE_H_
