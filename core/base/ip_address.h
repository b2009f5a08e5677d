// Parses and formats the IP addresses of URLs. The parsers follow the host parser of the WHATWG URL
// standard: text that a browser reads as an address is read as the same address here, however odd
// it looks. Each address has one canonical text. All functions are thread-safe and linear in their
// input.
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

// Returns true if the last label of an ASCII host is a number. One trailing dot is ignored. Such a
// host is an IPv4 address or malformed, never a name. `34.90.12.7.example` is a name.
[[nodiscard]] bool EndsInNumber(std::string_view host);

// Parses an IPv4 address: one to four numbers with dots between them. Each number is decimal, octal
// (prefix 0) or hexadecimal (prefix 0x). The last number fills all remaining bytes, so `127.1`,
// `0x7f000001` and `127.0.0.1.` are the same address. Returns nullopt for other text.
[[nodiscard]] std::optional<uint32_t> ParseIpv4(std::string_view host);
// Appends the address as four decimal numbers with dots.
void AppendIpv4(uint32_t address, std::string* out);

// Parses the text between the brackets of an IPv6 host. Its last four bytes can be written as an
// IPv4 address. Returns nullopt for other text, and for an address with a zone, because a zone is
// meaningful only on one machine.
[[nodiscard]] std::optional<Ipv6Address> ParseIpv6(std::string_view text);
// Appends the address without brackets (RFC 5952): lower-case pieces without leading zeros; the
// first longest run of two or more zero pieces is `::`. Unlike RFC 5952, an embedded IPv4 address
// is not written in dotted form.
void AppendIpv6(const Ipv6Address& address, std::string* out);

// The address of a server, IPv4 or IPv6. An IPv4 address is stored as IPv6 maps it
// (::ffff:192.0.2.1), so that both spellings are equal. Value type, thread-compatible.
struct IpAddress {
  Ipv6Address pieces{};  // all zero = none: no server has this address
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

// Parses an address as programs write it: four decimal numbers, or an IPv6 address with or without
// brackets. Returns nullopt for spellings that only browsers accept, for the unspecified address,
// and for addresses with a zone.
[[nodiscard]] std::optional<IpAddress> ParseIpAddress(std::string_view text);
// The canonical text of an address, without brackets; empty for none.
[[nodiscard]] std::string IpAddressText(const IpAddress& address);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_IP_ADDRESS_H_
