// An HTTP port that answers whatever its clients do. One thread runs an event loop over all
// connections, within limits on their number, bytes and time; one shakes TLS hands; others make
// slow answers. The port knows nothing of Freshet: it serves a table of routes.
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
  // Gives the TLS of a new connection, called for each, never nullptr. Unset = plain text.
  std::function<std::shared_ptr<const TlsMaterial>()> tls;
  // Called for every request of a route, on the event loop: an answer refuses it. Unset = none is
  // refused.
  std::function<std::optional<HttpResponse>(const HttpRoute&, const HttpRequest&)> guard;
  // Open connections. At the cap a new one takes the place of one of the client with the most,
  // namely the one longest without a whole request. A client is a network
  // (server/base/client_network.h). If no client has more than one, and all are younger than a
  // second, the new one is closed. So it is while more than a quarter of the cap are closed with
  // unfinished handshakes. As many more may wait to be taken, by turns of their networks.
  size_t max_connections = 256;
  // TLS handshakes of one client under way at a time; its others wait. A thread of their own makes
  // them, so that nobody else waits for their processor time.
  size_t max_handshakes_per_client = 4;
  HttpSizes sizes;
  // From the first byte of a request, or from the beginning of the connection, to the last byte.
  Duration request_time = Duration::Seconds(5);
  // Between an answer and the first byte of the next request.
  Duration idle_time = Duration::Seconds(30);
  // The time to make an answer, and then for the client to take all of it.
  Duration answer_time = Duration::Seconds(10);
  // The time for a client to end its side of a finished connection, so that it sees the answer.
  Duration linger_time = Duration::Seconds(1);
  size_t max_waiting = limits::kMaxWaitingHttpRequests;
  // Sets HttpRequest::admin, and HttpRequest::client, whose requests are counted together and wait
  // as core/base/shares.h says. Unset = an address is a client.
  std::function<void(HttpRequest*)> recognise;
  // Requests with a body larger than `sizes` allows, from their header to their answer. A client
  // (`recognise`) has a share of them (core/base/shares.h). A further one takes the place of the
  // first unfinished one after large_body_time: of the client's own if it has any, else of all. If
  // there is none, it gets 503. After large_body_time a body slower than
  // limits::kLeastBytesPerSecond ends with 408. Only requests that `guard` admits count.
  size_t max_large_bodies = limits::kMaxLargeHttpBodies;
  Duration large_body_time = Duration::Seconds(1);
  // Bytes of unsent answers. At the cap a client that has the most loses its oldest connection that
  // is being answered.
  size_t max_unsent_bytes = limits::kMaxUnsentHttpBytes;
};

// Counts of connections and requests since the start. Value type, thread-compatible.
struct HttpStats {
  size_t open = 0;
  size_t limit = 0;
  uint64_t taken = 0;
  uint64_t failed = 0;     // not accepted, because the system lacked something
  uint64_t evicted = 0;    // closed to make room, or for bytes that nobody takes
  uint64_t idle = 0;       // closed because no request came
  uint64_t timed_out = 0;  // an unfinished request, or an answer not taken
  size_t waiting = 0;      // requests of slow routes, not begun
  uint64_t refused = 0;    // requests answered with 503, as there was too much to do
};

// The port. Memory: a connection holds at most one request and one answer; at most max_large_bodies
// have a body larger than `sizes` allows. Thread-safe.
class HttpPort {
 public:
  HttpPort(std::vector<HttpRoute> routes, HttpOptions options);
  ~HttpPort();
  HttpPort(const HttpPort&) = delete;
  HttpPort& operator=(const HttpPort&) = delete;

  // Listens at "host:port", port 0 being any free one, and returns the port. Called once.
  // Unavailable, with the reason, if the address cannot be had.
  [[nodiscard]] StatusOr<int> Start(const std::string& address);
  // Takes no more connections, and gives answers under way a moment. No route is called after it
  // has returned. Idempotent.
  void Stop();
  // The counts; events during the call may be in or out.
  [[nodiscard]] HttpStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_HTTP_PORT_H_
