// The log of the server: one line for each event, as text or JSON. Each module has a level, which
// can change at any time.
//
// All lines go through one sink. It escapes texts of clients (log_text.h), cuts long lines, and
// counts repeated lines instead of writing them.
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
  kAudit,     // writing of the audit log
  kAuth,      // certificates and identities
  kConfig,    // reloads of the configuration
  kEngine,    // shards, epochs, plans, the dispatcher
  kFrontier,  // the crawl-frontier API
  kGrpc,      // the gRPC library
  kIndexnow,  // pings
  kOps,       // disk space and health
  kPorts,     // connections
  kServer,    // start, stop and everything else
  kStore,     // the library that the store uses
};
inline constexpr size_t kLogModules = 12;

// All functions are thread-safe.

// The name of the module, such as "store". Names and modules are in alphabetical order.
[[nodiscard]] std::string_view NameOf(LogModule module);
[[nodiscard]] std::optional<LogModule> LogModuleNamed(std::string_view name);
// The names of all levels: trace, debug, info, warn, error, off.
[[nodiscard]] std::vector<std::string> LogLevelNames();

// The logger of the module; spdlog's default logger is the one of kServer.
[[nodiscard]] spdlog::logger& Logger(LogModule module);

enum class LogFormat : uint8_t { kText, kJson };
void SetLogFormat(LogFormat format);
// Sends lines to `file`, which outlives all logging. The default is standard error.
void SetLogFile(std::FILE* file);
// Writes the count of repeated lines, if there are any, and flushes the file.
void FlushLogs();

// InvalidArgument: no level has this name.
[[nodiscard]] Status SetLogLevel(LogModule module, std::string_view level);
[[nodiscard]] Status SetLogLevels(std::string_view level);
[[nodiscard]] std::string LogLevelOf(LogModule module);

// Logs a line with a message and named values.
using LogFields = std::vector<std::pair<std::string_view, std::string>>;
void LogWith(LogModule module, spdlog::level::level_enum level, std::string_view message,
             LogFields fields);

// Adds a request id to all lines that the thread logs while this object lives. Owner thread only.
class ScopedRequestId {
 public:
  // `id` must outlive this object.
  explicit ScopedRequestId(std::string_view id);
  ~ScopedRequestId();
  ScopedRequestId(const ScopedRequestId&) = delete;
  ScopedRequestId& operator=(const ScopedRequestId&) = delete;

 private:
  const std::string_view before_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_LOGS_LOGGERS_H_
