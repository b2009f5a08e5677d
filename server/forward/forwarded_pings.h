// Pings of IndexNow that come to a server of a cluster that stands by: the one that serves answers
// them, on behalf of whoever sent them.
#ifndef FRESHET_SERVER_FORWARD_FORWARDED_PINGS_H_
#define FRESHET_SERVER_FORWARD_FORWARDED_PINGS_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/units.h"
#include "server/auth/door.h"
#include "server/base/system_clock.h"
#include "server/forward/forwarder.h"
#include "server/forward/serving_peer.h"
#include "server/ports/http_message.h"
#include "sync/mutex.h"

namespace freshet {

struct ServerConfig;

// Thread-safe, but for one Answer at a time.
class ForwardedPings {
 public:
  // Who serves; nullopt: nobody does, or it is not known.
  using Find = std::function<std::optional<ServingPeer>()>;

  // All that is referred to outlives this.
  ForwardedPings(const ServerConfig& config, const Door& door, Clock& clock,
                 ForwardCounters& counters, Find find)
      : config_(config), door_(door), clock_(clock), counters_(counters), find_(std::move(find)) {}

  // Waits for the answer. 503 where nobody serves, where there is none within five seconds, and at
  // once for ten seconds after that: other pings wait meanwhile. 413: a message of these servers
  // may not be so large.
  [[nodiscard]] HttpResponse Answer(const HttpRequest& request) FRESHET_EXCLUDES(mutex_);
  // Ends what is being waited for; nothing is asked any more. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

 private:
  // Why it was not answered; null: it was.
  [[nodiscard]] const char* Refused(const HttpRequest& request, HttpResponse* response);
  // Makes a connection to `peer`; false: it cannot be had.
  [[nodiscard]] bool Connect(const ServingPeer& peer);
  [[nodiscard]] grpc::Status Ask(const HttpRequest& request, HttpResponse* response)
      FRESHET_EXCLUDES(mutex_);

  const ServerConfig& config_;
  const Door& door_;
  Clock& clock_;
  ForwardCounters& counters_;
  const Find find_;
  // Of Answer.
  std::optional<ServingPeer> peer_;  // to which the channel leads
  std::shared_ptr<grpc::Channel> channel_;
  Instant rests_until_;  // as it did not answer
  Mutex mutex_;
  grpc::ClientContext* under_way_ FRESHET_GUARDED_BY(mutex_) = nullptr;
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_FORWARDED_PINGS_H_
