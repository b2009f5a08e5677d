// The log of the server: one line an event, as text or JSON, by modules whose levels can be changed
// while it runs.
//
// Whatever is logged goes through one place, which escapes what clients have chosen (log_text.h),
// cuts what is long, and counts lines that say the same again and again instead of writing them.
#ifndef FRESHET_SERVER_LOGS_LOGGERS_H_
#define FRESHET_SERVER_LOGS_LOGGERS_H_

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "spdlog/logger.h"

namespace freshet {

// The parts of the server that log.
enum class LogModule : uint8_t {
  kApi,       // calls: a line for each at `debug`
  kAudit,     // what is written to the audit log
  kAuth,      // certificates and identities
  kConfig,    // what was taken from files
  kEngine,    // shards, epochs, plans, the dispatcher
  kFrontier,  // the crawl-frontier API
  kGrpc,      // the library
  kIndexnow,  // pings
  kOps,       // disk and health
  kPorts,     // connections
  kServer,    // starting and stopping, and the rest
  kStore,     // the library below the store
};
inline constexpr size_t kLogModules = 12;

// All of this is thread-safe.

// "store". Names are in the order of the modules, which is that of the alphabet.
[[nodiscard]] std::string_view NameOf(LogModule module);
[[nodiscard]] std::optional<LogModule> LogModuleNamed(std::string_view name);
// trace, debug, info, warn, error, off.
[[nodiscard]] std::vector<std::string> LogLevelNames();

// Where the module logs; spdlog's default logger is that of kServer.
[[nodiscard]] spdlog::logger& Logger(LogModule module);

enum class LogFormat : uint8_t { kText, kJson };
void SetLogFormat(LogFormat format);
// Where lines go; standard error unless said otherwise. `file` outlives what is logged.
void SetLogFile(std::FILE* file);
// What has been counted and not said yet is said.
void FlushLogs();

// InvalidArgument: there is no such level.
[[nodiscard]] Status SetLogLevel(LogModule module, std::string_view level);
[[nodiscard]] Status SetLogLevels(std::string_view level);
[[nodiscard]] std::string LogLevelOf(LogModule module);

// Names and values that a line has besides its message.
using LogFields = std::vector<std::pair<std::string_view, std::string>>;
void LogWith(LogModule module, spdlog::level::level_enum level, std::string_view message,
             LogFields fields);

// As long as it lives, what its thread logs has this request id. Owner thread only.
class ScopedRequestId {
 public:
  // `id` outlives this.
  explicit ScopedRequestId(std::string_view id);
  ~ScopedRequestId();
  ScopedRequestId(const ScopedRequestId&) = delete;
  ScopedRequestId& operator=(const ScopedRequestId&) = delete;

 private:
  const std::string_view before_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_LOGS_LOGGERS_H_
