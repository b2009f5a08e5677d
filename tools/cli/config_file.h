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

// Returns freshet/config.yaml in the directory XDG_CONFIG_HOME, or in .config below HOME. Ignores a
// variable that is not an absolute path. Empty if both variables are ignored.
[[nodiscard]] std::string DefaultConfigPath();

// Reads a settings file of up to 64 KiB. Its keys are `server`, `json`, `token`, `token_file` and
// `tls`. The value of `tls` is true, false, or a map with the keys `ca`, `certificate` and `key`.
// Paths are relative to the directory of the file unless they begin with `/`; `~/` means HOME.
// NotFound: there is no such file. InvalidArgument: a key is unknown, repeated or has a wrong
// value, or the file has a `token` and other users can read it. The message names the file and the
// key, but never shows a token.
[[nodiscard]] absl::StatusOr<ConfigFile> ReadConfigFile(const std::string& path);

// Adds --config to the program. `path` outlives `app`.
void AddConfigOption(CLI::App& app, std::string& path);

// Must be called after `app` has parsed a command line. Takes from the file the settings that
// neither flags nor the environment give. If flags or the environment give a certificate or a
// token, all security settings of the file are ignored. Without --config, a missing file counts as
// empty. With an empty --config, no file is read. Errors: those of ReadConfigFile.
[[nodiscard]] absl::Status TakeConfig(const CLI::App& app, const std::string& path,
                                      Settings& settings);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_CONFIG_FILE_H_
