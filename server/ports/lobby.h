// Holds accepted connections until the client has sent the beginning of the expected protocol.
// Other connections are closed. A silent connection costs a descriptor and a few bytes, and can be
// closed to make room for another one.
#ifndef FRESHET_SERVER_PORTS_LOBBY_H_
#define FRESHET_SERVER_PORTS_LOBBY_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"

namespace freshet {

// The protocol that clients begin with.
enum class Speech : uint8_t { kHttp2, kTls };

// The waiting connections. Thread-compatible.
class Lobby {
 public:
  explicit Lobby(Speech speech);
  ~Lobby();
  Lobby(const Lobby&) = delete;
  Lobby& operator=(const Lobby&) = delete;

  // Becomes readable when Spoken has something to do.
  [[nodiscard]] int descriptor() const { return epoll_; }
  // Takes ownership of a socket and holds it until `until`, which must not be earlier than that of
  // earlier sockets. Returns false if the system is out of resources; the caller then keeps the
  // socket.
  [[nodiscard]] bool Enter(int socket, Instant until);
  // Returns the sockets whose clients have begun correctly, with all their bytes still unread.
  // Closes sockets whose clients have sent something else or have gone. The caller owns the
  // returned sockets.
  [[nodiscard]] std::vector<int> Spoken();
  // Removes and returns the socket that has been silent longest. Precondition: there is one.
  [[nodiscard]] int TakeOldest();
  // Closes sockets that have reached their `until`.
  void CloseOverdue(Instant now);

  [[nodiscard]] size_t size() const { return waiting_.size(); }
  // When CloseOverdue next has something to do; unset = never.
  [[nodiscard]] std::optional<Instant> next_overdue() const;
  // The number of connections that were closed because they were silent or sent wrong bytes.
  [[nodiscard]] uint64_t closed() const { return closed_; }

 private:
  struct Waiting {
    int socket = -1;
    Instant until;
  };
  enum class Said : uint8_t { kNothing, kPart, kPreface, kSomethingElse };

  struct Heard {
    Said said = Said::kNothing;
    size_t needed = 0;  // bytes that must be available before the next look
  };

  [[nodiscard]] Heard Listen(int socket) const;
  // Waits for the whole first message of the handshake, which gRPC needs. It may be split into any
  // number of records (RFC 8446, 5.1).
  [[nodiscard]] static Heard ListenForHello(std::string_view said);
  // Ends the wait of a socket, which stays open.
  void Forget(int socket);

  const Speech speech_;
  const int epoll_;
  std::list<Waiting> waiting_;  // oldest first
  absl::flat_hash_map<int, std::list<Waiting>::iterator> by_socket_;
  uint64_t closed_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_LOBBY_H_
