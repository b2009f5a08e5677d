#include "server/logging.h"

#include <map>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"
#include "server/base/log_limit.h"
#include "server/base/system_clock.h"
#include "server/config.h"
#include "server/logs/loggers.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

// A client that sends text that is not UTF-8 gets an error. protobuf's log lines about this text
// matter only to developers.
void LogProtobuf(google::protobuf::LogLevel level, const char*, int, const std::string& message) {
  if (level == google::protobuf::LOGLEVEL_FATAL) {
    Logger(LogModule::kGrpc).critical("protobuf: {}", message);
  } else {
    Logger(LogModule::kGrpc).debug("protobuf: {}", message);
  }
}

// gRPC logs every mistake of a client. Lines from the same place in gRPC's code count as one kind,
// so the number of kinds is bounded. Thread-safe.
void WarnOfGrpc(const gpr_log_func_args& args) {
  static Mutex mutex;
  static SystemClock clock;
  static std::map<std::pair<std::string, int>, LogLimit> limits;
  std::optional<std::string> more;
  {
    const MutexLock lock(mutex);
    more = limits[{args.file, args.line}].Admit(clock.Now());
  }
  if (more) Logger(LogModule::kGrpc).warn("grpc: {}{}", args.message, *more);
}

void LogGrpc(gpr_log_func_args* args) {
  switch (args->severity) {
    case GPR_LOG_SEVERITY_ERROR:
      WarnOfGrpc(*args);
      return;
    case GPR_LOG_SEVERITY_INFO:
      Logger(LogModule::kGrpc).debug("grpc: {}", args->message);
      return;
    default:
      Logger(LogModule::kGrpc).trace("grpc: {}", args->message);
  }
}

}  // namespace

void StartLogging(const LogConfig& config) {
  SetLogFormat(config.log_format == "json" ? LogFormat::kJson : LogFormat::kText);
  SetConfiguredLogLevels(config);
  google::protobuf::SetLogHandler(LogProtobuf);
  gpr_set_log_function(LogGrpc);
}

void StartLogging(const std::string& level) {
  LogConfig config;
  config.log_level = level;
  StartLogging(config);
}

void SetConfiguredLogLevels(const LogConfig& config) {
  // All levels were validated with the configuration.
  CHECK(SetLogLevels(config.log_level).ok(), "{}", config.log_level);
  for (const auto& [name, level] : config.log_levels) {
    const std::optional<LogModule> module = LogModuleNamed(name);
    CHECK(module && SetLogLevel(*module, level).ok(), "{}: {}", name, level);
  }
}

void LogStoreLine(char level, std::string_view line) {
  switch (level) {
    case 'E':
      Logger(LogModule::kStore).error("store: {}", line);
      return;
    case 'W':
      Logger(LogModule::kStore).warn("store: {}", line);
      return;
    default:
      Logger(LogModule::kStore).debug("store: {}", line);
  }
}

}  // namespace freshet
