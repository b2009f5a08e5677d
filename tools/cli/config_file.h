// The settings file of the client, for what one would else say with every command.
#ifndef FRESHET_TOOLS_CLI_CONFIG_FILE_H_
#define FRESHET_TOOLS_CLI_CONFIG_FILE_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tools/cli/session.h"

namespace freshet::cli {

// What a settings file says; what it does not say is unset or empty. Value type,
// thread-compatible.
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

// freshet/config.yaml in XDG_CONFIG_HOME, else in .config of HOME; a variable that is unset, empty
// or no absolute path counts as unset. Empty if both are.
[[nodiscard]] std::string DefaultConfigPath();

// Reads a settings file of up to 64 KiB. Its keys are `server`, `json`, `token`, `token_file` and
// `tls`, which is true, false or has the keys `ca`, `certificate` and `key`. Paths that do not
// begin with `/` are of the folder of the file, those with `~/` of HOME.
//   NotFound: there is no such file. InvalidArgument names the file and the key that is unknown,
//   there twice or of a wrong value, never a token. A file with a `token` that others than its
//   owner may read is refused.
[[nodiscard]] absl::StatusOr<ConfigFile> ReadConfigFile(const std::string& path);

// Adds --config to the program. `path` outlives `app`.
void AddConfigOption(CLI::App& app, std::string& path);

// Once `app` has parsed a command line: puts into `settings` what the settings file says and
// neither flags nor the environment do. Who is told by them what certificate or token to use, takes
// none of these from the file. Without --config a file that does not exist is as an empty one, and
// with an empty one none is read. Fails as ReadConfigFile.
[[nodiscard]] absl::Status TakeConfig(const CLI::App& app, const std::string& path,
                                      Settings& settings);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_CONFIG_FILE_H_
