// Listening sockets, and why one cannot be had.
#ifndef FRESHET_SERVER_PORTS_LISTEN_H_
#define FRESHET_SERVER_PORTS_LISTEN_H_

#include <string>
#include <vector>

#include "core/base/status.h"

namespace freshet {

// A socket that listens. Value type, thread-compatible.
struct ListeningSocket {
  int descriptor = -1;  // the caller's; closed on exec, does not block
  bool ipv6 = false;
  int port = 0;
};

// Listens at "host:port", port 0 being any that is free, alone: a port that another socket listens
// on is not shared. An IPv6 socket takes IPv4 too, and 0.0.0.0 means any address of either. Of the
// addresses of a host name the first that can be had. Unavailable, with the address and the reason,
// when it cannot; InvalidArgument for what is no address. Waits for name resolution.
[[nodiscard]] StatusOr<ListeningSocket> Listen(const std::string& address);

// The same, at every address of a host name that this machine has, all at one port, or at none. Not
// empty.
[[nodiscard]] StatusOr<std::vector<ListeningSocket>> ListenEverywhere(const std::string& address);

// OK if the address could be listened at just now, everywhere.
[[nodiscard]] Status CheckListen(const std::string& address);

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_LISTEN_H_
