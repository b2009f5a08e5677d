// The console of operators on the HTTP port: the page at /, its files below /console/, and what it
// asks and does below /console/api/.
#ifndef FRESHET_SERVER_OPS_CONSOLE_H_
#define FRESHET_SERVER_OPS_CONSOLE_H_

#include <functional>
#include <string>
#include <vector>

#include "server/ops/console_calls.h"
#include "server/ops/console_state.h"
#include "server/ports/http_port.h"

namespace freshet {

// What the console shows. Each is called on a thread of the HTTP port that answers what takes a
// while.
struct ConsoleContent {
  std::function<std::string()> overview;
  std::function<std::string(const HistoryQuery&)> history;
  std::function<std::string()> workers;
  // Null: the server takes no calls yet.
  std::function<ConsoleCalls*()> calls;
  // Whether identities are asked for. Else only this machine may change anything.
  std::function<bool()> guarded;
};

// `listen` is the address that the port is to listen at.
[[nodiscard]] std::vector<HttpRoute> MakeConsoleRoutes(ConsoleContent content,
                                                       const std::string& listen);

// Why a request may not change anything; empty: it may. With identities it must come from the page
// itself where a browser sends it; without, it must pass WhyForeign.
[[nodiscard]] std::string WhyNoChange(const HttpRequest& request, bool guarded,
                                      std::string_view listen_host);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_CONSOLE_H_
