// Decides which connections gRPC may read next. gRPC 1.51 creates a call for each HEADERS frame
// that it reads, and the calls of all connections wait for its threads in one queue. A client that
// opens calls faster than gRPC processes them would delay the calls of all clients. gRPC keeps a
// call until the server has ended it, even if its client has cancelled the call or closed the
// connection. A thread of gRPC that reads a connection goes on until there are no more bytes, and
// all other connections wait for the few threads that read.
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
#include "server/base/grpc_threads.h"
#include "sync/mutex.h"

namespace freshet {

// Calls of one connection. Value type, thread-compatible.
struct WireCalls {
  uint64_t opened = 0;  // so far
  uint64_t open = 0;    // not ended by either side
  // Calls that were silent at the end of a read (MessageFrames::Silent).
  uint64_t silent_opened = 0;
  uint64_t silent_over = 0;
  friend bool operator==(const WireCalls&, const WireCalls&) = default;
};

// Counts the unheard calls of each network (server/base/client_network.h). A call is unheard if
// gRPC has read it but no thread has reached its first message yet. While there are few unheard
// calls, every connection may be read. Beyond that, a connection whose network has more than its
// share is not read until gRPC has processed some of the calls. Its client is slowed down but not
// refused. A silent call, whose first message has not arrived, waits for no thread. The server
// hears it as soon as gRPC has created it.
//
// Also counts calls left behind: the client has ended them, but gRPC or the server has not.
// Networks share the limit on these calls as core/base/shares.h says, and a network beyond its
// share is not read. The server can end these calls without more bytes from the client. Open calls
// do not count here, because they may need more bytes; StreamSet limits them.
//
// Also limits runs. A run is what gRPC reads from one connection without turning to others. At the
// end of a run, the connection waits until gRPC has turned to others. While connections of a
// network wait, only some of its connections have a run at a time, and they take turns. So a
// network with many busy connections delays other networks by a few runs, not by a run for each
// connection.
//
// Every call that gRPC creates must be reported once to Heard, and later once to Ended. gRPC
// silently creates no call for some HEADERS frames, for example if the client cancelled the call at
// once. The calls of these frames stay unheard, but delay nobody while few created calls are
// unheard. Look forgets them when the server has heard all calls that gRPC created at the same
// time. Thread-safe.
class WireTurns {
 public:
  // Below this number, unheard calls count as few.
  static constexpr uint64_t kFew = 64;
  // The number of unheard calls that a network may always have.
  static constexpr uint64_t kLeast = 4;
  // The size in bytes of the shortest call. A read may have this many bytes for each call up to
  // kFew, so that it cannot bring more calls. In any case it may have kPiece bytes, plus
  // the rest of a frame that has begun.
  static constexpr size_t kLeastBytesPerCall = 17;
  static constexpr size_t kPiece = 256;
  // After this many calls of Look, gRPC has certainly created calls from the bytes that it had read
  // before.
  static constexpr int kLooksPerAge = 4;

  // Makes gRPC try again to read a waiting socket.
  using Wake = std::function<void(int descriptor)>;
  // `runs`: how many connections of one network may have a run at a time while others of this
  // network wait.
  explicit WireTurns(Wake wake, size_t runs = GrpcThreads())
      : wake_(std::move(wake)), runs_(runs) {}

  // Sets how many calls of all networks together may be left behind.
  void SetMost(uint64_t most) FRESHET_EXCLUDES(mutex_);
  // Changes the counts of one connection of the network. A closed connection has no open calls.
  void Count(const IpAddress& network, const WireCalls& before, const WireCalls& now)
      FRESHET_EXCLUDES(mutex_);
  // Notes that gRPC has created a call. Returns the current age, for Heard.
  [[nodiscard]] uint64_t Made() FRESHET_EXCLUDES(mutex_);
  // Notes that the server has heard a call of the network. The caller also reports calls without a
  // message: those of TakeSilent at once, others after a while.
  void Heard(const IpAddress& network, uint64_t age) FRESHET_EXCLUDES(mutex_);
  // Called when gRPC has created a call of the network. Returns true if the server should hear the
  // call at once, as a silent call. Which of the network's calls are silent is not known here, so
  // this function returns true as often as the network has silent calls.
  [[nodiscard]] bool TakeSilent(const IpAddress& network) FRESHET_EXCLUDES(mutex_);
  // Notes that gRPC and the server are done with a heard call of the network.
  void Ended(const IpAddress& network) FRESHET_EXCLUDES(mutex_);
  // How many bytes of the network's connection may be read now. 0 = none; the connection is woken
  // when it may be read. `ran`: the connection has ended a run, and there are bytes left.
  [[nodiscard]] size_t MayRead(const IpAddress& network, int descriptor, bool ran = false)
      FRESHET_EXCLUDES(mutex_);
  // Notes that a connection that has waited holds no more bytes.
  void Drained(const IpAddress& network, int descriptor) FRESHET_EXCLUDES(mutex_);
  // Notes that the socket is closed. It is not woken any more.
  void Forget(const IpAddress& network, int descriptor) FRESHET_EXCLUDES(mutex_);
  // Forgets unheard calls that gRPC never created, and wakes waiting sockets of each network. Must
  // be called periodically.
  void Look() FRESHET_EXCLUDES(mutex_);
  // Ends all reads, for a shutdown. Otherwise the server would first process everything that
  // clients have sent.
  void End() FRESHET_EXCLUDES(mutex_);
  // Whether End was called.
  [[nodiscard]] bool ended() const { return ended_; }
  // The number of unheard calls.
  [[nodiscard]] uint64_t unheard() const FRESHET_EXCLUDES(mutex_);
  // The number of calls left behind.
  [[nodiscard]] uint64_t left_behind() const FRESHET_EXCLUDES(mutex_);

