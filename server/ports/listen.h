// Opens listening sockets, and says why one cannot be had.
#ifndef FRESHET_SERVER_PORTS_LISTEN_H_
#define FRESHET_SERVER_PORTS_LISTEN_H_

#include <string>
#include <vector>

#include "core/base/status.h"

namespace freshet {

// A socket that listens. Value type, thread-compatible.
struct ListeningSocket {
  int descriptor = -1;  // owned by the caller; closed on exec, non-blocking
  int port = 0;
};

// Listens at "host:port", port 0 being any free one. The port is not shared with other sockets. An
// IPv6 socket takes IPv4 too, and 0.0.0.0 means any address of either. Listens at every address of
// a host name that this machine has, all at one port, or at none. The result is not empty.
// Unavailable, with the address and the reason, if none can be had; InvalidArgument for an invalid
// address. Waits for name resolution.
[[nodiscard]] StatusOr<std::vector<ListeningSocket>> ListenEverywhere(const std::string& address);

// Checks that the address could be listened at just now, everywhere.
[[nodiscard]] Status CheckListen(const std::string& address);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_LISTEN_H_
