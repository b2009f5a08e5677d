// Watches the bytes that gRPC 1.51 reads from its clients. gRPC has no hook for this, so this
// program defines `recvmsg` and `SSL_read`, with which gRPC reads plain text and TLS. These
// functions call the system's functions, and show the bytes of watched connections to a FrameWatch
// (docs/decisions/0110). `sendmsg` and `SSL_write` show it the server's answers, and `sendmsg` also
// shows when all bytes were sent. `SSL_new` associates a TLS session with its connection.
#ifndef FRESHET_SERVER_PORTS_WATCHED_READS_H_
#define FRESHET_SERVER_PORTS_WATCHED_READS_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "server/ports/frame_watch.h"
#include "server/ports/wire_shares.h"
#include "server/ports/wire_turns.h"

namespace freshet {

// Counts that connections share; nullptr = not counted. Value type, thread-compatible.
struct WireBooks {
  std::shared_ptr<WireShares> shares;
  std::shared_ptr<WireTurns> turns;
};

// All functions are thread-safe.

// Watches the reads of a plain-text connection from now on. If a client exceeds a limit or its
// share (WireShares), its connection is no longer read, and appears to gRPC as reset. All other
// connections are read when WireTurns permits it. Returns false if the descriptor is too high.
[[nodiscard]] bool WatchSocket(int descriptor, const FrameLimits& limits, const WireBooks& books);
// Watches a TLS connection in the same way. `hand_over` passes the connection to gRPC, which
// creates the TLS session during the call. It is not called if WatchTls returns false.
[[nodiscard]] bool WatchTls(int descriptor, const FrameLimits& limits, const WireBooks& books,
                            const std::function<void()>& hand_over);
// Stops watching a closed connection. Its memory and calls are no longer counted.
void ForgetSocket(int descriptor);
// Makes gRPC try again to read the socket, if there are bytes to read.
void WakeSocket(int descriptor);

// The number of connections since the start that were cut because they exceeded a limit.
[[nodiscard]] uint64_t ConnectionsCut();
// Returns true if gRPC uses the functions that this program defines.
[[nodiscard]] bool ReadsAreWatched();

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_WATCHED_READS_H_
