#include "server/ops/console_audit.h"

#include "spdlog/spdlog.h"

namespace freshet {

void LogConsoleChange(const ConsoleChange& change) {
  // JSON escapes what could end a line, and names are of a few harmless characters.
  spdlog::log(change.done ? spdlog::level::info : spdlog::level::warn,
              "audit: {} from {} by the console: {} {}: {} {}",
              change.who.empty() ? "somebody" : change.who, change.peer, change.action,
              change.request, change.done ? "done" : "refused", change.outcome);
}

}  // namespace freshet
