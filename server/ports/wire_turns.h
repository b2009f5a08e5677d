// Decides which connections gRPC may read next. gRPC 1.51 makes a call of each HEADERS frame that
// it reads, and calls of all connections wait for its threads in the order of reading. A client
// that opens calls faster than gRPC takes them up would delay the calls of all clients by all of
// its own. gRPC keeps a call until the server has ended it, even if its client has cancelled it or
// closed the connection.
#ifndef FRESHET_SERVER_PORTS_WIRE_TURNS_H_
#define FRESHET_SERVER_PORTS_WIRE_TURNS_H_

#include <array>
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

// Calls of one connection. Value type, thread-compatible.
struct WireCalls {
  uint64_t opened = 0;  // so far
  uint64_t open = 0;    // ended by neither side
  friend bool operator==(const WireCalls&, const WireCalls&) = default;
};

// Counts by network (server/base/client_network.h) the calls that gRPC has read and the server has
// not heard of: no thread has come to their first message yet. While there are few, connections are
// read as they come. Beyond that, a connection whose network has more than its part is read no
// further until gRPC has taken some up. Its client is slowed, and not refused.
//
// Also counts calls left behind: their clients are done with them, but gRPC or the server is not.
// Networks share them as core/base/shares.h says, and are read no further beyond their share. The
// server ends such calls without anything more from their clients. Open calls do not count here, as
// they may need further bytes; StreamSet bounds those.
//
// Each call that gRPC makes is heard of once, and ends once after that. gRPC makes no call of some
// HEADERS frames, and does not say so: a client may have cancelled the call at once. Such frames
// hold up nobody while few calls that gRPC has made are unheard. They are forgotten once the server
// has heard of all calls that gRPC made at their time. Thread-safe.
class WireTurns {
 public:
  // Up to this number, calls are few.
  static constexpr uint64_t kFew = 64;
  // Unheard calls that a network may always have.
  static constexpr uint64_t kLeast = 4;
  // Bytes of the shortest calls. So many are read from a connection at a time that gRPC does not
  // have more than kFew calls, but at least kPiece, and the rest of a frame that has begun.
  static constexpr size_t kLeastBytesPerCall = 17;
  static constexpr size_t kPiece = 256;
  // Looks within which gRPC makes a call of what it has read.
  static constexpr int kLooksPerAge = 4;

  // Makes the waiting reader of a socket look at it again.
  using Wake = std::function<void(int descriptor)>;
  explicit WireTurns(Wake wake) : wake_(std::move(wake)) {}

  // Sets how many calls of all networks together may be left behind, from now on.
  void SetMost(uint64_t most) FRESHET_EXCLUDES(mutex_);
  // Changes the calls of a connection of the network. A closed connection has none open.
  void Count(const IpAddress& network, const WireCalls& before, const WireCalls& now)
      FRESHET_EXCLUDES(mutex_);
  // gRPC has made a call. Returns the age in which it did, for Heard.
  [[nodiscard]] uint64_t Made() FRESHET_EXCLUDES(mutex_);
  // The server has heard of a call of the network. Silent calls count as heard after a while.
  void Heard(const IpAddress& network, uint64_t age) FRESHET_EXCLUDES(mutex_);
  // gRPC and the server are done with a call of the network that the server had heard of.
  void Ended(const IpAddress& network) FRESHET_EXCLUDES(mutex_);
  // How many bytes of the network's connection may be read now. 0 = none, and it is woken when some
  // may.
  [[nodiscard]] size_t MayRead(const IpAddress& network, int descriptor) FRESHET_EXCLUDES(mutex_);
  // The socket is closed: it is not woken any more.
  void Forget(const IpAddress& network, int descriptor) FRESHET_EXCLUDES(mutex_);
  // Forgets calls that gRPC has not made, and wakes all waiting sockets. To be called again and
  // again.
  void Look() FRESHET_EXCLUDES(mutex_);
  // Ends all reads: the server ends, and would first do all that clients have sent.
  void End() FRESHET_EXCLUDES(mutex_);
  // Whether End was called.
  [[nodiscard]] bool ended() const { return ended_; }
  // Calls that gRPC has read and the server has not heard of.
  [[nodiscard]] uint64_t unheard() const FRESHET_EXCLUDES(mutex_);
  // The number of calls left behind.
  [[nodiscard]] uint64_t left_behind() const FRESHET_EXCLUDES(mutex_);

 private:
  using Key = Ipv6Address;
  // Counts by age: of the present one, and of the one before. An age lasts until no call of an
  // earlier one is unheard.
  using ByAge = std::array<uint64_t, 2>;
  // Calls of a network.
  struct Calls {
    uint64_t open = 0;   // open calls, by its clients and gRPC
    ByAge unheard = {};  // unheard calls by the age in which they were read
    uint64_t heard = 0;  // heard calls that have not ended
    [[nodiscard]] uint64_t Unheard() const { return unheard[0] + unheard[1]; }
    [[nodiscard]] uint64_t LeftBehind() const {
      const uint64_t all = Unheard() + heard;
      return all > open ? all - open : 0;
    }
    [[nodiscard]] bool empty() const { return open == 0 && Unheard() == 0 && heard == 0; }
  };
  struct Network {
    Calls calls;
    std::set<int> waiting;  // sockets
    int woken = -1;         // the last of these sockets woken
  };
  using Networks = std::map<Key, Network>;

  // Whether networks have only their parts.
  [[nodiscard]] bool AreMany() const FRESHET_REQUIRES(mutex_) {
    return unheard_ >= kFew && made_[0] + made_[1] >= kFew;
  }
  // The number of unheard calls that a network may have.
  [[nodiscard]] uint64_t Most() const FRESHET_REQUIRES(mutex_);
  // Whether nothing more of the network may be read now.
  [[nodiscard]] bool IsBeyond(const Network& network) const FRESHET_REQUIRES(mutex_);
  void Set(Network& network, const Calls& now) FRESHET_REQUIRES(mutex_);
  void ForgetUnmade() FRESHET_REQUIRES(mutex_);
  void WakeAll() FRESHET_REQUIRES(mutex_);
  // Wakes a socket of this network, or else of another one, if it may be read.
  void WakeNext(Networks::iterator network) FRESHET_REQUIRES(mutex_);
  void WakeOne(Networks::iterator network) FRESHET_REQUIRES(mutex_);
  void Tidy(Networks::iterator network) FRESHET_REQUIRES(mutex_);

  const Wake wake_;
  std::atomic<bool> ended_{false};
  mutable Mutex mutex_;
  uint64_t most_ FRESHET_GUARDED_BY(mutex_) = UINT64_MAX;
  Networks networks_ FRESHET_GUARDED_BY(mutex_);      // networks with calls or waiting sockets
  std::set<Key> waiting_ FRESHET_GUARDED_BY(mutex_);  // networks with waiting sockets
  Key woken_ FRESHET_GUARDED_BY(mutex_){};            // the last network woken
  uint64_t active_ FRESHET_GUARDED_BY(mutex_) = 0;    // networks with unheard calls
  // Counts of all networks:
  uint64_t unheard_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t left_behind_ FRESHET_GUARDED_BY(mutex_) = 0;
  ByAge made_ FRESHET_GUARDED_BY(mutex_){};  // calls made that are unheard
  uint64_t age_ FRESHET_GUARDED_BY(mutex_) = 1;
  int looks_ FRESHET_GUARDED_BY(mutex_) = 0;  // looks during this age
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_WIRE_TURNS_H_
