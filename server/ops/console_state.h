// Writes the state of the whole server as JSON for the console: its state in one word, its figures
// with their history, and its workers.
#ifndef FRESHET_SERVER_OPS_CONSOLE_STATE_H_
#define FRESHET_SERVER_OPS_CONSOLE_STATE_H_

#include <string>
#include <vector>

#include "server/api/status.h"
#include "server/engine/dispatcher.h"
#include "server/ops/history.h"
#include "server/ports/http_message.h"

namespace freshet {

// The state of a server in words for humans. `word` is one of starting, serving, paused, full,
// failed, stopping. Value type, thread-compatible.
struct ConsoleState {
  std::string word;
  std::string detail;  // a sentence; empty = there is nothing to add
};

// All functions are thread-safe.

// Shows a server that serves now or did so before.
[[nodiscard]] std::string RenderOverview(const ConsoleState& state, const ServerStatus& status,
                                         const std::vector<RecentAssignment>& recent);
// Shows a server that does not serve yet.
[[nodiscard]] std::string RenderStartingOverview(const ConsoleState& state,
                                                 const ServerStatus& status);
[[nodiscard]] std::string RenderWorkers(const std::vector<WorkerRecord>& workers, Instant now);
[[nodiscard]] std::string RenderHistory(const HistoryWindow& history, Instant now);

// A request for the history. `window` is in seconds; in a query it can also be written as 15m, 6h
// or 30d. `since`: see History::Read; -1 = the whole window.
struct HistoryQuery {
  int64_t window = 900;
  int64_t since = -1;
};
// Parses the query of a request. Not OK: InvalidArgument, with the name of the wrong parameter.
[[nodiscard]] StatusOr<HistoryQuery> ParseHistoryQuery(const std::string& query);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_CONSOLE_STATE_H_
