#include "server/logs/loggers.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>

#include "core/base/safe_text.h"
#include "core/base/wrong_value.h"
#include "nlohmann/json.hpp"
#include "server/logs/log_text.h"
#include "spdlog/sinks/sink.h"
#include "spdlog/spdlog.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

using Level = spdlog::level::level_enum;
using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, kLogModules> kNames = {
    "api",  "audit",    "auth", "config", "engine", "frontier",
    "grpc", "indexnow", "ops",  "ports",  "server", "store"};
constexpr std::array<std::string_view, 6> kLevels = {"trace", "debug", "info",
                                                     "warn",  "error", "off"};
// How long repetitions of a line are counted instead of written.
constexpr Duration kQuiet = Duration::Seconds(60);
constexpr size_t kMaxFieldBytes = 1024;

thread_local std::string_view request_id;
thread_local const LogFields* fields = nullptr;

std::string_view LevelName(Level level) {
  if (level == spdlog::level::critical) return "critical";
  return kLevels.at(std::min<size_t>(static_cast<size_t>(level), 4));
}

// Writes a value for a line of text, in quotes if it could be read as several values.
std::string FieldText(std::string_view value) {
  const std::string text = LogText(value, kMaxFieldBytes);
  if (!text.empty() && text.find_first_of(" =\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string TextLine(std::string_view module, Level level, std::string_view message,
                     bool coloured) {
  static constexpr std::array<std::string_view, 6> kColours = {"\x1b[37m", "\x1b[36m", "\x1b[32m",
                                                               "\x1b[33m", "\x1b[31m", "\x1b[41m"};
  std::string line = fmt::format("{:<5}", LevelName(level));
  if (coloured) {
    line = fmt::format("{}{}\x1b[m", kColours.at(std::min<size_t>(level, 5)), line);
  }
  line += fmt::format(" [{}] {}", module, LogText(message));
  if (!request_id.empty()) line += " request_id=" + FieldText(request_id);
  if (fields == nullptr) return line;
  for (const auto& [name, value] : *fields) line += fmt::format(" {}={}", name, FieldText(value));
  return line;
}

std::string JsonLine(std::string_view module, Level level, std::string_view message) {
  Json json;
  json["level"] = LevelName(level);
  json["module"] = module;
  json["message"] = CutText(message, kMaxLogLineBytes);
  if (!request_id.empty()) json["request_id"] = CutText(request_id, kMaxFieldBytes);
  if (fields != nullptr) {
    for (const auto& [name, value] : *fields) {
      json[std::string(name)] = CutText(value, kMaxFieldBytes);
    }
  }
  // The line is ASCII only: escape sequences for terminals are escaped, and bytes that are not
  // UTF-8 are replaced.
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

// The sink of all lines. Thread-safe.
class Sink final : public spdlog::sinks::sink {
 public:
  void log(const spdlog::details::log_msg& message) override {
    const std::string_view module(message.logger_name.data(), message.logger_name.size());
    const std::string_view text(message.payload.data(), message.payload.size());
    const Instant at = Instant::FromMicros(
        std::chrono::duration_cast<std::chrono::microseconds>(message.time.time_since_epoch())
            .count());
    const MutexLock lock(mutex_);
    const std::string body = format_ == LogFormat::kText
                                 ? TextLine(module, message.level, text, coloured_)
                                 : JsonLine(module, message.level, text);
    if (body == last_ && at < last_at_ + kQuiet) {
      ++repeats_;
      return;
    }
    SayRepeats(at);
    Write(at, body);
    last_ = body;
    last_at_ = at;
    last_level_ = message.level;
  }
  void flush() override {
    const MutexLock lock(mutex_);
    SayRepeats(last_at_);
    std::fflush(file_);
  }
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

  void SetFormat(LogFormat format) {
    const MutexLock lock(mutex_);
    format_ = format;
  }
  void SetFile(std::FILE* file) {
    const MutexLock lock(mutex_);
    file_ = file;
    coloured_ = ::isatty(::fileno(file)) != 0;
    last_.clear();
    repeats_ = 0;
  }

 private:
  void SayRepeats(Instant at) FRESHET_REQUIRES(mutex_) {
    if (repeats_ == 0) return;
    const std::string text = fmt::format("repeated {} times: the line before this one", repeats_);
    repeats_ = 0;
    last_.clear();
    // The line that gives the count does not belong to a single call.
    const std::string_view id = std::exchange(request_id, {});
    const LogFields* const said = std::exchange(fields, nullptr);
    Write(at, format_ == LogFormat::kText ? TextLine("server", last_level_, text, coloured_)
                                          : JsonLine("server", last_level_, text));
    request_id = id;
    fields = said;
  }
  void Write(Instant at, const std::string& body) FRESHET_REQUIRES(mutex_) {
    const std::string time = TimeText(at);
    std::string line;
    if (format_ == LogFormat::kText) {
      // The time is cut to milliseconds.
      line = time.substr(0, time.size() - 4) + "Z " + body + '\n';
    } else {
      line = fmt::format("{{\"at\":\"{}\",{}\n", time, std::string_view(body).substr(1));
    }
    std::fwrite(line.data(), 1, line.size(), file_);
    std::fflush(file_);
  }

  Mutex mutex_;
  LogFormat format_ FRESHET_GUARDED_BY(mutex_) = LogFormat::kText;
  std::FILE* file_ FRESHET_GUARDED_BY(mutex_) = stderr;
  bool coloured_ FRESHET_GUARDED_BY(mutex_) = ::isatty(STDERR_FILENO) != 0;
  std::string last_ FRESHET_GUARDED_BY(mutex_);
  Instant last_at_ FRESHET_GUARDED_BY(mutex_);
  Level last_level_ FRESHET_GUARDED_BY(mutex_) = spdlog::level::info;
  uint64_t repeats_ FRESHET_GUARDED_BY(mutex_) = 0;
};

struct Loggers {
  std::shared_ptr<Sink> sink = std::make_shared<Sink>();
  std::array<std::shared_ptr<spdlog::logger>, kLogModules> all;

  Loggers() {
    for (size_t i = 0; i < all.size(); ++i) {
      all.at(i) = std::make_shared<spdlog::logger>(std::string(kNames.at(i)), sink);
      all.at(i)->set_level(spdlog::level::info);
    }
    spdlog::set_default_logger(all.at(static_cast<size_t>(LogModule::kServer)));
  }
};

// The loggers are never destroyed: the last parts of the program to end may log.
Loggers& TheLoggers() {
  static auto* const kLoggers = new Loggers();
  return *kLoggers;
}

StatusOr<Level> ParseLevel(std::string_view name) {
  const auto* it = std::find(kLevels.begin(), kLevels.end(), name);
  if (it == kLevels.end()) {
    return InvalidArgument("{}", WrongChoice(name, {kLevels.begin(), kLevels.end()}));
  }
  const auto index = static_cast<size_t>(it - kLevels.begin());
  return index == 5 ? spdlog::level::off : static_cast<Level>(index);
}

}  // namespace

std::string_view NameOf(LogModule module) { return kNames.at(static_cast<size_t>(module)); }

std::optional<LogModule> LogModuleNamed(std::string_view name) {
  const auto* it = std::find(kNames.begin(), kNames.end(), name);
  if (it == kNames.end()) return std::nullopt;
  return static_cast<LogModule>(it - kNames.begin());
}

std::vector<std::string> LogLevelNames() { return {kLevels.begin(), kLevels.end()}; }

spdlog::logger& Logger(LogModule module) {
  return *TheLoggers().all.at(static_cast<size_t>(module));
}

void SetLogFormat(LogFormat format) { TheLoggers().sink->SetFormat(format); }
void SetLogFile(std::FILE* file) { TheLoggers().sink->SetFile(file); }
void FlushLogs() { TheLoggers().sink->flush(); }

Status SetLogLevel(LogModule module, std::string_view level) {
  ASSIGN_OR_RETURN(const Level parsed, ParseLevel(level));
  Logger(module).set_level(parsed);
  return absl::OkStatus();
}

Status SetLogLevels(std::string_view level) {
  ASSIGN_OR_RETURN(const Level parsed, ParseLevel(level));
  for (const auto& logger : TheLoggers().all) logger->set_level(parsed);
  return absl::OkStatus();
}

std::string LogLevelOf(LogModule module) {
  const Level level = Logger(module).level();
  if (level == spdlog::level::off) return "off";
  return std::string(LevelName(level));
}

void LogWith(LogModule module, Level level, std::string_view message, LogFields with) {
  spdlog::logger& logger = Logger(module);
  if (!logger.should_log(level)) return;
  fields = &with;
  logger.log(level, spdlog::string_view_t(message.data(), message.size()));
  fields = nullptr;
}

ScopedRequestId::ScopedRequestId(std::string_view id) : before_(std::exchange(request_id, id)) {}
ScopedRequestId::~ScopedRequestId() { request_id = before_; }

}  // namespace freshet
