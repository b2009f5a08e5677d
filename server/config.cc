#include "server/config.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
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

// How often the writer of a pipe may pause, and for how long.
constexpr int kPauses = 5;
constexpr int kPauseMillis = 2000;

// Reads up to `most` + 1 bytes. Not OK: NotFound, with the reason.
StatusOr<std::string> ReadAll(int file, size_t most) {
  std::string text(most + 1, '\0');
  size_t size = 0;
  int pauses = 0;
  while (size < text.size()) {
    // A regular file is always readable.
    pollfd readable = {.fd = file, .events = POLLIN, .revents = 0};
    const bool waits = poll(&readable, 1, 0) == 0;
    if (waits && (++pauses > kPauses || poll(&readable, 1, kPauseMillis) == 0)) {
      return NotFound("it is a pipe whose writer takes too long");
    }
    const ssize_t got = read(file, text.data() + size, text.size() - size);
    if (got == 0) break;
    if (got > 0) {
      size += static_cast<size_t>(got);
    } else if (errno != EAGAIN && errno != EINTR) {
      return NotFound("{}", std::generic_category().message(errno));
    }
  }
  text.resize(size);
  return text;
}

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
  // O_NONBLOCK: opening a named pipe would wait for its writer.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return NotFound("cannot open {}: {}", path, std::generic_category().message(errno));
  }
  StatusOr<std::string> text = ReadAll(file, most);
  close(file);
  if (text.ok()) return text;
  return NotFound("cannot read {}: {}", path, std::string(text.status().message()));
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
