// The gRPC port's connections. gRPC takes any number of them, each with a file descriptor and
// memory of its own. So they are accepted here, counted, and handed over once they speak HTTP/2 or
// TLS. TLS connections are handed over a few at a time, by turns of their networks: gRPC shakes
// hands on the threads that serve all calls. At the limit a silent connection is closed to make
// room; if there is none, the new one is refused in HTTP/2.
#ifndef FRESHET_SERVER_PORTS_CONNECTIONS_H_
#define FRESHET_SERVER_PORTS_CONNECTIONS_H_

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/ip_address.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "server/base/client_network.h"
#include "server/base/client_turns.h"
#include "server/base/system_clock.h"
#include "server/ports/acceptor.h"
#include "server/ports/lobby.h"
#include "server/ports/polling_thread.h"
#include "server/ports/refusal.h"
#include "sync/mutex.h"

namespace freshet {

// Counts of connections. Value type, thread-compatible.
struct ConnectionStats {
  size_t open = 0;  // including silent ones
  size_t limit = 0;
  uint64_t accepted = 0;           // handed over since the start
  uint64_t refused = 0;            // over the limit
  uint64_t refused_by_client = 0;  // the part of `refused` over the limit of their network
  uint64_t silent = 0;  // closed because they said nothing in time, or did not speak HTTP/2
  uint64_t failed = 0;  // accepts that failed because the system lacked something
};

// Accepts, counts and hands over. Thread-safe. Life: Listen, Start, Stop.
class Connections {
 public:
  // Takes over a connected descriptor, and closes it in the end.
  using HandOver = std::function<void(int descriptor)>;
  // Is told that a handed-over connection was closed: some time later, but before another one with
  // its number is handed over. Calls nothing of this object.
  using Closed = std::function<void(int descriptor)>;

  // At most `limit` connections are open at a time, and `per_client` speaking ones from one network
  // (server/base/client_network.h). Clients begin with `speech`. `clock` outlives this.
  Connections(size_t limit, size_t per_client, Clock& clock, Speech speech = Speech::kHttp2);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // As Acceptor::Listen.
  [[nodiscard]] StatusOr<int> Listen(const std::string& address) {
    return acceptor_.Listen(address);
  }
  // Takes connections from now on. `hand_over` is called on a thread of this object.
  void Start(HandOver hand_over, Closed closed = nullptr);
  // Listens no more; nothing is handed over afterwards. Idempotent.
  void Stop();

  // Ends every handed-over connection that is still open, without a word: its owner finds it
  // closed.
  void CutAll() FRESHET_EXCLUDES(mutex_);
  // Cuts the connections of these peers. The system drops what they have not taken.
  void Cut(const std::set<Peer>& peers) FRESHET_EXCLUDES(mutex_);

  [[nodiscard]] ConnectionStats stats() const FRESHET_EXCLUDES(mutex_);

 private:
  // Tells a socket from earlier and later ones with its number.
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  struct Open {
    Identity identity;
    IpAddress network;
  };
  // A connection that was handed over and not answered yet.
  struct Shaking {
    int descriptor = -1;
    Identity identity;
    Instant until;  // the end of the wait
  };
  // A refused connection with time to read the reason.
  struct Leaving {
    int descriptor = -1;
    Instant until;
    Refusal refusal;
    bool told = false;
  };

  void Run();
  // How long the thread may wait if nothing comes.
  [[nodiscard]] Duration Patience(Instant now) const;
  void Take(int descriptor, Instant now) FRESHET_EXCLUDES(mutex_);
  // Whether the network has all the connections that it may have.
  [[nodiscard]] bool FullOf(const IpAddress& network, Instant now) FRESHET_REQUIRES(mutex_);
  // Called on the thread.
  [[nodiscard]] bool Full() const FRESHET_REQUIRES(mutex_);
  // Hands over connections that have begun to speak, and closes those that did not in time.
  void Attend(Instant now) FRESHET_EXCLUDES(mutex_);
  void HandOne(int descriptor, Instant now) FRESHET_EXCLUDES(mutex_);
  // Hands over the connections whose turn it is to shake hands.
  void ShakeHands(Instant now) FRESHET_EXCLUDES(mutex_);
  // Publishes the thread's count of silent connections.
  void TellOfLobby() FRESHET_REQUIRES(mutex_);
  // `why` is for people.
  void Refuse(int descriptor, std::string_view why, Instant now);
  // Forgets connections that have been closed.
  void Recount(Instant now) const FRESHET_REQUIRES(mutex_);
  // Forgets the connection of a number that was closed or given to another.
  void Forget(int descriptor) const FRESHET_REQUIRES(mutex_);
  // Answers refused connections, and closes those that have left or had their time.
  void SeeOff(Instant now, bool all);
  static void Tell(Leaving& leaving);
  [[nodiscard]] static bool IdentityOf(int descriptor, Identity* identity);
  // Whether the server has answered the client's first bytes, or the socket is gone.
  [[nodiscard]] static bool Answered(const Shaking& one);

  const size_t limit_;
  const size_t per_client_;
  const Speech speech_;
  Clock& clock_;
  HandOver hand_over_;
  Closed closed_;
  Acceptor acceptor_;                             // used by the thread, from Start to Stop
  Lobby lobby_;                                   // used by the thread
  ClientTurns<int, Ipv6Address> to_shake_hands_;  // used by the thread; counted as open
  std::vector<Shaking> shaking_;                  // used by the thread
  std::deque<Leaving> leaving_;                   // used by the thread, the oldest first
  PollingThread thread_;
  mutable Mutex mutex_;
  // Handed-over connections; may hold some that gRPC has closed since.
  mutable absl::flat_hash_map<int, Open> open_ FRESHET_GUARDED_BY(mutex_);
  // Their number by network; never zero.
  mutable absl::flat_hash_map<IpAddress, size_t> by_network_ FRESHET_GUARDED_BY(mutex_);
  size_t waiting_ FRESHET_GUARDED_BY(mutex_) = 0;  // in the lobby
  mutable Instant recounted_ FRESHET_GUARDED_BY(mutex_);
  ConnectionStats stats_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_CONNECTIONS_H_
