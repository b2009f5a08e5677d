// Accepted connections that the HTTP port has not taken yet. A thread accepts them as they come,
// and the port takes them from one network after the other (server/base/client_network.h). In the
// kernel's queue a client would have to wait behind all earlier connections.
#ifndef FRESHET_SERVER_PORTS_ARRIVALS_H_
#define FRESHET_SERVER_PORTS_ARRIVALS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/base/ip_address.h"
#include "core/base/status.h"
#include "server/base/client_turns.h"
#include "server/ports/acceptor.h"
#include "server/ports/polling_thread.h"
#include "sync/mutex.h"

namespace freshet {

// The queue and its thread. Lifecycle: Listen, Start, Stop. Thread-safe.
class Arrivals {
 public:
  // An accepted connection; the taker owns the descriptor.
  struct Arrival {
    int descriptor = -1;
    IpAddress network;
  };
  // Value type, thread-compatible.
  struct Stats {
    uint64_t dropped = 0;  // closed to make room for others
    uint64_t failed = 0;   // not accepted: the system was out of descriptors or memory
  };

  // At most `most` connections wait, and each network has a limited share of them (MayTakePlace). A
  // connection beyond the share replaces the oldest one of its network.
  explicit Arrivals(size_t most) : most_(most) {}
  ~Arrivals() { Stop(); }
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  // See Acceptor::Listen.
  [[nodiscard]] StatusOr<int> Listen(const std::string& address) {
    return acceptor_.Listen(address);
  }
  // Starts to accept connections. Calls `come` when a connection enters the empty queue, and
  // `lacking` when the system is out of descriptors or memory. Both are called on the accepting
  // thread, without a lock.
  void Start(std::function<void()> come, std::function<void()> lacking);
  // Stops accepting, and closes waiting connections. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

  // Takes the next connection; unset = none waits.
  [[nodiscard]] std::optional<Arrival> Take() FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] Stats stats() const FRESHET_EXCLUDES(mutex_);

 private:
  void Run();
  void Enter(int descriptor) FRESHET_EXCLUDES(mutex_);

  const size_t most_;
  std::function<void()> come_;
  std::function<void()> lacking_;
  Acceptor acceptor_;  // used by the thread, from Start to Stop
  PollingThread thread_;
  mutable Mutex mutex_;
  ClientTurns<int, Ipv6Address> waiting_ FRESHET_GUARDED_BY(mutex_);
  Stats stats_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_ARRIVALS_H_
