// Listening sockets, and the connections that a thread accepts there.
#ifndef FRESHET_SERVER_PORTS_ACCEPTOR_H_
#define FRESHET_SERVER_PORTS_ACCEPTOR_H_

#include <poll.h>

#include <functional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "server/base/log_limit.h"

namespace freshet {

// Life: Listen, then the thread polls and accepts, Close. Thread-compatible.
class Acceptor {
 public:
  Acceptor() = default;
  ~Acceptor() { Close(); }
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Listens at "host:port", at every address of the host; port 0 takes any free one. No other
  // process can listen there. Returns the port. Unavailable says why not.
  [[nodiscard]] StatusOr<int> Listen(const std::string& address);
  [[nodiscard]] bool listens() const { return !listeners_.empty(); }
  // Appends the sockets to poll now: none while the system lacks something.
  void AddTo(std::vector<pollfd>* polled, Instant now) const;
  // Nothing is accepted before this instant; in the past = something is.
  [[nodiscard]] Instant resting_until() const { return resting_until_; }
  // Accepts some of the connections that wait at a listening socket; `take` owns each. False = the
  // system lacks something for more.
  [[nodiscard]] bool Accept(int listener, Instant now, const std::function<void(int)>& take);
  // Closes all sockets. Idempotent.
  void Close();

 private:
  std::vector<int> listeners_;
  LogLimit complaints_;
  Instant resting_until_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_ACCEPTOR_H_
