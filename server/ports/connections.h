// The gRPC port's connections. gRPC itself accepts any number of connections, and each costs a file
// descriptor and memory. So this class accepts and counts them. It passes a connection to gRPC once
// the client has begun to speak HTTP/2 or TLS. TLS connections are passed on a few at a time, from
// one network after the other, because gRPC does handshakes on the threads that serve all calls. If
// too many connections are open, the one that has been silent longest is refused to make room for a
// new one. If none is silent, the new one is refused. Refused clients get the reason in HTTP/2, but
// not over TLS.
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
  uint64_t refused_by_client = 0;  // part of `refused`: over the limit of their network
  uint64_t silent =
      0;  // closed because they sent nothing in time, or did not speak the expected protocol
  uint64_t failed = 0;  // failed accepts: the system was out of descriptors or memory
};

// Accepts, counts and hands over connections. Thread-safe. Lifecycle: Listen, Start, Stop.
class Connections {
 public:
  // Takes ownership of a connected descriptor.
  using HandOver = std::function<void(int descriptor)>;
  // Called some time after a handed-over connection was closed, but before another connection with
  // the same descriptor is handed over. Must not call this object.
  using Closed = std::function<void(int descriptor)>;

  // At most `limit` connections are open at a time, and at most `per_client` handed-over ones from
  // one network (server/base/client_network.h). Clients begin with the protocol `speech`. `clock`
  // outlives this object.
  Connections(size_t limit, size_t per_client, Clock& clock, Speech speech = Speech::kHttp2);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // See Acceptor::Listen.
  [[nodiscard]] StatusOr<int> Listen(const std::string& address) {
    return acceptor_.Listen(address);
  }
  // Starts to accept connections. `hand_over` is called on a thread of this object.
  void Start(HandOver hand_over, Closed closed = nullptr);
  // Stops listening. No connection is handed over afterwards. Idempotent.
  void Stop();

  // Shuts down every handed-over connection that is still open, without notice. gRPC then finds it
  // closed.
  void CutAll() FRESHET_EXCLUDES(mutex_);
  // Shuts down the connections of these peers. The kernel drops bytes that they have not received.
  void Cut(const std::set<Peer>& peers) FRESHET_EXCLUDES(mutex_);

  [[nodiscard]] ConnectionStats stats() const FRESHET_EXCLUDES(mutex_);

 private:
  // Distinguishes a socket from earlier and later ones with the same descriptor.
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  struct Open {
    Identity identity;
    IpAddress network;
  };
  // A connection that was handed over, and whose handshake gRPC has not answered yet.
  struct Shaking {
    int descriptor = -1;
    Identity identity;
    Instant until;  // the end of the wait
  };
  // A refused connection that still has time to read the reason.
  struct Leaving {
    int descriptor = -1;
    Instant until;
    Refusal refusal;
    bool told = false;
  };

  void Run();
  // How long the thread may wait if no event comes.
  [[nodiscard]] Duration Patience(Instant now) const;
  void Take(int descriptor, Instant now) FRESHET_EXCLUDES(mutex_);
  // Returns true if the network has reached its maximum number of connections.
  [[nodiscard]] bool FullOf(const IpAddress& network, Instant now) FRESHET_REQUIRES(mutex_);
  // Returns true if the maximum number of connections is open. Called on this object's thread.
  [[nodiscard]] bool Full() const FRESHET_REQUIRES(mutex_);
  // Hands over connections that have begun to speak, and closes connections that did not speak in
  // time.
  void Attend(Instant now) FRESHET_EXCLUDES(mutex_);
  void HandOne(int descriptor, Instant now) FRESHET_EXCLUDES(mutex_);
  // Hands over the next connections that wait for a TLS handshake. Limits the number of handshakes
  // in progress.
  void ShakeHands(Instant now) FRESHET_EXCLUDES(mutex_);
  // Publishes the thread's count of silent connections.
  void TellOfLobby() FRESHET_REQUIRES(mutex_);
  // `why`: the reason, for people to read.
  void Refuse(int descriptor, std::string_view why, Instant now);
  // Removes closed connections from the count.
  void Recount(Instant now) const FRESHET_REQUIRES(mutex_);
  // Removes from the count the connection that had this descriptor.
  void Forget(int descriptor) const FRESHET_REQUIRES(mutex_);
  // Answers what refused connections send. Closes those that the client has closed, and those whose
  // time has passed; if `all` is set, closes all.
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
  std::deque<Leaving> leaving_;                   // used by the thread; oldest first
  PollingThread thread_;
  mutable Mutex mutex_;
  // Handed-over connections by descriptor. May still hold some that gRPC has closed.
  mutable absl::flat_hash_map<int, Open> open_ FRESHET_GUARDED_BY(mutex_);
  // The number of these connections by network; never zero.
  mutable absl::flat_hash_map<IpAddress, size_t> by_network_ FRESHET_GUARDED_BY(mutex_);
  size_t waiting_ FRESHET_GUARDED_BY(mutex_) = 0;  // in the lobby
  mutable Instant recounted_ FRESHET_GUARDED_BY(mutex_);
  ConnectionStats stats_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_CONNECTIONS_H_
