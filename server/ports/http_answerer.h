// A thread that makes the answers which take a while, so that an event loop need not wait.
#ifndef FRESHET_SERVER_PORTS_HTTP_ANSWERER_H_
#define FRESHET_SERVER_PORTS_HTTP_ANSWERER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "server/base/client_turns.h"
#include "server/ports/http_message.h"
#include "sync/mutex.h"

namespace freshet {

// Thread-safe.
class HttpAnswerer {
 public:
  using Ticket = uint64_t;
  // Called on the thread, once for each call of a route.
  using Deliver = std::function<void(std::vector<Ticket>, HttpResponse)>;

  // At most `max_calls` calls wait, of one client (HttpRequest::client) a share
  // (core/base/shares.h), each for at most `max_tickets` requests. Clients have their turns one
  // after the other.
  HttpAnswerer(size_t max_calls, size_t max_tickets, Deliver deliver);
  ~HttpAnswerer();
  HttpAnswerer(const HttpAnswerer&) = delete;
  HttpAnswerer& operator=(const HttpAnswerer&) = delete;

  void Start();
  // What waits is dropped; the call under way comes to its end. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

  // Has the route, which outlives this, called for the request: together with others that wait for
  // the same GET of the first lane, but never by a call that has begun. False: too much
  // waits. `wanted` says which tickets somebody still waits for.
  [[nodiscard]] bool Ask(const HttpRoute& route, HttpRequest request, Ticket ticket,
                         const std::function<bool(Ticket)>& wanted) FRESHET_EXCLUDES(mutex_);
  // Calls that have not begun.
  [[nodiscard]] size_t waiting() const FRESHET_EXCLUDES(mutex_);

 private:
  struct Call {
    const HttpRoute* route = nullptr;
    HttpRequest request;
    std::vector<Ticket> tickets;
  };
  void Run() FRESHET_EXCLUDES(mutex_);

  const size_t max_calls_;
  const size_t max_tickets_;
  const Deliver deliver_;
  std::thread thread_;
  mutable Mutex mutex_;
  Condition wake_;
  ClientTurns<Call> calls_ FRESHET_GUARDED_BY(mutex_);
  bool stopping_ FRESHET_GUARDED_BY(mutex_) = false;
};

// What a route answers; 500 if it fails.
[[nodiscard]] HttpResponse CallRoute(const HttpRoute& route, const HttpRequest& request);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_HTTP_ANSWERER_H_
