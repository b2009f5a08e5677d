#include "server/ports/http_message.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "boost/beast/http/parser.hpp"
#include "boost/beast/http/string_body.hpp"
#include "core/base/check.h"
#include "fmt/format.h"

namespace freshet {
namespace {

namespace http = boost::beast::http;

// The size of the shortest end of a chunked body: "0" and two line ends. At least this many bytes
// follow every chunk.
constexpr size_t kLastChunkBytes = 5;
// Each chunk begins with a line that gives its size. A body together with these lines may have this
// many times the limit for the body.
constexpr size_t kMostFraming = 4;
constexpr const char* kRetryAfter = "Retry-After";

// The parts of a request's target.
struct Target {
  std::string authority;  // the host in "http://host/x?y"; empty = none
  std::string path;       // "/x" in both "http://host/x?y" and "/x?y"; empty = invalid
  std::string query;      // "y"
};

// Returns an invalid target if the authority is empty or has a user name, because programs disagree
// about the host in it.
Target SplitTarget(std::string_view target) {
  Target split;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!SameIgnoringCase(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const std::string_view authority = target.substr(0, target.find_first_of("/?#"));
    if (authority.empty() || authority.find('@') != std::string_view::npos) return {};
    split.authority = authority;
    target.remove_prefix(authority.size());
    break;
  }
  target = target.substr(0, target.find('#'));
  const size_t query = target.find('?');
  if (query != std::string_view::npos) split.query = target.substr(query + 1);
  split.path = target.substr(0, query);
  if (split.path.empty() && !split.authority.empty()) split.path = "/";
  if (!split.path.starts_with('/')) return {};
  return split;
}

}  // namespace

bool SameIgnoringCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [lower](char x, char y) { return lower(x) == lower(y); });
}

std::string_view HttpRequest::Field(std::string_view name) const {
  const auto it = std::find_if(fields.begin(), fields.end(), [name](const auto& field) {
    return SameIgnoringCase(field.first, name);
  });
  return it == fields.end() ? std::string_view() : it->second;
}

HttpResponse TextResponse(int status, std::string_view line) {
  return {.status = status, .body = std::make_shared<const std::string>(fmt::format("{}\n", line))};
}

HttpResponse RetryResponse(int status, std::string_view line, Duration wait) {
  HttpResponse response = TextResponse(status, line);
  const auto seconds = static_cast<int64_t>(std::ceil(std::max(1.0, wait.seconds())));
  response.fields.emplace_back(kRetryAfter, std::to_string(seconds));
  return response;
}

uint32_t RetryAfterOf(const HttpResponse& response) {
  uint32_t seconds = 0;
  for (const auto& [name, value] : response.fields) {
    if (name == kRetryAfter && absl::SimpleAtoi(value, &seconds)) return seconds;
  }
  return 0;
}

std::string HttpHead(const HttpResponse& response, bool keep_alive) {
  const http::status status = http::int_to_status(static_cast<unsigned>(response.status));
  const boost::beast::string_view reason = http::obsolete_reason(status);
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status,
                                 std::string_view(reason.data(), reason.size()));
  // Answers with status 204 or 304 have no body. A 204 must not have a Content-Length, and a 304
  // need not have one.
  if (response.status != 204 && response.status != 304)
    head += fmt::format("Content-Length: {}\r\n", response.size());
  if (response.body != nullptr) {
    head += fmt::format("Content-Type: {}\r\nX-Content-Type-Options: nosniff\r\n", response.type);
  }
  for (const auto& [name, value] : response.fields) head += fmt::format("{}: {}\r\n", name, value);
  head += fmt::format("Connection: {}\r\n\r\n", keep_alive ? "keep-alive" : "close");
  return head;
}

const HttpRoute* FindRoute(const std::vector<HttpRoute>& routes, const HttpRequest& request,
                           HttpResponse* refusal) {
  if (request.path.empty()) {
    *refusal = TextResponse(400, "the target is not a path");
    return nullptr;
  }
  const bool reads = request.method == "GET" || request.method == "HEAD";
  std::string allowed;
  for (const HttpRoute& route : routes) {
    if (route.path != request.path) continue;
    if (route.post ? request.method == "POST" : reads) return &route;
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", route.post ? "POST" : "GET, HEAD");
  }
  if (allowed.empty()) {
    *refusal = TextResponse(404, "there is nothing at this path");
    return nullptr;
  }
  *refusal = TextResponse(405, fmt::format("this path takes {}", allowed));
  refusal->fields.emplace_back("Allow", allowed);
  return nullptr;
}

// --- Reading

struct HttpReader::Parser {
  explicit Parser(const HttpSizes& sizes) {
    parser.header_limit(static_cast<std::uint32_t>(sizes.header_bytes));
    parser.body_limit(std::max(sizes.body_bytes, sizes.most_body_bytes));
  }
  http::request_parser<http::string_body> parser;
  size_t body_bytes = 0;  // limit of this request; 0 = not decided yet
  size_t taken = 0;
  bool expectation_taken = false;
};

HttpReader::HttpReader(HttpSizes sizes, OnHead on_head)
    : sizes_(sizes), on_head_(std::move(on_head)), parser_(std::make_unique<Parser>(sizes)) {}
HttpReader::~HttpReader() = default;

