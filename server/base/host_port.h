// Listen addresses as they are written in the configuration and on the command line.
#ifndef FRESHET_SERVER_BASE_HOST_PORT_H_
#define FRESHET_SERVER_BASE_HOST_PORT_H_

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace freshet {

struct HostPort {
  std::string host;
  int port = 0;  // 0 to 65535
};

// Splits "host:port" ("[::1]:7071" for IPv6). Not OK: InvalidArgument for anything else.
// Thread-safe.
[[nodiscard]] StatusOr<HostPort> ParseHostPort(std::string_view address);

// Replaces the port of `address` by `port`. Precondition: `address` is "host:port". Thread-safe.
[[nodiscard]] std::string WithPort(std::string_view address, int port);
// Replaces port 0, which stands for any free port, by `port`. Keeps any other port. Precondition:
// `address` is "host:port". Thread-safe.
[[nodiscard]] std::string WithPortIfAny(std::string_view address, int port);

// Returns true if only this machine can reach a listener at `host`: it is an address in
// 127.0.0.0/8, ::1, or the name localhost. Names are not looked up. Thread-safe.
[[nodiscard]] bool IsLoopbackHost(std::string_view host);

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_HOST_PORT_H_
