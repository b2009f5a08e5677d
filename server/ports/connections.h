// The gRPC port's connections. gRPC takes any number of them, each with a file descriptor and
// memory of its own; so they are accepted here, counted, and handed over once they speak HTTP/2 or
// TLS. gRPC shakes hands on the threads that serve all calls: those that speak TLS are handed over
// a few at a time, by turns of their networks. One too many is told so in the words of HTTP/2, and
// closed: rather one that is silent than one that comes.
#ifndef FRESHET_SERVER_PORTS_CONNECTIONS_H_
#define FRESHET_SERVER_PORTS_CONNECTIONS_H_

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/ip_address.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "server/base/client_turns.h"
#include "server/base/log_limit.h"
#include "server/base/system_clock.h"
#include "server/ports/lobby.h"
#include "server/ports/refusal.h"
#include "sync/mutex.h"

namespace freshet {

// Value type, thread-compatible.
struct ConnectionStats {
  size_t open = 0;  // also those that have said nothing yet
  size_t limit = 0;
  uint64_t accepted = 0;           // since the start, and handed over
  uint64_t refused = 0;            // for being too many
  uint64_t refused_by_client = 0;  // of these, for being too many of their network
  uint64_t silent = 0;  // closed because they said nothing in time, or did not speak HTTP/2
  uint64_t failed = 0;  // accepts that failed for lack of something in the system
};

// Thread-safe. Life: Listen, Start, Stop.
class Connections {
 public:
  // Takes over a connected descriptor, closing it in the end.
  using HandOver = std::function<void(int descriptor)>;
  // Hears that one which was handed over is closed, some time later, and before another one with
  // its number is handed over. Calls nothing of this object.
  using Closed = std::function<void(int descriptor)>;

  // At most `limit` are open at a time, and of those that have spoken `per_client` from one network
  // (server/base/client_network.h); clients begin with `speech`. `clock` outlives this.
  Connections(size_t limit, size_t per_client, Clock& clock, Speech speech = Speech::kHttp2);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Listens at "host:port", at every address that the host has; port 0 takes any that is free. No
  // other process can listen there. Returns the port. Unavailable says why not.
  [[nodiscard]] StatusOr<int> Listen(const std::string& address);
  // From here on connections are taken. `hand_over` is called on a thread of this object's.
  void Start(HandOver hand_over, Closed closed = nullptr);
  // Listens no more; afterwards nothing is handed over. Idempotent.
  void Stop();

  // Ends every connection that was handed over and is open still, without a word, so that whoever
  // has taken it over finds it closed.
  void CutAll() FRESHET_EXCLUDES(mutex_);

  [[nodiscard]] ConnectionStats stats() const FRESHET_EXCLUDES(mutex_);

 private:
  // What tells a socket from others that had or will have its number.
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  struct Open {
    Identity identity;
    IpAddress network;
  };
  // A connection that was handed over and has not been answered.
  struct Shaking {
    int descriptor = -1;
    Identity identity;
    Instant until;  // then it is no longer waited for
  };
  // A refused connection that is given the time to hear why.
  struct Leaving {
    int descriptor = -1;
    Instant until;
    Refusal refusal;
    bool told = false;
  };

  void Run();
  // How long nothing is to be done unless something comes.
  [[nodiscard]] Duration Patience(Instant now) const;
  void Accept(int listener, Instant now);
  void Take(int descriptor, Instant now) FRESHET_EXCLUDES(mutex_);
  // Whether the network has as many as it may.
  [[nodiscard]] bool FullOf(const IpAddress& network, Instant now) FRESHET_REQUIRES(mutex_);
  // Of the thread.
  [[nodiscard]] bool Full() const FRESHET_REQUIRES(mutex_);
  // Hands over those that have begun to speak, and closes those that did not in time.
  void Attend(Instant now) FRESHET_EXCLUDES(mutex_);
  void HandOne(int descriptor, Instant now) FRESHET_EXCLUDES(mutex_);
  // Hands over those whose turn it is to shake hands.
  void ShakeHands(Instant now) FRESHET_EXCLUDES(mutex_);
  // What the thread knows about those that are silent, for others.
  void TellOfLobby() FRESHET_REQUIRES(mutex_);
  // `why`: for people.
  void Refuse(int descriptor, std::string_view why, Instant now);
  // Forgets those that have been closed.
  void Recount(Instant now) const FRESHET_REQUIRES(mutex_);
  // That of a number that was closed or given to another, if it is known.
  void Forget(int descriptor) const FRESHET_REQUIRES(mutex_);
  // Answers those that are refused, and closes what has left or had its time.
  void SeeOff(Instant now, bool all);
  static void Tell(Leaving& leaving);
  [[nodiscard]] static bool IdentityOf(int descriptor, Identity* identity);
  // Whether the server has answered what the client began with, or the socket is no more.
  [[nodiscard]] static bool Answered(const Shaking& one);

  const size_t limit_;
  const size_t per_client_;
  const Speech speech_;
  Clock& clock_;
  HandOver hand_over_;
  Closed closed_;
  std::vector<int> listeners_;
  int wake_ = -1;                                 // an eventfd
  Lobby lobby_;                                   // of the thread
  ClientTurns<int, Ipv6Address> to_shake_hands_;  // of the thread: counted as open
  std::vector<Shaking> shaking_;                  // of the thread
  LogLimit complaints_;                           // of the thread
  std::deque<Leaving> leaving_;                   // of the thread, the oldest first
  Instant resting_until_;                         // of the thread: nothing is accepted before
  std::thread thread_;
  mutable Mutex mutex_;
  // Of those handed over; may hold some that gRPC has closed since.
  mutable absl::flat_hash_map<int, Open> open_ FRESHET_GUARDED_BY(mutex_);
  // Of these, by their network; none are zero.
  mutable absl::flat_hash_map<IpAddress, size_t> by_network_ FRESHET_GUARDED_BY(mutex_);
  size_t waiting_ FRESHET_GUARDED_BY(mutex_) = 0;  // in the lobby
  mutable Instant recounted_ FRESHET_GUARDED_BY(mutex_);
  ConnectionStats stats_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_CONNECTIONS_H_
