#include "tools/cli/config_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/wrong_value.h"
#include "tools/cli/parse.h"

namespace freshet::cli {
namespace {

constexpr size_t kMaxFileBytes = 64 << 10;
constexpr size_t kMaxTokenBytes = 4096;

absl::Status Wrong(std::string_view key, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", key, what));
}

// Returns the absolute path in an environment variable, or an empty string.
std::string AbsolutePathIn(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

// The text of a file, and whether other users can read the file.
struct FileText {
  std::string text;
  bool shared = false;
};

absl::StatusOr<FileText> ReadText(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    const std::string reason = std::strerror(errno);
    if (errno == ENOENT || errno == ENOTDIR) return absl::NotFoundError(reason);
    return absl::InvalidArgumentError(reason);
  }
  FileText read;
  struct stat status {};
  read.shared = fstat(file, &status) != 0 || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  read.text.resize(kMaxFileBytes + 1);
  size_t size = 0;
  ssize_t more = 0;
  while (size < read.text.size() &&
         (more = ::read(file, read.text.data() + size, read.text.size() - size)) > 0) {
    size += static_cast<size_t>(more);
  }
  const int error = errno;
  close(file);
  if (more < 0) return absl::InvalidArgumentError(std::strerror(error));
  if (size > kMaxFileBytes) return absl::InvalidArgumentError("larger than 64 KiB");
  read.text.resize(size);
  return read;
}

// Reads the keys of one map into a ConfigFile. Owner thread only.
class Reader {
 public:
  Reader(std::string folder, ConfigFile* out) : folder_(std::move(folder)), out_(*out) {}

  // `prefix` precedes the names of keys: empty, or `tls.`.
  absl::Status Read(const YAML::Node& map, const std::string& prefix) {
    std::set<std::string> seen;
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) return Wrong("a key", "is not a string");
      const std::string key = prefix + entry.first.Scalar();
      if (!seen.insert(key).second) return Wrong(key, "is there twice");
      const absl::Status status = Take(key, entry.second);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Take(const std::string& key, const YAML::Node& value) {
    if (key == "tls" && value.IsMap()) return Read(value, "tls.");
    std::string* text = TextOf(key);
    if (text == nullptr && key != "server" && key != "json" && key != "tls") {
      static const std::vector<std::string> kKeys = {
          "server", "json", "tls", "tls.ca", "tls.certificate", "tls.key", "token", "token_file"};
      return Wrong(key, "unknown key" + DidYouMean(key, kKeys));
    }
    if (!value.IsScalar() || value.Scalar().empty()) {
      return Wrong(key, key == "tls" ? "is not true, false or a map" : "is not a string");
    }
    const std::string& scalar = value.Scalar();
    if (key == "json") return TakeFlag(key, scalar, &out_.json);
    if (key == "tls") return TakeFlag(key, scalar, &out_.tls);
    if (key == "server") {
      const std::string wrong = CheckServerAddress(scalar);
      if (!wrong.empty()) return Wrong(key, wrong);
      out_.server = scalar;
    } else if (key == "token") {
      return TakeToken(scalar);
    } else {
      *text = PathOf(scalar);
    }
    return absl::OkStatus();
  }

  std::string* TextOf(std::string_view key) {
    for (const auto& [name, text] : {std::pair{"tls.ca", &out_.ca},
                                     {"tls.certificate", &out_.certificate},
                                     {"tls.key", &out_.key},
                                     {"token_file", &out_.token_file},
                                     {"token", &out_.token}}) {
      if (key == name) return text;
    }
    return nullptr;
  }

  static absl::Status TakeFlag(const std::string& key, const std::string& text,
                               std::optional<bool>* flag) {
    if (text != "true" && text != "false") {
      return Wrong(key, WrongChoice(text, {"true", "false"}));
    }
    *flag = text == "true";
    return absl::OkStatus();
  }

