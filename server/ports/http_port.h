// An HTTP port that keeps answering whatever its clients do. One thread runs an event loop for all
// connections, with limits on their number, bytes and time. Another thread does TLS handshakes, and
// further threads compute slow answers. The port knows nothing about Freshet: it serves a table of
// routes.
#ifndef FRESHET_SERVER_PORTS_HTTP_PORT_H_
#define FRESHET_SERVER_PORTS_HTTP_PORT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "server/auth/tls_files.h"
#include "server/ports/http_message.h"

namespace freshet {

struct HttpOptions {
  // Returns the TLS material for a new connection, never nullptr. Called for each connection. Unset
  // = plain text.
  std::function<std::shared_ptr<const TlsMaterial>()> tls;
  // Called for every request of a route, on the event loop. If it returns an answer, the request is
  // refused with that answer. Unset = no request is refused.
  std::function<std::optional<HttpResponse>(const HttpRoute&, const HttpRequest&)> guard;
  // Open connections. A client is a network here (server/base/client_network.h). At the cap, a new
  // connection evicts a connection of the client that has the most: the one that has been longest
  // without a complete request. If no client has more than one connection, and the one to be
  // evicted is younger than a second, the new connection is closed instead.
  //
  // A connection that is closed during its handshake keeps its resources until the handshake thread
  // notices. While more than a quarter of max_connections are in this state, all new connections
  // are closed.
  //
  // Up to max_connections further connections can wait until the port takes them; networks take
  // turns (server/ports/arrivals.h).
  size_t max_connections = 256;
  // TLS handshakes of one client that are in progress at a time; its other handshakes wait. A
  // separate thread does them, so that requests do not wait for their processor time.
  size_t max_handshakes_per_client = 4;
  HttpSizes sizes;
  // The time from the first byte of a request, or from the start of the connection, to the last
  // byte of the request.
  Duration request_time = Duration::Seconds(5);
  // The time between an answer and the first byte of the next request.
  Duration idle_time = Duration::Seconds(30);
  // The time to compute an answer, and then the time for the client to receive all of it.
  Duration answer_time = Duration::Seconds(10);
  // The time for a client to close its side of a finished connection. The wait ensures that it
  // receives the answer.
  Duration linger_time = Duration::Seconds(1);
  size_t max_waiting = limits::kMaxWaitingHttpRequests;
  // Sets HttpRequest::admin and HttpRequest::client. Waiting requests of one client are limited as
  // core/base/shares.h says. Unset = each address is a client.
  std::function<void(HttpRequest*)> recognise;
  // The maximum number of requests with a body larger than `sizes` allows, each counted from its
  // header to its answer. Only requests that `guard` admits count. A client (`recognise`) may have
  // a share of them (core/base/shares.h). If there is no place for a new body, it replaces the
  // oldest body that is still incomplete after large_body_time. If the client has large bodies
  // itself, only one of them can be replaced. If no body can be replaced, the request gets 503.
  // After large_body_time, a body slower than limits::kLeastBytesPerSecond ends with 408.
  size_t max_large_bodies = limits::kMaxLargeHttpBodies;
  Duration large_body_time = Duration::Seconds(1);
  // The maximum number of bytes of unsent answers. At the cap, the client with the most unsent
  // bytes loses its oldest connection with an unsent answer.
  size_t max_unsent_bytes = limits::kMaxUnsentHttpBytes;
};

// Counts of connections and requests since the start. Value type, thread-compatible.
struct HttpStats {
  size_t open = 0;
  size_t limit = 0;
  uint64_t taken = 0;
  uint64_t failed = 0;   // not accepted: the system was out of descriptors or memory
  uint64_t evicted = 0;  // closed to make room for connections, bodies or unsent bytes
  uint64_t idle = 0;     // closed because no request came
  uint64_t timed_out =
      0;  // ended by an incomplete request, or by an answer that the client did not receive
  size_t waiting = 0;    // queued calls of slow routes
  uint64_t refused = 0;  // requests answered with 503 because the server was too busy
};

// The port. Memory: a connection holds at most one request and one answer. At most max_large_bodies
// connections have a body larger than `sizes` allows. Thread-safe.
class HttpPort {
 public:
  HttpPort(std::vector<HttpRoute> routes, HttpOptions options);
  ~HttpPort();
  HttpPort(const HttpPort&) = delete;
  HttpPort& operator=(const HttpPort&) = delete;

  // Listens at "host:port", where port 0 means any free port, and returns the port. Must be called
  // only once. Not OK: Unavailable, with the reason, if it cannot listen there.
  [[nodiscard]] StatusOr<int> Start(const std::string& address);
  // Accepts no more connections, and gives answers that are being written one second. No route is
  // called after Stop has returned. Idempotent.
  void Stop();
  // The counts. They may or may not include events during the call.
  [[nodiscard]] HttpStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_HTTP_PORT_H_
