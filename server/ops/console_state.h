// What the console shows of the server as a whole, as JSON: its state in one word and its figures;
// the history of these; who works.
#ifndef FRESHET_SERVER_OPS_CONSOLE_STATE_H_
#define FRESHET_SERVER_OPS_CONSOLE_STATE_H_

#include <string>
#include <vector>

#include "server/api/status.h"
#include "server/engine/dispatcher.h"
#include "server/engine/shard.h"
#include "server/ops/history.h"
#include "server/ports/http_message.h"

namespace freshet {

// What a server does, for people: `word` is one of starting, serving, paused, full, failed,
// stopping. Value type, thread-compatible.
struct ConsoleState {
  std::string word;
  std::string detail;  // a sentence; empty: there is nothing to add
};

// All functions are thread-safe.

// Of a server that serves, or did.
[[nodiscard]] std::string RenderOverview(const ConsoleState& state, const ServerStatus& status,
                                         const std::vector<ShardSnapshot>& shards,
                                         const std::vector<RecentAssignment>& recent);
// Of one that does not serve yet.
[[nodiscard]] std::string RenderStartingOverview(const ConsoleState& state,
                                                 const RecoveryStatus& recovery);
[[nodiscard]] std::string RenderWorkers(const std::vector<WorkerRecord>& workers, Instant now);
[[nodiscard]] std::string RenderHistory(const HistoryWindow& history, Instant now);

// What a request asks of the history: `window` in seconds, or as 15m, 6h, 30d, and `since`.
struct HistoryQuery {
  int64_t window = 900;
  int64_t since = -1;
};
// InvalidArgument names the parameter.
[[nodiscard]] StatusOr<HistoryQuery> ParseHistoryQuery(const std::string& query);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_CONSOLE_STATE_H_
