#include "server/ops/http.h"

#include <openssl/sha.h>

#include <array>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "core/base/check.h"
#include "fmt/format.h"
#include "server/base/host_port.h"
#include "server/ops/ops_page.h"
#include "server/ports/http_credentials.h"

namespace freshet {
namespace {

// `problem` is empty when all is well.
HttpResponse Answer(const std::string& problem) {
  HttpResponse response =
      TextResponse(problem.empty() ? 200 : 503, problem.empty() ? "ok" : problem);
  response.fields.emplace_back("Cache-Control", "no-store");
  return response;
}

// "sha256-..." of the page's one script, as browsers compute it.
std::string ScriptHash(std::string_view page) {
  constexpr std::string_view kBegin = "<script>";
  const size_t begin = page.find(kBegin);
  const size_t end = page.find("</script>", begin);
  CHECK(end != std::string_view::npos, "the page has a script");
  const std::string script(page.substr(begin + kBegin.size(), end - begin - kBegin.size()));
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(script.data()), script.size(), digest.data());
  return "sha256-" + absl::Base64Escape(std::string(digest.begin(), digest.end()));
}

// The page runs its own script, asks its own server, and is shown in no frame.
HttpResponse PageResponse() {
  HttpResponse response;
  response.type = "text/html; charset=utf-8";
  response.body = std::make_shared<const std::string>(OpsPage());
  response.fields = {
      {"Content-Security-Policy",
       fmt::format("default-src 'none'; script-src '{}'; style-src 'unsafe-inline'; connect-src "
                   "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                   ScriptHash(OpsPage()))},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
  };
  return response;
}

// The host of "host:port" or "host", without brackets.
std::string HostOf(std::string_view authority) {
  const StatusOr<HostPort> parsed = ParseHostPort(authority);
  if (parsed.ok()) return parsed->host;
  if (authority.size() > 2 && authority.front() == '[' && authority.back() == ']') {
    return std::string(authority.substr(1, authority.size() - 2));
  }
  return std::string(authority);
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
  routes.push_back(
      {.path = "/", .answer = [page = PageResponse()](const HttpRequest&) { return page; }});
  routes.push_back({.path = "/healthz", .answer = [shared](const HttpRequest&) {
                      return Answer(shared->healthy() ? "" : "the store has failed");
                    }});
  routes.push_back({.path = "/readyz", .answer = [shared](const HttpRequest&) {
                      return Answer(shared->not_ready());
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
    Authoriser& authoriser) {
  return [&authoriser](const HttpRoute& route,
                       const HttpRequest& request) -> std::optional<HttpResponse> {
    if (!authoriser.enabled()) return std::nullopt;
    const Status status =
        authoriser.Authorise("http:" + route.path, CredentialsOf(request)).status();
    if (status.ok()) return std::nullopt;
    const bool unknown = absl::IsUnauthenticated(status);
    HttpResponse response = TextResponse(unknown ? 401 : 403, std::string(status.message()));
    // Browsers then ask for a password, which is the token.
    if (unknown) response.fields.emplace_back("WWW-Authenticate", "Basic realm=\"freshet\"");
    return response;
  };
}

bool IsLoopback(std::string_view address) {
  return address != "localhost" && IsLoopbackHost(address);
}

std::string WhyForeign(const HttpRequest& request, std::string_view listen_host) {
  if (!IsLoopback(request.peer)) return "only from this machine";
  const std::string_view authority = request.Field("Host");
  const std::string host = HostOf(authority);
  // A name of its own a site can let point anywhere, to this machine as well.
  if (!IsLoopback(host) && !SameIgnoringCase(host, "localhost") &&
      !SameIgnoringCase(host, listen_host)) {
    return "only by a loopback address or the name localhost";
  }
  const std::string_view origin = request.Field("Origin");
  if (!origin.empty() &&
      !SameIgnoringCase(origin,
                        fmt::format("{}://{}", request.secure ? "https" : "http", authority))) {
    return "not from a page of another origin";
  }
  const std::string_view site = request.Field("Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin" && site != "none") {
    return "not from a page of another site";
  }
  return "";
}

}  // namespace freshet
