// An HTTP port that answers whatever its clients do: one thread turns an event loop over all
// connections, within limits on their number, bytes and time, one shakes hands where it speaks TLS,
// and others answer what takes a while. Knows nothing of Freshet: what it serves is a table of
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
  // What a new connection is to speak TLS with, called for each and never null. Unset: plain text.
  std::function<std::shared_ptr<const TlsMaterial>()> tls;
  // Asked for every request of a route, on the event loop: an answer refuses it. Unset: none is.
  std::function<std::optional<HttpResponse>(const HttpRoute&, const HttpRequest&)> guard;
  // At the cap a new connection takes the place of the one that has been without a whole request
  // the longest, of those of a client that has the most: a network (server/base/client_network.h).
  // Where none has more than one, and each is younger than a second, the new one is closed. So it
  // is while more than a quarter as many are closed whose handshakes have not ended yet.
  // As many connections may be waiting for the system to hand them over besides.
  size_t max_connections = 256;
  // Handshakes of TLS of one client that are under way at a time; its others wait. They are made on
  // a thread of their own, so that nobody else waits for the processor time that they take.
  size_t max_handshakes_per_client = 4;
  HttpSizes sizes;
  // From the first byte of a request, or from the beginning of the connection, to the last byte.
  Duration request_time = Duration::Seconds(5);
  // Between an answer and the first byte of the next request.
  Duration idle_time = Duration::Seconds(30);
  // For an answer to be made, and then for the client to take all of it.
  Duration answer_time = Duration::Seconds(10);
  // What a client has to end its side once the connection is done, so that it sees the answer.
  Duration linger_time = Duration::Seconds(1);
  size_t max_waiting = limits::kMaxWaitingHttpRequests;
  // Sets HttpRequest::client, whose requests are counted together and wait as core/base/shares.h
  // has it, and HttpRequest::admin. Unset: those of an address are a client's.
  std::function<void(HttpRequest*)> recognise;
  // Requests with a body that is larger than `sizes` has it, from their header to their answer. A
  // client (`recognise`) has a share of them (core/base/shares.h). One more takes the place of the
  // first that is still not whole after large_body_time: of the client's own if it has some, else
  // of all; if there is none, it gets 503. A body that has come more slowly than
  // limits::kLeastBytesPerSecond since large_body_time ends with 408. Only those that `guard` lets
  // pass count.
  size_t max_large_bodies = limits::kMaxLargeHttpBodies;
  Duration large_body_time = Duration::Seconds(1);
  // Answers may have so many bytes. Past it a client that has the most loses its oldest connection
  // that is being answered.
  size_t max_unsent_bytes = limits::kMaxUnsentHttpBytes;
};

// What has become of connections and requests since the start. Value type, thread-compatible.
struct HttpStats {
  size_t open = 0;
  size_t limit = 0;
  uint64_t taken = 0;
  uint64_t failed = 0;     // could not be accepted for want of something in the system
  uint64_t evicted = 0;    // closed to make room, or of bytes nobody takes
  uint64_t idle = 0;       // closed because no request came
  uint64_t timed_out = 0;  // a request that did not come to its end, or an answer not taken
  size_t waiting = 0;      // requests of routes that take a while, not looked at yet
  uint64_t refused = 0;    // requests that were answered with 503, as there was too much to do
};

// Thread-safe. Memory: a connection holds at most one request and one answer; at most
// max_large_bodies have a body of more than `sizes`.
class HttpPort {
 public:
  HttpPort(std::vector<HttpRoute> routes, HttpOptions options);
  ~HttpPort();
  HttpPort(const HttpPort&) = delete;
  HttpPort& operator=(const HttpPort&) = delete;

  // Listens at "host:port", port 0 being any that is free, and returns the port. Call once.
  // Unavailable, with the reason, when the address cannot be had.
  [[nodiscard]] StatusOr<int> Start(const std::string& address);
  // Takes no more connections, lets answers under way leave for a moment. No route is called after
  // it has returned. Idempotent.
  void Stop();
  // Wait-free: what is counted meanwhile may be in or out.
  [[nodiscard]] HttpStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_HTTP_PORT_H_
