// The bytes that gRPC 1.51 reads of its clients pass through here: it has no place of its own where
// they can be looked at. This program defines `recvmsg` and `SSL_read`, by which gRPC reads in
// plain text and through TLS; they do what the system's do, and show a FrameWatch what has come of
// the connections that are watched (docs/decisions/0110). `sendmsg` and `SSL_write` show it what
// the server answers.
#ifndef FRESHET_SERVER_PORTS_WATCHED_READS_H_
#define FRESHET_SERVER_PORTS_WATCHED_READS_H_

#include <cstdint>

#include "server/ports/frame_watch.h"

namespace freshet {

// All functions are thread-safe.

// From here on what is read of a connected socket in plain text is watched, until it is closed. A
// client that goes beyond a limit is no longer read: gRPC finds its connection reset. False: its
// number is too high.
[[nodiscard]] bool WatchSocket(int descriptor, const FrameLimits& limits);
// The same of all connections that shake hands for HTTP/2 from here on as a server.
void WatchTls(const FrameLimits& limits);

// Connections that went beyond a limit, since the start.
[[nodiscard]] uint64_t ConnectionsCut();
// Whether gRPC reads by the functions of this program.
[[nodiscard]] bool ReadsAreWatched();

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_WATCHED_READS_H_
