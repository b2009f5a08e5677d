// Watches the bytes that gRPC 1.51 reads from its clients, which it lets nobody see. This program
// defines `recvmsg` and `SSL_read`, by which gRPC reads in plain text and through TLS. They do what
// the system's do, and show a FrameWatch the bytes of watched connections (docs/decisions/0110).
// `sendmsg` and `SSL_write` show it the server's answers, and `sendmsg` also when they have left.
// `SSL_new` tells which connection speaks TLS.
#ifndef FRESHET_SERVER_PORTS_WATCHED_READS_H_
#define FRESHET_SERVER_PORTS_WATCHED_READS_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "server/ports/frame_watch.h"
#include "server/ports/wire_shares.h"
#include "server/ports/wire_turns.h"

namespace freshet {

// Books that connections share; nullptr = nothing is counted. Value type, thread-compatible.
struct WireBooks {
  std::shared_ptr<WireShares> shares;
  std::shared_ptr<WireTurns> turns;
};

// All functions are thread-safe.

// Watches the reads of a plain-text connection from now on. A client beyond a limit, or its share,
// is no longer read: gRPC finds its connection reset. Other clients are read when it is their turn.
// False = the number of the descriptor is too high.
[[nodiscard]] bool WatchSocket(int descriptor, const FrameLimits& limits, const WireBooks& books);
// Watches a TLS connection in the same way. gRPC prepares its handshake as a server within
// `hand_over`, which is not called if this is false.
[[nodiscard]] bool WatchTls(int descriptor, const FrameLimits& limits, const WireBooks& books,
                            const std::function<void()>& hand_over);
// Ends the watch of a closed connection: what it held counts no more.
void ForgetSocket(int descriptor);
// Makes gRPC look at the socket again, if there is something to read.
void WakeSocket(int descriptor);

// The number of connections that passed a limit since the start.
[[nodiscard]] uint64_t ConnectionsCut();
// Whether gRPC reads by the functions of this program.
[[nodiscard]] bool ReadsAreWatched();

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_WATCHED_READS_H_
