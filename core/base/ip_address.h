// IP addresses as the hosts of URLs spell them, after the host parser of the WHATWG URL standard:
// everything that a browser takes for an address is one, however odd it looks, and each address has
// one text. All functions are thread-safe and linear in their input.
#ifndef FRESHET_CORE_BASE_IP_ADDRESS_H_
#define FRESHET_CORE_BASE_IP_ADDRESS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace freshet {

// Eight pieces of 16 bits, in the order of the text.
using Ipv6Address = std::array<uint16_t, 8>;

// Whether a host in ASCII means an IPv4 address: its last label, apart from the root label, is a
// number. Such a host is an address or malformed, never a name; `34.90.12.7.example` is a name.
[[nodiscard]] bool EndsInNumber(std::string_view host);

// The address of one to four numbers, each decimal, octal (from 0) or hexadecimal (from 0x), the
// last of which fills all bytes that are left: `127.1`, `0x7f000001` and `127.0.0.1.` are one
// address. nullopt for other text.
[[nodiscard]] std::optional<uint32_t> ParseIpv4(std::string_view host);
// Appends four decimal numbers.
void AppendIpv4(uint32_t address, std::string* out);

// The address in the text between the brackets; its last four bytes may be written as an IPv4
// address. nullopt for other text, also with a zone: a zone means something on one machine alone.
[[nodiscard]] std::optional<Ipv6Address> ParseIpv6(std::string_view text);
// Appends lower-case pieces without leading zeros, the first longest run of two or more zero pieces
// as `::` (RFC 5952, except that an IPv4 address inside is not written as one), without brackets.
void AppendIpv6(const Ipv6Address& address, std::string* out);

// The address of a server, of either kind: an IPv4 address as IPv6 maps it (::ffff:192.0.2.1), so
// that both spellings are one. Value type, thread-compatible.
struct IpAddress {
  Ipv6Address pieces{};  // all zero = none: no server has that address
  bool operator==(const IpAddress&) const = default;
  [[nodiscard]] static IpAddress OfIpv4(uint32_t address);
  [[nodiscard]] bool none() const { return *this == IpAddress(); }
  // The IPv4 address; nullopt for IPv6.
  [[nodiscard]] std::optional<uint32_t> ipv4() const;
  template <typename H>
  friend H AbslHashValue(H h, const IpAddress& address) {
    return H::combine(std::move(h), address.pieces);
  }
};

// The address in a text as programs write it: four decimal numbers, or an IPv6 address with or
// without brackets. nullopt for what only a browser would take for an address, for the unspecified
// address, and where a zone is named.
[[nodiscard]] std::optional<IpAddress> ParseIpAddress(std::string_view text);
// The one text of an address, without brackets; empty = none.
[[nodiscard]] std::string IpAddressText(const IpAddress& address);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_IP_ADDRESS_H_
