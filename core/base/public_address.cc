#include "core/base/public_address.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace freshet {
namespace {

struct Ipv4Block {
  uint32_t first = 0;
  int bits = 0;
};

constexpr uint32_t Quad(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

// The special-purpose addresses (RFC 6890 and its successors), multicast, reserved and broadcast.
constexpr std::array<Ipv4Block, 17> kSpecialIpv4 = {{
    {Quad(0, 0, 0, 0), 8},        // this network
    {Quad(10, 0, 0, 0), 8},       // private
    {Quad(100, 64, 0, 0), 10},    // carrier-grade NAT
    {Quad(127, 0, 0, 0), 8},      // loopback
    {Quad(169, 254, 0, 0), 16},   // link-local, including cloud metadata services
    {Quad(172, 16, 0, 0), 12},    // private
    {Quad(192, 0, 0, 0), 24},     // protocols
    {Quad(192, 0, 2, 0), 24},     // documentation
    {Quad(192, 31, 196, 0), 24},  // AS112
    {Quad(192, 52, 193, 0), 24},  // AMT
    {Quad(192, 88, 99, 0), 24},   // 6to4 relays
    {Quad(192, 168, 0, 0), 16},   // private
    {Quad(192, 175, 48, 0), 24},  // AS112
    {Quad(198, 18, 0, 0), 15},    // benchmarks
    {Quad(198, 51, 100, 0), 24},  // documentation
    {Quad(203, 0, 113, 0), 24},   // documentation
    {Quad(224, 0, 0, 0), 3},      // multicast, reserved, broadcast
}};

bool IsPublicIpv4(uint32_t address) {
  return std::none_of(kSpecialIpv4.begin(), kSpecialIpv4.end(), [address](const Ipv4Block& block) {
    return (address ^ block.first) >> (32 - block.bits) == 0;
  });
}

}  // namespace

bool IsPublicAddress(const IpAddress& address) {
  if (const std::optional<uint32_t> v4 = address.ipv4()) return IsPublicIpv4(*v4);
  const Ipv6Address& p = address.pieces;
  if ((p[0] & 0xe000) != 0x2000) return false;
  // 2001::/23: Teredo, ORCHID and other protocol assignments; 2001:db8::/32, 3fff::/20:
  // documentation.
  if (p[0] == 0x2001 && (p[1] < 0x0200 || p[1] == 0x0db8)) return false;
  if (p[0] == 0x3fff && p[1] < 0x1000) return false;
  if (p[0] == 0x2620 && p[1] == 0x004f && p[2] == 0x8000) return false;  // AS112
  return p[0] != 0x2002;                                                 // 6to4
}

}  // namespace freshet
