// HTTP/1.1 messages without sockets: parses requests within limits, and serializes answers.
#ifndef FRESHET_SERVER_PORTS_HTTP_MESSAGE_H_
#define FRESHET_SERVER_PORTS_HTTP_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "server/base/limits.h"

namespace freshet {

// Returns true if two ASCII strings are equal, ignoring case.
[[nodiscard]] bool SameIgnoringCase(std::string_view a, std::string_view b);

using HttpFields = std::vector<std::pair<std::string, std::string>>;

// A request. Value type, thread-compatible.
struct HttpRequest {
  std::string method;
  std::string path;   // without the query
  std::string query;  // as received, without the question mark
  HttpFields fields;  // in the order received; an absolute target replaces the value of Host
  std::string body;
  std::string peer;  // address of the client, without the port
  // The transport: whether the request came over TLS, whether the client has presented a verified
  // certificate, and the subject alternative names and the expiry of the certificate.
  bool secure = false;
  bool certificate = false;
  std::vector<std::string> certificate_names;
  Instant certificate_ends = Instant::Infinite();
  bool keep_alive = false;
  std::string client;  // the client to which the request is charged; set for slow routes
  bool admin = false;  // the client has the role admin; set for slow routes

  // The value of the first field with this name, ignoring case; empty = none.
  [[nodiscard]] std::string_view Field(std::string_view name) const;
};

// An answer. Value type, thread-compatible.
struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  // Shared, so that one answer to many requests is stored once; nullptr = no body.
  std::shared_ptr<const std::string> body;
  HttpFields fields;

  [[nodiscard]] size_t size() const { return body == nullptr ? 0 : body->size(); }
};

// An answer that is one line of text.
[[nodiscard]] HttpResponse TextResponse(int status, std::string_view line);
// The same with a Retry-After field, which is `wait` rounded up to whole seconds, at least 1.
[[nodiscard]] HttpResponse RetryResponse(int status, std::string_view line, Duration wait);
// The Retry-After of an answer in seconds; 0 = none.
[[nodiscard]] uint32_t RetryAfterOf(const HttpResponse& response);
// The bytes before the body, including the empty line.
[[nodiscard]] std::string HttpHead(const HttpResponse& response, bool keep_alive);

// Groups of threads for slow answers. kConsole has several threads, each other lane has one.
enum class HttpLane : uint8_t { kShared, kPings, kConsole };
inline constexpr size_t kHttpLanes = 3;

// One path of a port, either for GET and HEAD or for POST. Another route may serve the other
// methods of the same path. Value type, thread-compatible.
struct HttpRoute {
  std::string path;
  bool post = false;
  // False = answered at once on the event loop, so `answer` must not block. True = answered on the
  // threads of its lane.
  bool slow = false;
  // The threads of a slow route. In the lane kShared, one call answers all waiting GET requests for
  // the same route. In the other lanes each request has a separate call. A call may block without
  // delaying other lanes.
  HttpLane lane = HttpLane::kShared;
  // Bytes that the body of a POST may have; 0 = HttpSizes::body_bytes. Only a few bodies above
  // HttpSizes::body_bytes are held at a time (HttpOptions::max_large_bodies).
  size_t body_bytes = 0;
  // Called on one thread at a time; in the lane kConsole on several.
  std::function<HttpResponse(const HttpRequest&)> answer;
};

// The route of a request; nullptr = none. In that case `refusal` is set to a 404, 405 or 400
// answer.
[[nodiscard]] const HttpRoute* FindRoute(const std::vector<HttpRoute>& routes,
                                         const HttpRequest& request, HttpResponse* refusal);

struct HttpSizes {
  size_t header_bytes = limits::kMaxHttpHeaderBytes;
  size_t body_bytes = limits::kMaxHttpBodyBytes;
  size_t most_body_bytes =
      0;  // the highest limit of any route; lower than body_bytes = no route has a higher limit
};

// Parses requests from the bytes of one connection. If the caller gives more bytes only when Read
// returns kWantsMore, memory is bounded by the sizes and by the bytes of one call of Give.
// Owner thread only.
class HttpReader {
 public:
  // Called with the head of each request whose body may be larger than HttpSizes::body_bytes,
  // before the body is read. May raise the limit `bytes` of this body, up to
  // HttpSizes::most_body_bytes. If it returns an answer, the request is refused with that answer.
  // Unset = no limit is raised.
  using OnHead = std::function<std::optional<HttpResponse>(const HttpRequest& head, size_t* bytes)>;

  explicit HttpReader(HttpSizes sizes, OnHead on_head = nullptr);
  ~HttpReader();
  HttpReader(const HttpReader&) = delete;
  HttpReader& operator=(const HttpReader&) = delete;

  void Give(std::string_view bytes) { bytes_.append(bytes); }
  enum class State {
    kWantsMore,
    kRequest,  // TakeRequest returns it
    kRefused,  // TakeRefusal returns the answer; the connection cannot be used any more
  };
  // Parses as much as possible, up to the end of one request.
  [[nodiscard]] State Read();
  [[nodiscard]] HttpRequest TakeRequest();
  [[nodiscard]] HttpResponse TakeRefusal() { return std::move(refusal_); }
  // Whether a part of the next request has arrived.
  [[nodiscard]] bool begun() const;
  // Returns true if the client waits for "100 Continue" before it sends the body, but only once for
  // each request.
  [[nodiscard]] bool TakeExpectation();

 private:
  struct Parser;

  State Refuse(int status, std::string_view line);
  [[nodiscard]] std::optional<HttpResponse> RefusalOf() const;
  // The request so far, without its body.
  [[nodiscard]] HttpRequest Head() const;
  // Returns true if the body is within its limit, as far as its length is known. Otherwise sets
  // refusal_.
  [[nodiscard]] bool AdmitBody();

  const HttpSizes sizes_;
  const OnHead on_head_;
  std::string bytes_;  // not parsed yet
  std::unique_ptr<Parser> parser_;
  HttpResponse refusal_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_HTTP_MESSAGE_H_
