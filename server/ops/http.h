// The HTTP port of a server: metrics, health, status, annotations. The console has a file of its
// own.
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

// What the port serves.
struct HttpContent {
  // May take a while; called on one thread, one at a time.
  std::function<std::string()> metrics;                // GET /metrics
  std::function<std::string()> status_json;            // GET /status.json
  std::function<Status(const std::string&)> annotate;  // POST /annotations, from this machine only
  // Wait for nobody: probes are answered whatever the server is busy with. Called on another
  // thread than the others.
  std::function<bool()> healthy;  // GET /healthz: the process works
  // GET /readyz: why it takes no requests; empty: it does. With standby=true a server that stands
  // by for another one, and would take over at once, is to be taken for ready.
  std::function<std::string(bool standby_counts)> not_ready;
};

// The routes of `content`. `listen` is the address that the port is to listen at.
[[nodiscard]] std::vector<HttpRoute> MakeRoutes(HttpContent content, const std::string& listen);

// Asks `authoriser`, which outlives the guard, for every request: HttpOptions::guard. What needs no
// identity WhyUnseen holds. `listen` is the address that the port is to listen at, `names` are
// further hosts by which it is asked.
[[nodiscard]] std::function<std::optional<HttpResponse>(const HttpRoute&, const HttpRequest&)>
MakeGuard(Authoriser& authoriser, const std::string& listen, std::vector<std::string> names = {});

// Why a request may not see what needs no identity; empty: it may. A page of any site could read
// along in an operator's browser under a name that it lets point here. So only those names are
// answered that no site has: addresses, names of this machine, `listen_host`, `names` and, unless
// `listen_host` is a loopback address, names without a dot or below `.local`, `.internal` or
// `.svc`, which containers and services have. Probes and pings are answered by any. With TLS no
// site has a certificate for its name.
[[nodiscard]] std::string WhyUnseen(const HttpRoute& route, const HttpRequest& request,
                                    std::string_view listen_host,
                                    std::span<const std::string> names = {});

// Whether a peer's address is that of this machine.
[[nodiscard]] bool IsLoopback(std::string_view address);

// Whether a host is this machine by its name or address.
[[nodiscard]] bool IsLoopbackName(std::string_view host);
// The host of "host:port" or "host", without brackets.
[[nodiscard]] std::string HostOf(std::string_view authority);
// Why a request is not one of the server's own page, where a browser says so; empty: it may be.
[[nodiscard]] std::string WhyOfOtherOrigin(const HttpRequest& request);
// Why a request may not change anything; empty: it may. It must come from this machine, and not
// from a page of some other site that a browser shows here: neither openly, with the origin that
// browsers send along, nor under a name that such a site has let point to this machine.
[[nodiscard]] std::string WhyForeign(const HttpRequest& request, std::string_view listen_host);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_HTTP_H_
