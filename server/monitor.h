// What operators see of a server, and when: the HTTP port, which answers from the first moment of a
// start to the end, and the samples that are taken while the server serves.
#ifndef FRESHET_SERVER_MONITOR_H_
#define FRESHET_SERVER_MONITOR_H_

#include <atomic>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "server/auth/door.h"
#include "server/base/log_limit.h"
#include "server/base/ticker.h"
#include "server/forward/forwarded_pings.h"
#include "server/ops/console.h"
#include "server/ops/health.h"
#include "server/ops/history.h"
#include "server/ops/history_figures.h"
#include "server/ops/http.h"
#include "server/ops/metrics.h"
#include "server/ops/status_json.h"
#include "server/ops/store_watch.h"
#include "server/ports/http_port.h"
#include "server/serving.h"
#include "server/starting.h"

namespace freshet {

struct ServerConfig;

// Thread-safe. Start once.
class Monitor {
 public:
  // At most `connections` of HTTP are open at a time. All that is referred to outlives this.
  Monitor(const ServerConfig& config, int connections, StartProgress& progress,
          const Metrics& metrics, Health& health, Door& door, Clock& clock);
  ~Monitor() { Stop(); }
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Answers probes. Returns the port.
  [[nodiscard]] StatusOr<int> Start();
  // From here on it shows this, which must live until Stop has returned, and keeps a history of it
  // beside its store.
  void Show(Serving* serving);
  // Nothing is looked at any more. Idempotent.
  void Stop();

 private:
  [[nodiscard]] HttpOptions Options(int connections);
  [[nodiscard]] HttpContent Content();
  [[nodiscard]] ConsoleContent Console();
  // Those of MakeRoutes and of the console, and the receiver of pings if it is switched on.
  [[nodiscard]] std::vector<HttpRoute> Routes();
  [[nodiscard]] RecoveryStatus Recovery() const;
  [[nodiscard]] std::string StartingMetrics() const;
  [[nodiscard]] ServerStatus Gather(const Serving& serving) const;
  [[nodiscard]] bool stopping() const;
  // Why requests are not taken; empty: they are, or the server stands by and that counts.
  [[nodiscard]] std::string NotReady(bool standby_counts) const;
  [[nodiscard]] ConsoleState State() const;
  [[nodiscard]] std::string StatusJson() const;
  [[nodiscard]] std::string Overview() const;
  // Whether anybody may look at the console, identities or not: what is of one tenant is left out.
  [[nodiscard]] bool console_is_open() const;
  // The assignments that the console shows.
  [[nodiscard]] std::vector<RecentAssignment> Recent(const Serving& serving) const;
  void Sample();
  // In the log, where the clock of the machine was set back.
  void SayIfAhead(Instant now);

  const ServerConfig& config_;
  StartProgress& progress_;
  const Metrics& metrics_;
  Health& health_;
  Door& door_;
  Clock& clock_;
  std::atomic<Serving*> serving_{nullptr};  // null while the server starts
  Annotations annotations_;
  History history_;
  FigureMaker figures_;   // the sampler's
  ForwardedPings pings_;  // while the server stands by
  HttpPort http_port_;
  StoreWatch watch_;
  LogLimit log_ahead_;  // the sampler's
  Ticker sampler_;      // last: it uses all of them
};

}  // namespace freshet

#endif  // FRESHET_SERVER_MONITOR_H_
