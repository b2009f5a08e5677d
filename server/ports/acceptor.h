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

// Lifecycle: Listen, then one thread polls and accepts, then Close. Thread-compatible.
class Acceptor {
 public:
  Acceptor() = default;
  ~Acceptor() { Close(); }
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Listens at "host:port", on every address of the host; port 0 = any free port. No other process
  // can listen there. Returns the port. Not OK: Unavailable, with the reason.
  [[nodiscard]] StatusOr<int> Listen(const std::string& address);
  [[nodiscard]] bool listens() const { return !listeners_.empty(); }
  // Appends the listening sockets that should be polled now: none during a pause after the system
  // ran out of descriptors or memory.
  void AddTo(std::vector<pollfd>* polled, Instant now) const;
  // No connection is accepted before this instant, which may lie in the past.
  [[nodiscard]] Instant resting_until() const { return resting_until_; }
  // Accepts some of the connections that wait at a listening socket, and passes each to `take`,
  // which owns it. Returns false if the system has run out of descriptors or memory.
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
