// The routes of the HTTP port: metrics, health, status, annotations. console.h has the routes of
// the console.
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
  // Slow functions. They are called one at a time, on one thread.
  std::function<std::string()> metrics;                // GET /metrics
  std::function<std::string()> status_json;            // GET /status.json
  std::function<Status(const std::string&)> annotate;  // POST /annotations, from this machine only
  // Fast functions that do not block. They are called on another thread, so that probes are
  // answered however busy the server is.
  std::function<bool()> healthy;  // GET /healthz: the process works
  // GET /readyz: why the server accepts no requests; empty = it does. With standby=true, a standby
  // that would take over at once counts as ready.
  std::function<std::string(bool standby_counts)> not_ready;
};

// Makes the routes of `content`. `listen` is the address that the port will listen at.
[[nodiscard]] std::vector<HttpRoute> MakeRoutes(HttpContent content, const std::string& listen);

// Makes HttpOptions::guard, which asks `authoriser` about every request. `authoriser` outlives the
// guard. Routes that need no identity are guarded by WhyUnseen. `listen` is the address that the
// port will listen at. `names` are further host names by which clients reach the port.
[[nodiscard]] std::function<std::optional<HttpResponse>(const HttpRoute&, const HttpRequest&)>
MakeGuard(Authoriser& authoriser, const std::string& listen, std::vector<std::string> names = {});

// Says why a request may not use a route that needs no identity; empty = it may. A site could make
// its own name point to this server (DNS rebinding). Its page in an operator's browser could then
// read the answers. So the Host of a request must be a name that no site can have: an address, a
// name of this machine, `listen_host` or one of `names`. If `listen_host` is not a loopback
// address, names without a dot and names below `.local`, `.internal` or `.svc` are also accepted,
// because containers and services have them. Probes and /indexnow accept any name. TLS requests may
// use any name, because a site has no certificate that this server could present for it.
[[nodiscard]] std::string WhyUnseen(const HttpRoute& route, const HttpRequest& request,
                                    std::string_view listen_host,
                                    std::span<const std::string> names = {});

// Returns true if the address of a peer is a loopback address.
[[nodiscard]] bool IsLoopback(std::string_view address);

// Returns true if a host is `localhost` or a loopback address.
[[nodiscard]] bool IsLoopbackName(std::string_view host);
// The host of "host:port" or "host", without brackets.
[[nodiscard]] std::string HostOf(std::string_view authority);
// Says why a request does not come from the server's own page, by the headers that browsers send;
// empty = it might come from there.
[[nodiscard]] std::string WhyOfOtherOrigin(const HttpRequest& request);
// Says why a request may not change anything; empty = it may. The request must come from this
// machine, but not from another site's page in a browser on this machine. Such a page is recognized
// by the origin that the browser sends, or by a host name that is not this machine's.
[[nodiscard]] std::string WhyForeign(const HttpRequest& request, std::string_view listen_host);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_HTTP_H_
