#include "server/base/host_port.h"

#include <charconv>
#include <system_error>

namespace freshet {

StatusOr<HostPort> ParseHostPort(std::string_view address) {
  const size_t colon = address.rfind(':');
  const bool bracketed = !address.empty() && address.front() == '[';
  const size_t close = address.find(']');
  if (colon == std::string_view::npos || colon == 0 ||
      (bracketed && (close == std::string_view::npos || close + 1 != colon)) ||
      (!bracketed && address.find(':') != colon)) {
    return InvalidArgument("'{}' is not of the form host:port", address);
  }
  HostPort result;
  result.host = bracketed ? address.substr(1, close - 1) : address.substr(0, colon);
  const std::string_view port = address.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), result.port);
  if (error != std::errc() || end != port.data() + port.size() || result.port < 0 ||
      result.port > 65535 || result.host.empty()) {
    return InvalidArgument("'{}' is not of the form host:port", address);
  }
  return result;
}

}  // namespace freshet
