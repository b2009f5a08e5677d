// The view of operators: the HTTP port, which answers from the start of the process to its end, and
// samples taken while the server serves.
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

// The monitor. Thread-safe. Start once.
class Monitor {
 public:
  // At most `connections` of HTTP are open at a time. All references outlive this.
  Monitor(const ServerConfig& config, int connections, StartProgress& progress, Health& health,
          Door& door, Clock& clock);
  ~Monitor() { Stop(); }
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Answers probes. Returns the port number.
  [[nodiscard]] StatusOr<int> Start();
  // Shows `serving` from now on, which must live until Stop has returned, and keeps its history
  // beside its store.
  void Show(Serving* serving);
  // Ends all sampling. Idempotent.
  void Stop();

 private:
  [[nodiscard]] HttpOptions Options(int connections);
  [[nodiscard]] HttpContent Content();
  [[nodiscard]] ConsoleContent Console();
  // The routes of MakeRoutes and of the console, and the receiver of pings if it is switched on.
  [[nodiscard]] std::vector<HttpRoute> Routes();
  [[nodiscard]] RecoveryStatus Recovery() const;
  // The status of a server that does not serve yet.
  [[nodiscard]] ServerStatus GatherStarting() const;
  [[nodiscard]] ServerStatus Gather(const Serving& serving) const;
  [[nodiscard]] bool stopping() const;
  // Why requests are not taken; empty = they are, or the server is a standby and that counts.
  [[nodiscard]] std::string NotReady(bool standby_counts) const;
  [[nodiscard]] ConsoleState State() const;
  [[nodiscard]] std::string StatusJson() const;
  [[nodiscard]] std::string Overview() const;
  // Whether anybody may look at the console, even without identity: then data of single tenants is
  // left out.
  [[nodiscard]] bool console_is_open() const;
  // The assignments that the console shows.
  [[nodiscard]] std::vector<RecentAssignment> Recent(const Serving& serving) const;
  void Sample();
  // Logs that the machine's clock was set back.
  void SayIfAhead(Instant now);

  const ServerConfig& config_;
  StartProgress& progress_;
  Health& health_;
  Door& door_;
  Clock& clock_;
  std::atomic<Serving*> serving_{nullptr};  // nullptr while the server starts
  Annotations annotations_;
  History history_;
  FigureMaker figures_;   // used by the sampler
  ForwardedPings pings_;  // used by a standby
  HttpPort http_port_;
  StoreWatch watch_;
  LogLimit log_ahead_;  // used by the sampler
  Ticker sampler_;      // last: it uses all of them
};

}  // namespace freshet

#endif  // FRESHET_SERVER_MONITOR_H_
