// Forwards IndexNow pings that come to a standby: the serving server answers them, on behalf of
// their senders.
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

// The forwarder. Thread-safe, but one Answer at a time.
class ForwardedPings {
 public:
  // The serving server; nullopt = none, or unknown.
  using Find = std::function<std::optional<ServingPeer>()>;

  // All references outlive this.
  ForwardedPings(const ServerConfig& config, const Door& door, Clock& clock,
                 ForwardCounters& counters, Find find)
      : config_(config),
        clock_(clock),
        counters_(counters),
        find_(std::move(find)),
        connection_(config, door) {}

  // Waits for the answer. 503: no server serves, or it gave no answer within five seconds. Then 503
  // at once for ten seconds, because other pings wait. 413: the ping is too large for a message
  // between servers.
  [[nodiscard]] HttpResponse Answer(const HttpRequest& request);
  // Ends what is being waited for; nothing is asked any more. Idempotent.
  void Stop() { connection_.Stop(); }

 private:
  // Why there is no answer; nullptr = there is one.
  [[nodiscard]] const char* Refused(const HttpRequest& request, HttpResponse* response);

  const ServerConfig& config_;
  Clock& clock_;
  ForwardCounters& counters_;
  const Find find_;
  PeerConnection connection_;
  // Used by Answer alone:
  std::optional<ServingPeer> silent_;  // the last server that did not answer
  Instant rests_until_;                // when silent_ may be asked again
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_FORWARDED_PINGS_H_
