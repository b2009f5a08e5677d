#include "server/config.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <sstream>
#include <system_error>

#include "server/config/loading.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/yaml.h"

namespace freshet {
namespace {

// Checks the structure of YAML text before the text is loaded. Refuses aliases, because a few
// aliases can expand to any number of nodes, or refer to themselves. Owner thread only.
class Shape final : public YAML::EventHandler {
 public:
  [[nodiscard]] bool has_aliases() const { return has_aliases_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override { has_aliases_ = true; }
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  bool has_aliases_ = false;
};

}  // namespace

Status WithKey(std::string_view key, const Status& status) {
  if (status.ok()) return status;
  return MakeStatus(status.code(), "{}: {}", key, std::string(status.message()));
}

Status CheckYamlShape(std::string_view yaml) {
  std::istringstream text{std::string(yaml)};
  YAML::Parser parser(text);
  Shape shape;
  if (!parser.HandleNextDocument(shape)) return absl::OkStatus();
  if (shape.has_aliases())
    return InvalidArgument("has a YAML alias (*): write the value itself instead");
  // YAML::Load would take the first document and silently drop the rest.
  if (parser.HandleNextDocument(shape)) {
    return InvalidArgument("has more than one document");
  }
  return absl::OkStatus();
}

StatusOr<std::string> ReadSettingsFile(const std::string& path, size_t most) {
  // O_NONBLOCK: opening a named pipe would wait for a writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      descriptor < 0 ? nullptr : fdopen(descriptor, "rb"), &std::fclose);
  if (file == nullptr) {
    return NotFound("cannot open {}: {}", path, std::generic_category().message(errno));
  }
  struct stat kind {};
  if (fstat(descriptor, &kind) != 0 || !S_ISREG(kind.st_mode)) {
    return NotFound("cannot read {}: it is no regular file", path);
  }
  std::string text(most + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) {
    return NotFound("cannot read {}: {}", path, std::generic_category().message(errno));
  }
  return text;
}

Status ApplyYaml(std::string_view yaml, ServerConfig* config) {
  LoadedConfig loaded;
  loaded.config = *config;
  LoadYaml(yaml, &loaded);
  *config = loaded.config;
  return loaded.problems.empty() ? absl::OkStatus()
                                 : InvalidArgument("{}", loaded.problems.front().text);
}

Status Validate(const ServerConfig& config) {
  const std::vector<Status> problems = ProblemsOf(config);
  return problems.empty() ? absl::OkStatus() : problems.front();
}

StatusOr<ServerConfig> MakeConfig(const CommandLine& line) {
  LoadedConfig loaded = LoadConfig(line, {});
  RETURN_IF_ERROR(loaded.status());
  return std::move(loaded.config);
}

}  // namespace freshet