  absl::Status TakeToken(const std::string& token) {
    const bool fits =
        token.size() <= kMaxTokenBytes &&
        std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
    if (!fits) return Wrong("token", "holds something that is not a token");
    out_.token = token;
    return absl::OkStatus();
  }

  [[nodiscard]] std::string PathOf(const std::string& path) const {
    if (path.starts_with("/")) return path;
    if (path.starts_with("~/")) return AbsolutePathIn("HOME") + path.substr(1);
    return folder_ + path;
  }

  const std::string folder_;
  ConfigFile& out_;
};

absl::StatusOr<ConfigFile> Parse(const FileText& file, const std::string& folder) {
  ConfigFile config;
  try {
    const YAML::Node root = YAML::Load(file.text);
    if (!root.IsMap() && !root.IsNull()) return absl::InvalidArgumentError("is not a map of keys");
    const absl::Status status = Reader(folder, &config).Read(root, "");
    if (!status.ok()) return status;
  } catch (const YAML::Exception& error) {
    return Wrong(fmt::format("line {}", error.mark.line + 1), error.msg);
  }
  if (!config.token.empty() && !config.token_file.empty()) {
    return Wrong("token", "goes with no token_file: one of them says who one is");
  }
  if (!config.token.empty() && file.shared) {
    return Wrong("token", "others may read the file: chmod 600");
  }
  if (config.certificate.empty() != config.key.empty()) {
    return Wrong("tls", "certificate and key go together");
  }
  return config;
}

// Whether a flag or its variable sets an option.
bool Given(const CLI::App& app, const char* name) { return app.get_option(name)->count() > 0; }

void TakeIdentity(const CLI::App& app, ConfigFile config, ClientSecurity& security) {
  if (!Given(app, "--tls")) security.tls = config.tls.value_or(false);
  if (!Given(app, "--tls-ca")) security.ca = std::move(config.ca);
  if (!Given(app, "--tls-certificate") && !Given(app, "--tls-key")) {
    security.certificate = std::move(config.certificate);
    security.key = std::move(config.key);
  }
  if (!Given(app, "--token-file") && security.token.empty()) {
    security.token_file = std::move(config.token_file);
    security.token = std::move(config.token);
  }
}

}  // namespace

std::string DefaultConfigPath() {
  const std::string folder = AbsolutePathIn("XDG_CONFIG_HOME");
  if (!folder.empty()) return folder + "/freshet/config.yaml";
  const std::string home = AbsolutePathIn("HOME");
  return home.empty() ? "" : home + "/.config/freshet/config.yaml";
}

absl::StatusOr<ConfigFile> ReadConfigFile(const std::string& path) {
  const absl::StatusOr<FileText> file = ReadText(path);
  absl::StatusOr<ConfigFile> config =
      file.ok() ? Parse(*file, path.substr(0, path.rfind('/') + 1)) : file.status();
  if (config.ok()) return config;
  const absl::string_view reason = config.status().message();
  return absl::Status(config.status().code(),
                      fmt::format("{}: {}", path, std::string_view(reason.data(), reason.size())));
}

void AddConfigOption(CLI::App& app, std::string& path) {
  app.add_option("--config", path,
                 "Settings file (default ~/.config/freshet/config.yaml); '' reads none")
      ->envname("FRESHET_CONFIG");
}

absl::Status TakeConfig(const CLI::App& app, const std::string& path, Settings& settings) {
  const bool named = Given(app, "--config");
  const std::string file = named ? path : DefaultConfigPath();
  if (file.empty()) return absl::OkStatus();
  absl::StatusOr<ConfigFile> config = ReadConfigFile(file);
  if (!config.ok()) {
    return absl::IsNotFound(config.status()) && !named ? absl::OkStatus() : config.status();
  }
  if (config->server && !Given(app, "--server")) settings.server = *config->server;
  if (config->json && !Given(app, "--json")) settings.json = *config->json;
  TakeIdentity(app, *std::move(config), settings.security);
  return absl::OkStatus();
}

}  // namespace freshet::cli