bool HttpReader::begun() const { return parser_->taken > 0 || !bytes_.empty(); }

HttpReader::State HttpReader::Read() {
  auto& parser = parser_->parser;
  while (!parser.is_done() && !bytes_.empty()) {
    // Beast expects all bytes after the last chunk's size line in one piece.
    if (parser.is_header_done() && parser.chunked() && bytes_.size() < kLastChunkBytes) break;
    boost::beast::error_code error;
    // The header is parsed separately, so that its bytes can be counted.
    const bool in_header = !parser.is_header_done();
    parser.eager(!in_header);
    const size_t taken = parser.put(boost::asio::buffer(bytes_.data(), bytes_.size()), error);
    bytes_.erase(0, taken);
    parser_->taken += taken;
    // Beast applies the limit separately to the request line and to the fields, so the sum is
    // checked here.
    if (in_header && parser_->taken > sizes_.header_bytes) error = http::error::header_limit;
    if (error == http::error::header_limit) return Refuse(431, "the header is too large");
    // An invalid header may give a wrong length of the body, so the body is not read.
    if (in_header && parser.is_header_done() && !error) {
      if (std::optional<HttpResponse> refusal = RefusalOf()) {
        refusal_ = *std::move(refusal);
        return State::kRefused;
      }
    }
    if (parser.is_header_done() && !AdmitBody()) return State::kRefused;
    const size_t most = std::max(parser_->body_bytes, sizes_.body_bytes);
    if (parser_->taken > sizes_.header_bytes + kMostFraming * most) {
      return Refuse(413, "the body comes in too many small chunks: send larger ones");
    }
    if (error == http::error::body_limit) return Refuse(413, "the body is too large");
    if (error == http::error::bad_version) return Refuse(505, "the version is not HTTP/1");
    if (error && error != http::error::need_more) return Refuse(400, "this is not an HTTP request");
    if (taken == 0) break;
  }
  if (parser.is_done()) return State::kRequest;
  // The parser consumes whole lines, so it leaves at most one line.
  if (bytes_.size() > sizes_.header_bytes) return Refuse(431, "a line is too long");
  return State::kWantsMore;
}

bool HttpReader::AdmitBody() {
  const auto& parser = parser_->parser;
  const auto told = parser.content_length();
  const bool large = parser.chunked() || (told && *told > sizes_.body_bytes);
  if (parser_->body_bytes == 0) {
    parser_->body_bytes = sizes_.body_bytes;
    if (large && on_head_) {
      if (auto refusal = on_head_(Head(), &parser_->body_bytes)) {
        refusal_ = *std::move(refusal);
        return false;
      }
    }
  }
  if (std::max<uint64_t>(told.value_or(0), parser.get().body().size()) <= parser_->body_bytes) {
    return true;
  }
  refusal_ = TextResponse(413, "the body is too large");
  return false;
}

HttpReader::State HttpReader::Refuse(int status, std::string_view line) {
  refusal_ = TextResponse(status, line);
  return State::kRefused;
}

std::optional<HttpResponse> HttpReader::RefusalOf() const {
  const auto& message = parser_->parser.get();
  const auto hosts = message.count(http::field::host);
  const bool unnamed = message[http::field::host].empty() && message.version() >= 11;
  if (hosts > 1 || unnamed) return TextResponse(400, "the request must have one Host");
  // The parser ignores an unknown transfer coding. A proxy in between might then see a different
  // end of the body (RFC 9112, 6.1).
  const auto codings = message.count(http::field::transfer_encoding);
  if (codings == 0) return std::nullopt;
  const auto coding = message[http::field::transfer_encoding];
  if (codings > 1 || !SameIgnoringCase({coding.data(), coding.size()}, "chunked")) {
    return TextResponse(501, "Transfer-Encoding: must be chunked alone");
  }
  if (message.version() < 11 || message.count(http::field::content_length) > 0) {
    return TextResponse(400, "Transfer-Encoding: not in HTTP/1.0, nor beside Content-Length");
  }
  return std::nullopt;
}

HttpRequest HttpReader::Head() const {
  const auto& message = parser_->parser.get();
  HttpRequest request;
  request.method = std::string(message.method_string());
  Target target = SplitTarget({message.target().data(), message.target().size()});
  request.path = std::move(target.path);
  request.query = std::move(target.query);
  for (const auto& field : message) {
    // The host in an absolute target takes precedence over the Host field (RFC 9112, 3.2.2).
    const bool replaced = field.name() == http::field::host && !target.authority.empty();
    request.fields.emplace_back(std::string(field.name_string()),
                                replaced ? target.authority : std::string(field.value()));
  }
  request.keep_alive = message.keep_alive();
  return request;
}

HttpRequest HttpReader::TakeRequest() {
  CHECK(parser_->parser.is_done());
  HttpRequest request = Head();
  request.body = std::move(parser_->parser.get().body());
  parser_ = std::make_unique<Parser>(sizes_);
  return request;
}

bool HttpReader::TakeExpectation() {
  const auto& parser = parser_->parser;
  if (parser_->expectation_taken || !parser.is_header_done() || parser.is_done()) return false;
  const auto value = parser.get()[http::field::expect];
  parser_->expectation_taken = SameIgnoringCase({value.data(), value.size()}, "100-continue");
  return parser_->expectation_taken;
}

}  // namespace freshet
