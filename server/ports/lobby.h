// Holds accepted connections until they speak. Only connections that begin correctly come out. A
// silent one costs a descriptor and a few bytes, and can make room for another.
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

  // Readable when Spoken has something to do.
  [[nodiscard]] int descriptor() const { return epoll_; }
  // Takes over a socket, until an instant no earlier than those of earlier sockets. False = the
  // system lacks something, and the caller keeps the socket.
  [[nodiscard]] bool Enter(int socket, Instant until);
  // Returns the sockets that have begun to speak correctly, with all their bytes still unread.
  // Closes those that speak otherwise or are gone.
  [[nodiscard]] std::vector<int> Spoken();
  // Returns the socket that has been silent longest. Precondition: there is one.
  [[nodiscard]] int TakeOldest();
  // Closes sockets whose time is over.
  void CloseOverdue(Instant now);

  [[nodiscard]] size_t size() const { return waiting_.size(); }
  // When CloseOverdue next has something to do; unset = never.
  [[nodiscard]] std::optional<Instant> next_overdue() const;
  // The number of connections closed for silence or wrong bytes.
  [[nodiscard]] uint64_t closed() const { return closed_; }

 private:
  struct Waiting {
    int socket = -1;
    Instant until;
  };
  enum class Said : uint8_t { kNothing, kPart, kPreface, kSomethingElse };

  struct Heard {
    Said said = Said::kNothing;
    size_t needed = 0;  // bytes needed before the next look
  };

  [[nodiscard]] Heard Listen(int socket) const;
  // gRPC needs the whole first message of the handshake, which may come in any number of records
  // (RFC 8446, 5.1).
  [[nodiscard]] static Heard ListenForHello(std::string_view said);
  // Ends the wait of a socket, which stays open.
  void Forget(int socket);

  const Speech speech_;
  const int epoll_;
  std::list<Waiting> waiting_;  // the oldest first
  absl::flat_hash_map<int, std::list<Waiting>::iterator> by_socket_;
  uint64_t closed_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_LOBBY_H_
