// The operators' view of the server: the HTTP port, which answers from the start of the process to
// its end, and samples that are taken while the server serves.
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

// The monitor. Thread-safe. Start is called once.
class Monitor {
 public:
  // At most `connections` HTTP connections are open at a time. All references outlive this object.
  Monitor(const ServerConfig& config, int connections, StartProgress& progress, Health& health,
          Door& door, Clock& clock);
  ~Monitor() { Stop(); }
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Opens the HTTP port, which answers probes from then on. Returns the port number.
  [[nodiscard]] StatusOr<int> Start();
  // Shows `serving` from now on, and keeps its history in the data directory. `serving` must live
  // until Stop has returned.
  void Show(Serving* serving);
  // Closes the HTTP port and stops sampling. Idempotent.
  void Stop();

 private:
  [[nodiscard]] HttpOptions Options(int connections);
  [[nodiscard]] HttpContent Content();
  [[nodiscard]] ConsoleContent Console();
  // The routes of MakeRoutes and of the console, and those of the IndexNow receiver if it is
  // enabled.
  [[nodiscard]] std::vector<HttpRoute> Routes();
  [[nodiscard]] RecoveryStatus Recovery() const;
  // The status of a server that does not serve yet.
  [[nodiscard]] ServerStatus GatherStarting() const;
  [[nodiscard]] ServerStatus Gather(const Serving& serving) const;
  [[nodiscard]] bool stopping() const;
  // The reason why requests are not accepted. Empty = they are accepted, or the server is a standby
  // and `standby_counts` is set.
  [[nodiscard]] std::string NotReady(bool standby_counts) const;
  [[nodiscard]] ConsoleState State() const;
  [[nodiscard]] std::string StatusJson() const;
  [[nodiscard]] std::string Overview() const;
  // Whether the console can be seen without an identity. If so, it leaves out data of single
  // tenants.
  [[nodiscard]] bool console_is_open() const;
  // The assignments that the console shows.
  [[nodiscard]] std::vector<RecentAssignment> Recent(const Serving& serving) const;
  void Sample();
  // Logs a warning if this server's time is far ahead of the machine's clock, because that clock
  // was set back.
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
  Ticker sampler_;      // last, because it uses the members above
};

}  // namespace freshet

#endif  // FRESHET_SERVER_MONITOR_H_
