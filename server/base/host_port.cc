#include "server/base/host_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <system_error>

#include "core/base/wrong_value.h"

namespace freshet {
namespace {

constexpr std::string_view kForm = "an address host:port";

}  // namespace

StatusOr<HostPort> ParseHostPort(std::string_view address) {
  const size_t colon = address.rfind(':');
  const bool bracketed = !address.empty() && address.front() == '[';
  const size_t close = address.find(']');
  if (colon == std::string_view::npos || colon == 0 ||
      (bracketed && (close == std::string_view::npos || close + 1 != colon)) ||
      (!bracketed && address.find(':') != colon)) {
    return InvalidArgument("{}", WrongValue(address, kForm));
  }
  HostPort result;
  result.host = bracketed ? address.substr(1, close - 1) : address.substr(0, colon);
  const std::string_view port = address.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), result.port);
  if (result.host.empty()) return InvalidArgument("{}", WrongValue(address, kForm));
  if (error != std::errc() || end != port.data() + port.size() || result.port < 0 ||
      result.port > 65535) {
    return InvalidArgument("{}; the port must be 0 to 65535", WrongValue(address, kForm));
  }
  return result;
}

std::string WithPort(std::string_view address, int port) {
  return std::string(address.substr(0, address.rfind(':') + 1)) + std::to_string(port);
}

std::string WithPortIfAny(std::string_view address, int port) {
  return address.ends_with(":0") ? WithPort(address, port) : std::string(address);
}

bool IsLoopbackHost(std::string_view host) {
  const std::string text(host);
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, text.c_str(), &v6) != 1) return text == "localhost";
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

}  // namespace freshet
