// The bytes that gRPC 1.51 reads of its clients pass through here: it has no place of its own where
// they can be looked at. This program defines `recvmsg` and `SSL_read`, by which gRPC reads in
// plain text and through TLS; they do what the system's do, and show a FrameWatch what has come of
// the connections that are watched (docs/decisions/0110). `sendmsg` and `SSL_write` show it what
// the server answers, and `sendmsg` also when that has left. `SSL_new` tells which connection
// speaks TLS.
#ifndef FRESHET_SERVER_PORTS_WATCHED_READS_H_
#define FRESHET_SERVER_PORTS_WATCHED_READS_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "server/ports/frame_watch.h"
#include "server/ports/wire_shares.h"
#include "server/ports/wire_turns.h"

namespace freshet {

// What connections share with others; nullptr: nothing is counted. Value type, thread-compatible.
struct WireBooks {
  std::shared_ptr<WireShares> shares;
  std::shared_ptr<WireTurns> turns;
};

// All functions are thread-safe.

// What is read of a connection in plain text is watched from here on. A client that goes beyond a
// limit, or its share, is no longer read: gRPC finds its connection reset. A client whose turn it
// is not is read when it is. False: the number of the descriptor is too high.
[[nodiscard]] bool WatchSocket(int descriptor, const FrameLimits& limits, const WireBooks& books);
// A connection that speaks TLS is watched in the same way. gRPC prepares its handshake as a server
// within `hand_over`, which is not called where this is false.
[[nodiscard]] bool WatchTls(int descriptor, const FrameLimits& limits, const WireBooks& books,
                            const std::function<void()>& hand_over);
// A connection is closed: what it held counts no more.
void ForgetSocket(int descriptor);
// Has gRPC look at the socket again, if there is something to be read.
void WakeSocket(int descriptor);

// Connections that went beyond a limit, since the start.
[[nodiscard]] uint64_t ConnectionsCut();
// Whether gRPC reads by the functions of this program.
[[nodiscard]] bool ReadsAreWatched();

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_WATCHED_READS_H_
