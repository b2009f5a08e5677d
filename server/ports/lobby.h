// Where connections wait that have been accepted and have not said anything yet. Only those that
// begin as they should come out of it: one that says nothing costs a descriptor and a few bytes,
// and can make room for another.
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

// What clients are to begin with.
enum class Speech : uint8_t { kHttp2, kTls };

// Thread-compatible.
class Lobby {
 public:
  explicit Lobby(Speech speech);
  ~Lobby();
  Lobby(const Lobby&) = delete;
  Lobby& operator=(const Lobby&) = delete;

  // Can be read when Spoken has something to do.
  [[nodiscard]] int descriptor() const { return epoll_; }
  // Takes over a socket, until an instant no earlier than that of those before. False: the system
  // lacks something, and the socket is still the caller's.
  [[nodiscard]] bool Enter(int socket, Instant until);
  // Gives back the sockets of those that have begun to speak as they should, with all that
  // was said in them; closes those that speak otherwise, and those that are gone.
  [[nodiscard]] std::vector<int> Spoken();
  // Gives back the socket of the one that has been silent for the longest; there is one.
  [[nodiscard]] int TakeOldest();
  // Closes those whose time is over.
  void CloseOverdue(Instant now);

  [[nodiscard]] size_t size() const { return waiting_.size(); }
  // When CloseOverdue has something to do next.
  [[nodiscard]] std::optional<Instant> next_overdue() const;
  // How many were closed that said nothing in time, or something else.
  [[nodiscard]] uint64_t closed() const { return closed_; }

 private:
  struct Waiting {
    int socket = -1;
    Instant until;
  };
  enum class Said : uint8_t { kNothing, kPart, kPreface, kSomethingElse };

  struct Heard {
    Said said = Said::kNothing;
    size_t needed = 0;  // bytes that are to be there before it is listened to again
  };

  [[nodiscard]] Heard Listen(int socket) const;
  // gRPC has something to do once the first message of the handshake is there, and not before: it
  // may come in any number of records (RFC 8446, 5.1).
  [[nodiscard]] static Heard ListenForHello(std::string_view said);
  // It waits no more; its socket stays open.
  void Forget(int socket);

  const Speech speech_;
  const int epoll_;
  std::list<Waiting> waiting_;  // the oldest first
  absl::flat_hash_map<int, std::list<Waiting>::iterator> by_socket_;
  uint64_t closed_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_LOBBY_H_
