#include "tools/cli/transfer/resume_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "fmt/format.h"

namespace freshet::cli {
namespace {

using nlohmann::json;

constexpr int kStateVersion = 1;
constexpr size_t kMaxStateBytes = 64 << 10;

absl::Status FileError(const std::string& path, int error) {
  return absl::InvalidArgumentError(
      fmt::format("{}: {}", path, std::generic_category().message(error)));
}

// Reads the JSON object in a file of this kind; nullopt = there is no file.
absl::StatusOr<std::optional<json>> Load(const std::string& path, const char* kind) {
  // Without O_NONBLOCK, opening a pipe would block.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 && errno == ENOENT) return std::nullopt;
  if (file < 0) return FileError(path, errno);
  struct stat status {};
  const bool plain = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  std::string text(kMaxStateBytes, '\0');
  const ssize_t length = plain ? read(file, text.data(), text.size()) : 0;
  text.resize(static_cast<size_t>(std::max<ssize_t>(length, 0)));
  close(file);
  json object = json::parse(text, nullptr, false);
  if (!object.is_object() || object.value("freshet", json()) != json(kind) ||
      object.value("version", json()) != json(kStateVersion)) {
    return absl::InvalidArgumentError(
        fmt::format("{} is not the state of an {} that this version can continue", path, kind));
  }
  return object;
}

absl::Status WriteDurably(const std::string& text, const std::string& path) {
  // If other users may write to the directory, one of them could have put a link there.
  (void)unlink(path.c_str());
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return FileError(path, errno);
  std::string_view rest = text;
  bool good = true;
  while (good && !rest.empty()) {
    const ssize_t wrote = write(file, rest.data(), rest.size());
    good = wrote > 0 || (wrote < 0 && errno == EINTR);
    if (wrote > 0) rest.remove_prefix(static_cast<size_t>(wrote));
  }
  good = good && fdatasync(file) == 0;
  const int error = errno;
  close(file);
  return good ? absl::OkStatus() : FileError(path, error);
}

absl::Status SaveObject(json object, const char* kind, const std::string& path) {
  object["freshet"] = kind;
  object["version"] = kStateVersion;
  const std::string next = path + ".new";
  const absl::Status written =
      WriteDurably(object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n", next);
  if (!written.ok()) return written;
  if (std::rename(next.c_str(), path.c_str()) != 0) return FileError(path, errno);
  return absl::OkStatus();
}

template <typename State>
absl::StatusOr<std::optional<State>> LoadAs(const std::string& path, const char* kind,
                                            State (*make)(const json&)) {
  const absl::StatusOr<std::optional<json>> object = Load(path, kind);
  if (!object.ok()) return object.status();
  if (!*object) return std::nullopt;
  try {
    return make(**object);
  } catch (const json::exception&) {
    return absl::InvalidArgumentError(fmt::format("{} is damaged", path));
  }
}

}  // namespace

absl::StatusOr<std::optional<ImportState>> LoadImportState(const std::string& path) {
  return LoadAs<ImportState>(path, "import", [](const json& object) {
    ImportState state{.input = object.at("input"),
                      .name = object.at("name"),
                      .row = object.at("row"),
                      .url = object.at("url"),
                      .complete = object.at("complete"),
                      .options = std::nullopt,
                      .counts = {}};
    if (object.contains("options")) state.options = object.at("options").get<std::string>();
    const json& counts = object.at("counts");
    state.counts = {.pages = counts.at("pages"),
                    .refused = counts.at("refused"),
                    .results = counts.at("results"),
                    .signals = counts.at("signals"),
                    .incomplete = counts.at("incomplete"),
                    .histories_left_out = counts.at("histories_left_out"),
                    .undated = counts.value("undated", uint64_t{0})};
    return state;
  });
}

absl::StatusOr<std::optional<ExportState>> LoadExportState(const std::string& path) {
  return LoadAs<ExportState>(path, "export", [](const json& object) {
    return ExportState{.token = object.at("token"),
                       .bytes = object.at("bytes"),
                       .pages = object.at("pages"),
                       .request = object.at("request")};
  });
}

absl::Status Save(const ImportState& state, const std::string& path) {
  const ImportCounts& counts = state.counts;
  json object = {{"input", state.input},
                 {"name", state.name},
                 {"row", state.row},
                 {"url", state.url},
                 {"complete", state.complete},
                 {"counts",
                  {{"pages", counts.pages},
                   {"refused", counts.refused},
                   {"results", counts.results},
                   {"signals", counts.signals},
                   {"incomplete", counts.incomplete},
                   {"histories_left_out", counts.histories_left_out},
                   {"undated", counts.undated}}}};
  if (state.options) object["options"] = *state.options;
  return SaveObject(std::move(object), "import", path);
}

absl::Status Save(const ExportState& state, const std::string& path) {
  return SaveObject({{"token", state.token},
                     {"bytes", state.bytes},
                     {"pages", state.pages},
                     {"request", state.request}},
                    "export", path);
}

}  // namespace freshet::cli
