// Which connections gRPC may read next. gRPC 1.51 makes a call of each HEADERS frame that it reads,
// and calls of all connections wait for its threads in the order in which they were read. A client
// that opens calls faster than gRPC takes them up would delay everybody's calls by all of its own.
#ifndef FRESHET_SERVER_PORTS_WIRE_TURNS_H_
#define FRESHET_SERVER_PORTS_WIRE_TURNS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "core/base/ip_address.h"
#include "sync/mutex.h"

namespace freshet {

// Counts by network (server/base/client_network.h) the calls that gRPC has read and the server has
// not heard of. While there are few, connections are read as they come. Beyond that, a connection
// whose network has more than its part of them is read no further until gRPC has taken some up:
// its client is slowed, and not refused. Thread-safe.
class WireTurns {
 public:
  // So many calls are few.
  static constexpr uint64_t kFew = 256;
  // A network may have so many in any case.
  static constexpr uint64_t kLeast = 4;
  // Bytes that are read of a connection at a time while there are many: up to 15 calls.
  static constexpr size_t kPiece = 256;

  // Makes whoever waits for a socket look at it again.
  using Wake = std::function<void(int descriptor)>;
  explicit WireTurns(Wake wake) : wake_(std::move(wake)) {}

  // Connections of the network have opened so many calls, and so many have ended. A call that has
  // ended is waited for no longer.
  void Count(const IpAddress& network, uint64_t opened, uint64_t ended) FRESHET_EXCLUDES(mutex_);
  // The server has heard of a call of the network.
  void Heard(const IpAddress& network) FRESHET_EXCLUDES(mutex_);
  // How many bytes of this connection of the network may be read now. Zero: none, and it is woken
  // when some may.
  [[nodiscard]] size_t MayRead(const IpAddress& network, int descriptor) FRESHET_EXCLUDES(mutex_);
  // The socket is closed: it is not woken any more.
  void Forget(const IpAddress& network, int descriptor) FRESHET_EXCLUDES(mutex_);
  // Wakes all that wait. To be called again and again: gRPC may drop a call of which the server
  // never hears.
  void WakeAll() FRESHET_EXCLUDES(mutex_);
  // Nothing is read any more: the server ends, and would first do all that clients have sent.
  void End() FRESHET_EXCLUDES(mutex_);
  // Whether that was said.
  [[nodiscard]] bool ended() const { return ended_; }
  // Calls that gRPC has read and the server has not heard of.
  [[nodiscard]] uint64_t unheard() const FRESHET_EXCLUDES(mutex_);

 private:
  using Key = Ipv6Address;
  struct Network {
    uint64_t open = 0;      // calls
    uint64_t unheard = 0;   // of these
    std::set<int> waiting;  // sockets
    int woken = -1;         // of these, the last
  };
  using Networks = std::map<Key, Network>;

  // What a network may have.
  [[nodiscard]] uint64_t Most() const FRESHET_REQUIRES(mutex_);
  void SetUnheard(Network& network, uint64_t unheard) FRESHET_REQUIRES(mutex_);
  // Wakes a socket of this network, or else of another one, if it may be read.
  void WakeNext(Networks::iterator network) FRESHET_REQUIRES(mutex_);
  void WakeOne(Networks::iterator network) FRESHET_REQUIRES(mutex_);
  void Tidy(Networks::iterator network) FRESHET_REQUIRES(mutex_);

  const Wake wake_;
  std::atomic<bool> ended_{false};
  mutable Mutex mutex_;
  Networks networks_ FRESHET_GUARDED_BY(mutex_);      // with calls or waiting sockets
  std::set<Key> waiting_ FRESHET_GUARDED_BY(mutex_);  // networks with waiting sockets
  Key woken_ FRESHET_GUARDED_BY(mutex_){};            // of these, the last
  uint64_t active_ FRESHET_GUARDED_BY(mutex_) = 0;    // networks with unheard calls
  uint64_t unheard_ FRESHET_GUARDED_BY(mutex_) = 0;   // of all
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_WIRE_TURNS_H_
