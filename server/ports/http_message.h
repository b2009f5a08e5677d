// HTTP/1.1 messages without sockets: bytes become requests within limits, answers become bytes.
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

// Value type, thread-compatible.
struct HttpRequest {
  std::string method;
  std::string path;   // without the query
  std::string query;  // as it came, without the question mark
  HttpFields fields;  // in the order in which they came; Host is that of an absolute target
  std::string body;
  std::string peer;  // address of the client, without the port
  // Whether the client has shown a certificate, which was checked, and the subject alternative
  // names in it.
  bool secure = false;  // it has come over TLS
  bool certificate = false;
  std::vector<std::string> certificate_names;
  Instant certificate_ends = Instant::Infinite();
  bool keep_alive = false;
  std::string client;  // whose requests are counted together; set for routes that take a while
  bool admin = false;  // it is an identity with the role admin; set likewise

  // The value of a field, its name in any case; empty: there is none. The first of several.
  [[nodiscard]] std::string_view Field(std::string_view name) const;
};

// Value type, thread-compatible.
struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  // Shared, so that an answer to many costs its bytes once; null: no body.
  std::shared_ptr<const std::string> body;
  HttpFields fields;

  [[nodiscard]] size_t size() const { return body == nullptr ? 0 : body->size(); }
};

// A line of text.
[[nodiscard]] HttpResponse TextResponse(int status, std::string_view line);
// The same, and when to come again: in a second or more.
[[nodiscard]] HttpResponse RetryResponse(int status, std::string_view line, Duration wait);
// Of such a response, in seconds; 0: it does not say.
[[nodiscard]] uint32_t RetryAfterOf(const HttpResponse& response);
// What comes before the body, the empty line included.
[[nodiscard]] std::string HttpHead(const HttpResponse& response, bool keep_alive);

// The threads that answer what takes a while.
enum class HttpLane : uint8_t { kShared, kPings, kConsole };
inline constexpr size_t kHttpLanes = 3;

// What a port serves at one path: GET and HEAD, or POST; another route of the same path may have
// the other. Value type, thread-compatible.
struct HttpRoute {
  std::string path;
  bool post = false;
  // False: answered at once, between the bytes of all others, so `answer` waits for nobody. True:
  // answered on the thread of its lane, one request at a time.
  bool slow = false;
  // Of a slow one: which thread. Requests that wait for the same GET of the first lane are answered
  // by one call. In the others each request has a call of its own, which may wait for others
  // without keeping anybody from the other lanes.
  HttpLane lane = HttpLane::kShared;
  // What the body of a POST may have; 0: as much as any (HttpSizes). Bodies of more are few at a
  // time (HttpOptions::max_large_bodies).
  size_t body_bytes = 0;
  // Called from one thread at a time.
  std::function<HttpResponse(const HttpRequest&)> answer;
};

// The route of a request, or null with `refusal` set: 404, 405, 400.
[[nodiscard]] const HttpRoute* FindRoute(const std::vector<HttpRoute>& routes,
                                         const HttpRequest& request, HttpResponse* refusal);

struct HttpSizes {
  size_t header_bytes = limits::kMaxHttpHeaderBytes;
  size_t body_bytes = limits::kMaxHttpBodyBytes;
  size_t most_body_bytes = 0;  // that any route may have; less than body_bytes: none has more
};

// Makes requests of the bytes of one connection. What it holds is bounded by the sizes and what is
// given at once, if no more is given before Read has said that it wants more. Owner thread only.
class HttpReader {
 public:
  // Asked once for each request whose body may be larger than HttpSizes::body_bytes, before it is
  // read: the request without its body. May raise what the body may have, up to
  // HttpSizes::most_body_bytes. An answer refuses the request. Unset: no body is larger.
  using OnHead = std::function<std::optional<HttpResponse>(const HttpRequest& head, size_t* bytes)>;

  explicit HttpReader(HttpSizes sizes, OnHead on_head = nullptr);
  ~HttpReader();
  HttpReader(const HttpReader&) = delete;
  HttpReader& operator=(const HttpReader&) = delete;

  void Give(std::string_view bytes) { bytes_.append(bytes); }
  enum class State {
    kWantsMore,
    kRequest,  // TakeRequest has it
    kRefused,  // TakeRefusal says why; the connection is of no more use
  };
  // Reads as far as the bytes go.
  [[nodiscard]] State Read();
  [[nodiscard]] HttpRequest TakeRequest();
  [[nodiscard]] HttpResponse TakeRefusal() { return std::move(refusal_); }
  // Whether a part of the next request is there.
  [[nodiscard]] bool begun() const;
  // Whether the client waits for "100 Continue" before it sends its body; true once a request.
  [[nodiscard]] bool TakeExpectation();

 private:
  struct Parser;

  State Refuse(int status, std::string_view line);
  [[nodiscard]] std::optional<HttpResponse> RefusalOf() const;
  // What was read of the request, without its body.
  [[nodiscard]] HttpRequest Head() const;
  // Whether there is room for the body, as far as it is known; else refusal_ says why not.
  [[nodiscard]] bool AdmitBody();

  const HttpSizes sizes_;
  const OnHead on_head_;
  std::string bytes_;  // not read yet
  std::unique_ptr<Parser> parser_;
  HttpResponse refusal_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_HTTP_MESSAGE_H_
