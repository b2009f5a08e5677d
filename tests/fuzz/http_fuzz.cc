// Tests the bytes of a connection to the HTTP port. The first byte determines how they are cut into
// pieces. Everything that the port keeps or passes on stays within the limits, and the requests do
// not depend on the pieces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "server/ops/http.h"
#include "server/ports/http_answerer.h"

namespace freshet {
namespace {

const std::vector<HttpRoute>& Routes() {
  static const std::vector<HttpRoute> kRoutes =
      MakeRoutes({.metrics = [] { return std::string("m"); },
                  .status_json = [] { return std::string("{}"); },
                  .annotate =
                      [](const std::string& body) {
                        return body.empty() ? InvalidArgument("empty") : absl::OkStatus();
                      },
                  .healthy = [] { return true; },
                  .not_ready = [](bool) { return std::string(); }},
                 "127.0.0.1:7072");
  return kRoutes;
}

// The answer to a request, as bytes.
std::string AnswerOf(HttpRequest request) {
  size_t header_bytes = request.method.size() + request.path.size();
  for (const auto& [name, value] : request.fields) header_bytes += name.size() + value.size();
  // Trailers of a chunked body count as its framing.
  CHECK(header_bytes <= limits::kMaxHttpHeaderBytes + 4 * limits::kMaxHttpBodyBytes);
  CHECK(request.body.size() <= limits::kMaxHttpBodyBytes);
  CHECK(request.path.empty() || request.path.front() == '/');
  request.peer = "127.0.0.1";
  HttpResponse response;
  const HttpRoute* route = FindRoute(Routes(), request, &response);
  if (route != nullptr) response = CallRoute(*route, request);
  const std::string head = HttpHead(response, request.keep_alive);
  CHECK(head.find("\r\n\r\n") == head.size() - 4, "the head ends where it ends");
  return request.method + " " + request.path + " " + request.body + head;
}

// Returns the answers to all requests in the bytes, which are fed in pieces of `piece` bytes.
std::vector<std::string> AnswersTo(std::string_view bytes, size_t piece) {
  HttpReader reader((HttpSizes()));
  std::vector<std::string> answers;
  while (true) {
    switch (reader.Read()) {
      case HttpReader::State::kRequest:
        answers.push_back(AnswerOf(reader.TakeRequest()));
        break;
      case HttpReader::State::kRefused:
        CHECK(reader.TakeRefusal().status >= 400);
        return answers;
      case HttpReader::State::kWantsMore:
        (void)reader.TakeExpectation();
        if (bytes.empty()) return answers;
        reader.Give(bytes.substr(0, piece));
        bytes.remove_prefix(std::min(piece, bytes.size()));
    }
  }
}

}  // namespace
}  // namespace freshet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = freshet::AnswersTo(bytes, bytes.size() + 1);
  const auto in_pieces = freshet::AnswersTo(bytes, size_t{1} + data[0]);
  CHECK(whole == in_pieces, "{} requests at once, {} in pieces", whole.size(), in_pieces.size());
  return 0;
}
