// Sets up the log of the server, including the log lines of its libraries.
#ifndef FRESHET_SERVER_LOGGING_H_
#define FRESHET_SERVER_LOGGING_H_

#include <string>
#include <string_view>

namespace freshet {

struct LogConfig;

// Sets up logging as `config` says, and captures lines that libraries would otherwise print.
// Thread-compatible: must be called once, before other threads start.
void StartLogging(const LogConfig& config);
// Sets up logging as text, at one level.
void StartLogging(const std::string& level);

// Sets the levels of all modules as `config` says. Thread-safe.
void SetConfiguredLogLevels(const LogConfig& config);

// Logs a line of the store, whose levels are the letters 'I', 'W' and 'E'. Thread-safe.
void LogStoreLine(char level, std::string_view line);

}  // namespace freshet

#endif  // FRESHET_SERVER_LOGGING_H_
