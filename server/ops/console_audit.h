// A record of what was changed from the console.
#ifndef FRESHET_SERVER_OPS_CONSOLE_AUDIT_H_
#define FRESHET_SERVER_OPS_CONSOLE_AUDIT_H_

#include <functional>
#include <string>

namespace freshet {

// Value type, thread-compatible.
struct ConsoleChange {
  std::string who;      // name of the identity; empty: the server has none
  std::string peer;     // address that the request came from
  std::string action;   // "rate", as in the route
  std::string request;  // as JSON, on one line
  std::string outcome;  // the response as JSON, which says what was before, or the error
  bool done = false;    // else it was refused or failed
};

// Told of changes, from any thread.
using ConsoleAudit = std::function<void(const ConsoleChange&)>;

// Writes a line of the log for each.
void LogConsoleChange(const ConsoleChange& change);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_CONSOLE_AUDIT_H_
