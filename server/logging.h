// The log of the server as a whole: how it begins, and what the libraries below say in it.
#ifndef FRESHET_SERVER_LOGGING_H_
#define FRESHET_SERVER_LOGGING_H_

#include <string>
#include <string_view>

namespace freshet {

struct ServerConfig;

// Logs as `config` says, and takes in what the libraries below would print by themselves.
// Thread-compatible: once, before other threads start.
void StartLogging(const ServerConfig& config);
// The same as text, at one level.
void StartLogging(const std::string& level);

// Sets the levels of all modules as `config` says. Thread-safe.
void SetConfiguredLogLevels(const ServerConfig& config);

// One line of the store, which knows levels as the letters 'I', 'W' and 'E'. Thread-safe.
void LogStoreLine(char level, std::string_view line);

}  // namespace freshet

#endif  // FRESHET_SERVER_LOGGING_H_
