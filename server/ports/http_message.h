// HTTP/1.1 messages without sockets: makes requests of bytes, within limits, and bytes of answers.
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

// Whether two texts of ASCII are the same but for the case of letters.
[[nodiscard]] bool SameIgnoringCase(std::string_view a, std::string_view b);

using HttpFields = std::vector<std::pair<std::string, std::string>>;

// A request. Value type, thread-compatible.
struct HttpRequest {
  std::string method;
  std::string path;   // without the query
  std::string query;  // as received, without the question mark
  HttpFields fields;  // in the order received; Host is that of an absolute target
  std::string body;
  std::string peer;  // address of the client, without the port
  // Whether the client has shown a certificate, which was checked, and its subject alternative
  // names.
  bool secure = false;  // came over TLS
  bool certificate = false;
  std::vector<std::string> certificate_names;
  Instant certificate_ends = Instant::Infinite();
  bool keep_alive = false;
  std::string client;  // whose requests are counted together; set for slow routes
  bool admin = false;  // an identity with the role admin; set for slow routes

  // The value of a field, in any case of its name; the first of several; empty = none.
  [[nodiscard]] std::string_view Field(std::string_view name) const;
};

// An answer. Value type, thread-compatible.
struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  // Shared, so that an answer to many costs its bytes once; nullptr = no body.
  std::shared_ptr<const std::string> body;
  HttpFields fields;

  [[nodiscard]] size_t size() const { return body == nullptr ? 0 : body->size(); }
};

// An answer of one line of text.
[[nodiscard]] HttpResponse TextResponse(int status, std::string_view line);
// The same with the time to come again, in whole seconds from 1.
[[nodiscard]] HttpResponse RetryResponse(int status, std::string_view line, Duration wait);
// The time of such an answer in seconds; 0 = none.
[[nodiscard]] uint32_t RetryAfterOf(const HttpResponse& response);
// The bytes before the body, with the empty line.
[[nodiscard]] std::string HttpHead(const HttpResponse& response, bool keep_alive);

// The threads for slow answers.
enum class HttpLane : uint8_t { kShared, kPings, kConsole };
inline constexpr size_t kHttpLanes = 3;

// One path of a port: GET and HEAD, or POST. Another route of the path may have the other. Value
// type, thread-compatible.
struct HttpRoute {
  std::string path;
  bool post = false;
  // False = answered at once on the event loop, so `answer` waits for nobody. True = answered on
  // the thread of its lane, one request at a time.
  bool slow = false;
  // The thread of a slow route. One call answers all waiting requests for the same GET of the first
  // lane. In the other lanes each request has its own call, which may wait without holding up other
  // lanes.
  HttpLane lane = HttpLane::kShared;
  // Bytes that the body of a POST may have; 0 = HttpSizes::body_bytes. Only a few larger bodies are
  // held at a time (HttpOptions::max_large_bodies).
  size_t body_bytes = 0;
  // Called on one thread at a time.
  std::function<HttpResponse(const HttpRequest&)> answer;
};

// The route of a request; nullptr = `refusal` is set: 404, 405 or 400.
[[nodiscard]] const HttpRoute* FindRoute(const std::vector<HttpRoute>& routes,
                                         const HttpRequest& request, HttpResponse* refusal);

struct HttpSizes {
  size_t header_bytes = limits::kMaxHttpHeaderBytes;
  size_t body_bytes = limits::kMaxHttpBodyBytes;
  size_t most_body_bytes = 0;  // the limit of any route; below body_bytes = no route has more
};

// Makes requests from the bytes of one connection. Its memory is bounded by the sizes and the bytes
// given at once, if the caller gives more only when Read wants more. Owner thread only.
class HttpReader {
 public:
  // Called with the head of each request whose body may be larger than HttpSizes::body_bytes,
  // before the body is read. May raise the limit of the body, up to HttpSizes::most_body_bytes. An
  // answer refuses the request. Unset = no body is larger.
  using OnHead = std::function<std::optional<HttpResponse>(const HttpRequest& head, size_t* bytes)>;

  explicit HttpReader(HttpSizes sizes, OnHead on_head = nullptr);
  ~HttpReader();
  HttpReader(const HttpReader&) = delete;
  HttpReader& operator=(const HttpReader&) = delete;

  void Give(std::string_view bytes) { bytes_.append(bytes); }
  enum class State {
    kWantsMore,
    kRequest,  // TakeRequest has it
    kRefused,  // TakeRefusal has the reason; the connection is of no more use
  };
  // Reads all complete parts.
  [[nodiscard]] State Read();
  [[nodiscard]] HttpRequest TakeRequest();
  [[nodiscard]] HttpResponse TakeRefusal() { return std::move(refusal_); }
  // Whether a part of the next request has come.
  [[nodiscard]] bool begun() const;
  // Whether the client waits for "100 Continue" before it sends its body; true once for a request.
  [[nodiscard]] bool TakeExpectation();

 private:
  struct Parser;

  State Refuse(int status, std::string_view line);
  [[nodiscard]] std::optional<HttpResponse> RefusalOf() const;
  // The request so far, without its body.
  [[nodiscard]] HttpRequest Head() const;
  // Whether the body fits, as far as its length is known; else refusal_ says why not.
  [[nodiscard]] bool AdmitBody();

  const HttpSizes sizes_;
  const OnHead on_head_;
  std::string bytes_;  // not read yet
  std::unique_ptr<Parser> parser_;
  HttpResponse refusal_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_HTTP_MESSAGE_H_
