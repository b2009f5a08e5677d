// Forwards the IndexNow pings that a standby receives to the serving server, which answers them.
#ifndef FRESHET_SERVER_FORWARD_FORWARDED_PINGS_H_
#define FRESHET_SERVER_FORWARD_FORWARDED_PINGS_H_

#include <functional>
#include <optional>
#include <utility>

#include "core/base/units.h"
#include "server/auth/door.h"
#include "server/base/system_clock.h"
#include "server/forward/forwarder.h"
#include "server/forward/serving_peer.h"
#include "server/ports/http_message.h"

namespace freshet {

struct ServerConfig;

// The forwarder. Thread-safe, except Answer: only one thread at a time may call it.
class ForwardedPings {
 public:
  // Returns the serving server; nullopt = none, or not known.
  using Find = std::function<std::optional<ServingPeer>()>;

  // All referenced objects must outlive this object.
  ForwardedPings(const ServerConfig& config, const Door& door, Clock& clock,
                 ForwardCounters& counters, Find find)
      : config_(config),
        clock_(clock),
        counters_(counters),
        find_(std::move(find)),
        connection_(config, door) {}

  // Forwards a ping and waits for the answer. 503: no server serves, or the server did not answer
  // within five seconds. After that, all pings get 503 at once for ten seconds, so that they do not
  // wait one after the other. 413: the ping is too large for a message between servers.
  [[nodiscard]] HttpResponse Answer(const HttpRequest& request);
  // Cancels the call under way, and makes no more calls. Idempotent.
  void Stop() { connection_.Stop(); }

 private:
  // Returns the reason why there is no answer; nullptr = `response` is set.
  [[nodiscard]] const char* Refused(const HttpRequest& request, HttpResponse* response);

  const ServerConfig& config_;
  Clock& clock_;
  ForwardCounters& counters_;
  const Find find_;
  PeerConnection connection_;
  // Only Answer uses the following fields.
  std::optional<ServingPeer> silent_;  // the last server that did not answer
  Instant rests_until_;                // silent_ is not asked before this time
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_FORWARDED_PINGS_H_
