#include "server/logging.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"
#include "server/base/log_limit.h"
#include "server/base/system_clock.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

// Texts that are not UTF-8 are answered to the client who sent them; here they only matter to whom
// debugs the server.
void LogProtobuf(google::protobuf::LogLevel level, const char*, int, const std::string& message) {
  if (level == google::protobuf::LOGLEVEL_FATAL) {
    spdlog::critical("protobuf: {}", message);
  } else {
    spdlog::debug("protobuf: {}", message);
  }
}

// gRPC complains of whatever a client does wrong. Lines are of one kind if one place of its code
// writes them; there are only so many. Thread-safe.
void WarnOfGrpc(const gpr_log_func_args& args) {
  static Mutex mutex;
  static SystemClock clock;
  static std::map<std::pair<std::string, int>, LogLimit> limits;
  std::optional<std::string> more;
  {
    const MutexLock lock(mutex);
    more = limits[{args.file, args.line}].Admit(clock.Now());
  }
  if (more) spdlog::warn("grpc: {}{}", args.message, *more);
}

void LogGrpc(gpr_log_func_args* args) {
  switch (args->severity) {
    case GPR_LOG_SEVERITY_ERROR:
      WarnOfGrpc(*args);
      return;
    case GPR_LOG_SEVERITY_INFO:
      spdlog::debug("grpc: {}", args->message);
      return;
    default:
      spdlog::trace("grpc: {}", args->message);
  }
}

}  // namespace

void StartLogging(const std::string& level) {
  auto logger = std::make_shared<spdlog::logger>(
      "freshetd", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%-5l%$ %v", spdlog::pattern_time_type::utc);
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
  google::protobuf::SetLogHandler(LogProtobuf);
  gpr_set_log_function(LogGrpc);
}

void LogStoreLine(char level, std::string_view line) {
  switch (level) {
    case 'E':
      spdlog::error("store: {}", line);
      return;
    case 'W':
      spdlog::warn("store: {}", line);
      return;
    default:
      spdlog::debug("store: {}", line);
  }
}

}  // namespace freshet