 private:
  using Key = Ipv6Address;
  // Counts by age, for the current age and the previous one. An age lasts until no call of an
  // earlier age is unheard.
  using ByAge = std::array<uint64_t, 2>;
  // Calls of a network.
  struct Calls {
    uint64_t open = 0;          // open calls (WireCalls::open)
    ByAge unheard = {};         // unheard calls by the age in which they were read
    uint64_t heard = 0;         // heard calls that have not ended
    uint64_t silent = 0;        // silent calls
    uint64_t heard_silent = 0;  // the part of `silent` for which TakeSilent has returned true
    [[nodiscard]] uint64_t Unheard() const { return unheard[0] + unheard[1]; }
    [[nodiscard]] uint64_t LeftBehind() const {
      const uint64_t all = Unheard() + heard;
      return all > open ? all - open : 0;
    }
    [[nodiscard]] bool empty() const { return open == 0 && Unheard() == 0 && heard == 0; }
  };
  struct Network {
    Calls calls;
    // Sockets. No socket is in both sets.
    std::set<int> waiting;
    std::set<int> running;  // woken and not yet at the end of their run
    int woken = -1;         // the last socket of the network that was woken
    [[nodiscard]] bool empty() const { return calls.empty() && waiting.empty() && running.empty(); }
  };
  using Networks = std::map<Key, Network>;

  // Returns true if there are so many unheard calls that each network is limited to its share.
  [[nodiscard]] bool AreMany() const FRESHET_REQUIRES(mutex_) {
    return unheard_ >= kFew && made_[0] + made_[1] >= kFew;
  }
  // The number of unheard calls that a network may have.
  [[nodiscard]] uint64_t Most() const FRESHET_REQUIRES(mutex_);
  // Whether the network may not be read now.
  [[nodiscard]] bool IsBeyond(const Network& network) const FRESHET_REQUIRES(mutex_);
  void Set(Network& network, const Calls& now) FRESHET_REQUIRES(mutex_);
  void ForgetUnmade() FRESHET_REQUIRES(mutex_);
  // Wakes a socket of a network that may be read: of this network if there are many unheard calls,
  // otherwise of the next network in turn.
  void WakeNext(Networks::iterator network) FRESHET_REQUIRES(mutex_);
  // Wakes a waiting socket of the network, if the network may have one more run.
  void WakeOne(Networks::iterator network) FRESHET_REQUIRES(mutex_);
  void Tidy(Networks::iterator network) FRESHET_REQUIRES(mutex_);

  const Wake wake_;
  const size_t runs_;
  std::atomic<bool> ended_{false};
  mutable Mutex mutex_;
  uint64_t most_ FRESHET_GUARDED_BY(mutex_) = UINT64_MAX;
  Networks networks_ FRESHET_GUARDED_BY(mutex_);      // none is empty()
  std::set<Key> waiting_ FRESHET_GUARDED_BY(mutex_);  // networks with waiting sockets
  Key woken_ FRESHET_GUARDED_BY(mutex_){};          // the last network with a socket that was woken
  uint64_t active_ FRESHET_GUARDED_BY(mutex_) = 0;  // networks with unheard calls
  // Totals of all networks:
  uint64_t unheard_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t left_behind_ FRESHET_GUARDED_BY(mutex_) = 0;
  ByAge made_ FRESHET_GUARDED_BY(mutex_){};  // calls that gRPC has created and that are unheard
  uint64_t age_ FRESHET_GUARDED_BY(mutex_) = 1;
  int looks_ FRESHET_GUARDED_BY(mutex_) = 0;  // calls of Look in this age
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_WIRE_TURNS_H_
