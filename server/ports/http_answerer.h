// A thread for slow answers, so that an event loop does not have to wait for them.
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

// The thread and its queue. Thread-safe.
class HttpAnswerer {
 public:
  using Ticket = uint64_t;
  // Called on the answerer's thread, once for each call of a route.
  using Deliver = std::function<void(std::vector<Ticket>, HttpResponse)>;

  // At most `max_calls` calls wait, each on behalf of at most `max_tickets` requests. One client
  // (HttpRequest::client) may have only a share of the waiting calls (core/base/shares.h). Clients
  // take turns.
  HttpAnswerer(size_t max_calls, size_t max_tickets, Deliver deliver);
  ~HttpAnswerer();
  HttpAnswerer(const HttpAnswerer&) = delete;
  HttpAnswerer& operator=(const HttpAnswerer&) = delete;

  void Start();
  // Drops waiting calls, and waits for the running call to end. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

  // Queues a call of the route, which outlives this object, for the request. In the lane kShared,
  // one call answers all GET requests for the same route that wait when it begins. Returns false if
  // too many calls or requests wait. `wanted` says whether a request with this ticket still waits.
  [[nodiscard]] bool Ask(const HttpRoute& route, HttpRequest request, Ticket ticket,
                         const std::function<bool(Ticket)>& wanted) FRESHET_EXCLUDES(mutex_);
  // The number of queued calls.
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

// Calls the route. Returns a response with status 500 if the route throws.
[[nodiscard]] HttpResponse CallRoute(const HttpRoute& route, const HttpRequest& request);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_HTTP_ANSWERER_H_
