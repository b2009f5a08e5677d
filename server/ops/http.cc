#include "server/ops/http.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "core/base/ip_address.h"
#include "fmt/format.h"
#include "server/auth/methods.h"
#include "server/base/host_port.h"
#include "server/ports/http_credentials.h"
#include "server/ports/http_query.h"

namespace freshet {
namespace {

// The prefix of the console's API.
constexpr const char* kApi = "/console/api/";

// Domains for mDNS, private networks and Kubernetes services.
constexpr std::string_view kLocalDomains[] = {".local", ".internal", ".svc"};

// Returns true if no site on the Internet can have this name.
bool IsLocalName(std::string_view host) {
  if (host.find('.') == std::string_view::npos) return !host.empty();
  return std::any_of(std::begin(kLocalDomains), std::end(kLocalDomains), [host](auto domain) {
    return host.size() > domain.size() &&
           SameIgnoringCase(host.substr(host.size() - domain.size()), domain);
  });
}

// Makes the answer to a probe: 503 with the problem, or 200 if `problem` is empty.
HttpResponse Answer(const std::string& problem) {
  HttpResponse response =
      TextResponse(problem.empty() ? 200 : 503, problem.empty() ? "ok" : problem);
  response.fields.emplace_back("Cache-Control", "no-store");
  return response;
}

// Whether a request for /readyz also accepts standbys.
bool AsksForStandbys(const HttpRequest& request) {
  const StatusOr<HttpParameters> parameters = ParseQuery(request.query);
  if (!parameters.ok()) return false;
  return std::find(parameters->begin(), parameters->end(),
                   std::pair<std::string, std::string>("standby", "true")) != parameters->end();
}

HttpResponse Annotate(const HttpContent& content, const std::string& listen_host,
                      const HttpRequest& request) {
  if (const std::string why = WhyForeign(request, listen_host); !why.empty()) {
    return TextResponse(403, why);
  }
  const Status status = content.annotate(request.body);
  if (!status.ok()) return TextResponse(400, std::string(status.message()));
  return {.status = 204};
}

}  // namespace

std::vector<HttpRoute> MakeRoutes(HttpContent content, const std::string& listen) {
  const auto shared = std::make_shared<const HttpContent>(std::move(content));
  const std::string listen_host = HostOf(listen);
  std::vector<HttpRoute> routes;
  routes.push_back({.path = "/healthz", .answer = [shared](const HttpRequest&) {
                      return Answer(shared->healthy() ? "" : "the store has failed");
                    }});
  routes.push_back({.path = "/readyz", .answer = [shared](const HttpRequest& request) {
                      return Answer(shared->not_ready(AsksForStandbys(request)));
                    }});
  routes.push_back({.path = "/metrics", .slow = true, .answer = [shared](const HttpRequest&) {
                      return HttpResponse{
                          .type = "text/plain; version=0.0.4; charset=utf-8",
                          .body = std::make_shared<const std::string>(shared->metrics())};
                    }});
  routes.push_back({.path = "/status.json", .slow = true, .answer = [shared](const HttpRequest&) {
                      return HttpResponse{
                          .type = "application/json",
                          .body = std::make_shared<const std::string>(shared->status_json()),
                          .fields = {{"Cache-Control", "no-store"}}};
                    }});
  routes.push_back({.path = "/annotations",
                    .post = true,
                    .slow = true,
                    .answer = [shared, listen_host](const HttpRequest& request) {
                      return Annotate(*shared, listen_host, request);
                    }});
  return routes;
}

std::function<std::optional<HttpResponse>(const HttpRoute&, const HttpRequest&)> MakeGuard(
    Authoriser& authoriser, const std::string& listen, std::vector<std::string> names) {
  return [&authoriser, listen_host = HostOf(listen), names = std::move(names)](
             const HttpRoute& route, const HttpRequest& request) -> std::optional<HttpResponse> {
    // A browser sends stored passwords and certificates even if the page of another site makes the
    // request. A request without them is like one from any other client.
    const bool as_client = request.certificate || !request.Field("Authorization").empty();
    if (route.path.starts_with(kApi) || (as_client && route.path == "/indexnow")) {
      if (const std::string why = WhyOfOtherOrigin(request); !why.empty()) {
        return TextResponse(403, why);
      }
    }
    // All files of the console share one rule.
    const bool file = route.path.starts_with("/console/") && !route.path.starts_with(kApi);
    const std::string rule = file ? "http:/console/" : "http:" + route.path;
    const MethodRule* const known = FindMethod(rule);
    if (known == nullptr || authoriser.Check(*known, {}).ok()) {
      const std::string why = WhyUnseen(route, request, listen_host, names);
      if (!why.empty()) return TextResponse(403, why);
    }
    if (!authoriser.enabled()) return std::nullopt;
    const Status status = authoriser.Authorise(rule, CredentialsOf(request)).status();
    if (status.ok()) return std::nullopt;
    const bool unknown = absl::IsUnauthenticated(status);
    HttpResponse response = TextResponse(unknown ? 401 : 403, std::string(status.message()));
    // Makes browsers ask for a password. Users enter their token as the password.
    if (unknown) response.fields.emplace_back("WWW-Authenticate", "Basic realm=\"freshet\"");
    return response;
  };
}

bool IsLoopback(std::string_view address) {
  return address != "localhost" && IsLoopbackHost(address);
}

bool IsLoopbackName(std::string_view host) {
  return IsLoopback(host) || SameIgnoringCase(host, "localhost");
}

std::string HostOf(std::string_view authority) {
  const StatusOr<HostPort> parsed = ParseHostPort(authority);
  if (parsed.ok()) return parsed->host;
  if (authority.size() > 2 && authority.front() == '[' && authority.back() == ']') {
    return std::string(authority.substr(1, authority.size() - 2));
  }
  return std::string(authority);
}

std::string WhyOfOtherOrigin(const HttpRequest& request) {
  const std::string_view origin = request.Field("Origin");
  if (!origin.empty() &&
      !SameIgnoringCase(origin, fmt::format("{}://{}", request.secure ? "https" : "http",
                                            request.Field("Host")))) {
    return "not from a page of another origin";
  }
  const std::string_view site = request.Field("Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin" && site != "none") {
    return "not from a page of another site";
  }
  return "";
}

std::string WhyUnseen(const HttpRoute& route, const HttpRequest& request,
                      std::string_view listen_host, std::span<const std::string> names) {
  const auto is = [&route](const char* path) { return route.path == path; };
  if (request.secure || is("/healthz") || is("/readyz") || is("/indexnow")) return "";
  const std::string host = HostOf(request.Field("Host"));
  if (IsLoopbackName(host) || ParseIpAddress(host) || SameIgnoringCase(host, listen_host) ||
      (!IsLoopbackName(listen_host) && IsLocalName(host)) ||
      std::any_of(names.begin(), names.end(),
                  [&host](const std::string& name) { return SameIgnoringCase(host, name); })) {
    return "";
  }
  return "not by this name: only by an address, localhost, the name that http_listen has, those of "
         "http.names, or with TLS";
}

std::string WhyForeign(const HttpRequest& request, std::string_view listen_host) {
  if (!IsLoopback(request.peer)) return "only from this machine";
  const std::string host = HostOf(request.Field("Host"));
  // A site can make its own name point anywhere, even to this machine (DNS rebinding).
  if (!IsLoopbackName(host) && !SameIgnoringCase(host, listen_host)) {
    return "only by a loopback address or the name localhost";
  }
  return WhyOfOtherOrigin(request);
}

}  // namespace freshet
