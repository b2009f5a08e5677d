#include "server/ops/console.h"

#include <openssl/sha.h>

#include <array>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "fmt/format.h"
#include "server/ops/console_files.h"
#include "server/ops/http.h"

namespace freshet {
namespace {

// The console runs only scripts from its own server, sends requests only to that server, and cannot
// be put into a frame.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// Makes an ETag from the text.
std::string TagOf(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return fmt::format("\"{}\"",
                     absl::BytesToHexString(std::string(digest.begin(), digest.begin() + 12)));
}

HttpResponse FileResponse(const ConsoleFile& file) {
  HttpResponse response;
  response.type = std::string(file.type);
  response.body = std::make_shared<const std::string>(file.text);
  response.fields = {{"Content-Security-Policy", kPolicy},
                     {"X-Frame-Options", "DENY"},
                     {"Referrer-Policy", "no-referrer"},
                     // Browsers revalidate each time, and get a 304 if they already have the text.
                     {"Cache-Control", "no-cache"},
                     {"ETag", TagOf(file.text)}};
  return response;
}

HttpRoute FileRoute(const std::string& path, const ConsoleFile& file) {
  const HttpResponse whole = FileResponse(file);
  HttpResponse known = whole;
  known.status = 304;
  known.body = nullptr;
  return {.path = path, .answer = [whole, known](const HttpRequest& request) {
            return request.Field("If-None-Match") == whole.fields.back().second ? known : whole;
          }};
}

// The state that all routes of the API share.
struct Api {
  ConsoleContent content;
  std::string listen_host;

  [[nodiscard]] HttpResponse Call(const HttpRequest& request) const {
    ConsoleCalls* calls = content.calls();
    if (calls == nullptr) return ErrorResponse(503, "the server takes no calls yet");
    return calls->Answer(request);
  }
  [[nodiscard]] HttpResponse Change(const HttpRequest& request) const {
    if (const std::string why = WhyNoChange(request, content.guarded(), listen_host);
        !why.empty()) {
      return ErrorResponse(403, why);
    }
    const std::string_view type = request.Field("Content-Type");
    if (!SameIgnoringCase(type.substr(0, type.find(';')), "application/json")) {
      return ErrorResponse(415, "the body must be application/json");
    }
    return Call(request);
  }
  [[nodiscard]] HttpResponse ShowHistory(const HttpRequest& request) const {
    const StatusOr<HistoryQuery> query = ParseHistoryQuery(request.query);
    if (!query.ok()) return ErrorResponse(400, std::string(query.status().message()));
    return JsonResponse(content.history(*query));
  }
};

void AddShownRoutes(const std::shared_ptr<const Api>& api, std::vector<HttpRoute>* routes) {
  // Every open console requests these routes every second. All requests to a route without
  // parameters get the same answer.
  routes->push_back({.path = "/console/api/overview", .slow = true, .answer = [api](const auto&) {
                       return JsonResponse(api->content.overview());
                     }});
  routes->push_back({.path = "/console/api/workers", .slow = true, .answer = [api](const auto&) {
                       return JsonResponse(api->content.workers());
                     }});
  routes->push_back({.path = "/console/api/history",
                     .slow = true,
                     .lane = HttpLane::kConsole,
                     .answer = [api](const HttpRequest& r) { return api->ShowHistory(r); }});
}

}  // namespace

std::vector<HttpRoute> MakeConsoleRoutes(ConsoleContent content, const std::string& listen) {
  const auto api = std::make_shared<const Api>(Api{std::move(content), HostOf(listen)});
  std::vector<HttpRoute> routes;
  for (const ConsoleFile& file : ConsoleFiles()) {
    routes.push_back(FileRoute(fmt::format("/console/{}", file.name), file));
    if (file.name.empty()) routes.push_back(FileRoute("/", file));
  }
  AddShownRoutes(api, &routes);
  for (const ConsoleRoute& route : ConsoleCallRoutes()) {
    routes.push_back({.path = fmt::format("{}{}", kConsoleApi, route.name),
                      .post = route.post,
                      .slow = true,
                      .lane = HttpLane::kConsole,
                      .answer = [api, post = route.post](const HttpRequest& request) {
                        return post ? api->Change(request) : api->Call(request);
                      }});
  }
  return routes;
}

std::string WhyNoChange(const HttpRequest& request, bool guarded, std::string_view listen_host) {
  return guarded ? WhyOfOtherOrigin(request) : WhyForeign(request, listen_host);
}

}  // namespace freshet
