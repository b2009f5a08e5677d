// The log of the server: one line an event on standard error.
#ifndef FRESHET_SERVER_LOGGING_H_
#define FRESHET_SERVER_LOGGING_H_

#include <string>
#include <string_view>

namespace freshet {

// Sends everything to standard error with UTC times, drops what is below `level` (trace, debug,
// info, warn, error or off), and takes in what the libraries below would print by themselves.
// Thread-compatible: once, before other threads start.
void StartLogging(const std::string& level);

// One line of the store, which knows levels as the letters 'I', 'W' and 'E'. Thread-safe.
void LogStoreLine(char level, std::string_view line);

}  // namespace freshet

#endif  // FRESHET_SERVER_LOGGING_H_
