// Addresses to listen at, as configuration and command line write them.
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

// Splits "host:port" ("[::1]:7071" for IPv6). InvalidArgument for anything else. Thread-safe.
[[nodiscard]] StatusOr<HostPort> ParseHostPort(std::string_view address);

// Puts `port` in place of the address's own. Precondition: it is "host:port". Thread-safe.
[[nodiscard]] std::string WithPort(std::string_view address, int port);
// Puts `port` in place of port 0, which stands for any free one. Precondition: the address is
// "host:port". Thread-safe.
[[nodiscard]] std::string WithPortIfAny(std::string_view address, int port);

// Whether only this machine reaches what listens at a host: an address of 127.0.0.0/8, ::1, or the
// name localhost. Names are not looked up. Thread-safe.
[[nodiscard]] bool IsLoopbackHost(std::string_view host);

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_HOST_PORT_H_
