// The operators' console on the HTTP port: the page at /, its files below /console/, and its API
// below /console/api/.
#ifndef FRESHET_SERVER_OPS_CONSOLE_H_
#define FRESHET_SERVER_OPS_CONSOLE_H_

#include <functional>
#include <string>
#include <vector>

#include "server/ops/console_calls.h"
#include "server/ops/console_state.h"
#include "server/ports/http_port.h"

namespace freshet {

// The content of the console. Each function is called on an HTTP port's thread for slow answers.
struct ConsoleContent {
  std::function<std::string()> overview;
  std::function<std::string(const HistoryQuery&)> history;
  std::function<std::string()> workers;
  // nullptr = the server accepts no calls yet.
  std::function<ConsoleCalls*()> calls;
  // Whether clients need identities. If they do not, only clients on this machine may change
  // anything.
  std::function<bool()> guarded;
};

// Makes the routes. `listen` is the address that the port will listen at.
[[nodiscard]] std::vector<HttpRoute> MakeConsoleRoutes(ConsoleContent content,
                                                       const std::string& listen);

// Says why a request may not change anything; empty = it may. If clients need identities
// (`guarded`), a request from a browser must come from the console's page. Otherwise it must pass
// WhyForeign.
[[nodiscard]] std::string WhyNoChange(const HttpRequest& request, bool guarded,
                                      std::string_view listen_host);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_CONSOLE_H_
