// Opens listening sockets, and says why one cannot be opened.
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

// Listens at "host:port"; port 0 = any free port. The port is not shared with other sockets. An
// IPv6 socket accepts IPv4 too, and 0.0.0.0 means any address of either. Listens on every address
// of a host name that this machine has, all with one port, or on none. The result is not empty. Not
// OK: Unavailable, with the address and the reason, if it cannot listen; InvalidArgument for an
// invalid address. Blocks for name resolution.
[[nodiscard]] StatusOr<std::vector<ListeningSocket>> ListenEverywhere(const std::string& address);

// Checks that ListenEverywhere would succeed at this moment. Not OK: as for ListenEverywhere.
[[nodiscard]] Status CheckListen(const std::string& address);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_LISTEN_H_
