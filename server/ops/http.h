// The routes of the HTTP port: metrics, health, status, annotations. console.h has those of the
// console.
#ifndef FRESHET_SERVER_OPS_HTTP_H_
#define FRESHET_SERVER_OPS_HTTP_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "server/auth/authoriser.h"
#include "server/ports/http_port.h"

namespace freshet {

// The content of the port.
struct HttpContent {
  // Slow functions, called on one thread, one at a time.
  std::function<std::string()> metrics;                // GET /metrics
  std::function<std::string()> status_json;            // GET /status.json
  std::function<Status(const std::string&)> annotate;  // POST /annotations, from this machine only
  // Fast functions that wait for nobody, called on another thread: probes are answered however busy
  // the server is.
  std::function<bool()> healthy;  // GET /healthz: the process works
  // GET /readyz: why the server takes no requests; empty = it does. With standby=true, a standby
  // that would take over at once counts as ready.
  std::function<std::string(bool standby_counts)> not_ready;
};

// Makes the routes of `content`. `listen` is the address that the port will listen at.
[[nodiscard]] std::vector<HttpRoute> MakeRoutes(HttpContent content, const std::string& listen);

// Makes HttpOptions::guard, which asks `authoriser` for every request; the authoriser outlives it.
// WhyUnseen guards routes without identity. `listen` is the address that the port will listen at,
// `names` are further hosts that clients know it by.
[[nodiscard]] std::function<std::optional<HttpResponse>(const HttpRoute&, const HttpRequest&)>
MakeGuard(Authoriser& authoriser, const std::string& listen, std::vector<std::string> names = {});

// Says why a request may not see what needs no identity; empty = it may. A site could let a name
// point here, and its page then read along in an operator's browser. So only names that no site has
// are answered: addresses, names of this machine, `listen_host` and `names`. Unless `listen_host`
// is a loopback address, so are names without a dot or below `.local`, `.internal` or `.svc`, which
// containers and services have. Any name does for probes and pings. With TLS no site has a
// certificate for its name.
[[nodiscard]] std::string WhyUnseen(const HttpRoute& route, const HttpRequest& request,
                                    std::string_view listen_host,
                                    std::span<const std::string> names = {});

// Whether a peer's address is that of this machine.
[[nodiscard]] bool IsLoopback(std::string_view address);

// Whether a host is this machine by its name or address.
[[nodiscard]] bool IsLoopbackName(std::string_view host);
// The host of "host:port" or "host", without brackets.
[[nodiscard]] std::string HostOf(std::string_view authority);
// Says why a request does not come from the server's own page, if the browser tells; empty = it
// may.
[[nodiscard]] std::string WhyOfOtherOrigin(const HttpRequest& request);
// Says why a request may not change anything; empty = it may. The request must come from this
// machine, and not from another site's page in a browser here. The origin that browsers send, or a
// name that the site lets point here, gives such a page away.
[[nodiscard]] std::string WhyForeign(const HttpRequest& request, std::string_view listen_host);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_HTTP_H_
