// Threads for slow answers, so that an event loop does not have to wait for them.
#ifndef FRESHET_SERVER_PORTS_HTTP_ANSWERER_H_
#define FRESHET_SERVER_PORTS_HTTP_ANSWERER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "server/base/client_turns.h"
#include "server/ports/http_message.h"
#include "sync/mutex.h"

namespace freshet {

// The threads and their queue. Thread-safe.
class HttpAnswerer {
 public:
  using Ticket = uint64_t;
  // Called on a thread of the answerer, once for each call of a route.
  using Deliver = std::function<void(std::vector<Ticket>, HttpResponse)>;

  // At most `max_calls` calls wait, each on behalf of at most `max_tickets` requests. One client
  // (HttpRequest::client) may have only a share of the waiting calls (core/base/shares.h). Clients
  // take turns, and only one call of each client runs at a time.
  HttpAnswerer(size_t max_calls, size_t max_tickets, size_t threads, Deliver deliver);
  ~HttpAnswerer();
  HttpAnswerer(const HttpAnswerer&) = delete;
  HttpAnswerer& operator=(const HttpAnswerer&) = delete;

  void Start();
  // Drops waiting calls, and waits for running calls to end. Idempotent.
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
  // Takes the next call of a client of which no call runs; unset = none.
  [[nodiscard]] std::optional<Call> Next() FRESHET_REQUIRES(mutex_);
  // The number of queued calls, of all clients or of one.
  [[nodiscard]] size_t Queued() const FRESHET_REQUIRES(mutex_) { return calls_.size() + behind_; }
  [[nodiscard]] size_t Queued(const std::string& client) const FRESHET_REQUIRES(mutex_);

  const size_t max_calls_;
  const size_t max_tickets_;
  const size_t most_threads_;
  const Deliver deliver_;
  std::vector<std::thread> threads_;
  mutable Mutex mutex_;
  Condition wake_;
  ClientTurns<Call> calls_ FRESHET_GUARDED_BY(mutex_);
  // The clients with a running call. For each, the further calls that Next has reached meanwhile:
  // they wait until the running call has ended.
  std::map<std::string, std::deque<Call>> running_ FRESHET_GUARDED_BY(mutex_);
  size_t behind_ FRESHET_GUARDED_BY(mutex_) = 0;  // number of calls that wait in running_
  bool stopping_ FRESHET_GUARDED_BY(mutex_) = false;
};

// Calls the route. Returns a response with status 500 if the route throws.
[[nodiscard]] HttpResponse CallRoute(const HttpRoute& route, const HttpRequest& request);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_HTTP_ANSWERER_H_
