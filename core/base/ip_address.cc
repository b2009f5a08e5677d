#include "core/base/ip_address.h"

#include <algorithm>

#include "core/base/ascii.h"
#include "fmt/format.h"

namespace freshet {
namespace {

constexpr uint64_t kTooMuch = uint64_t{1} << 32;
// The first six pieces of an IPv6 address that maps an IPv4 address (RFC 4291, 2.5.5.2).
constexpr std::array<uint16_t, 6> kMappedIpv4 = {0, 0, 0, 0, 0, 0xFFFF};

// The host without a trailing dot. The dot stands for the DNS root.
std::string_view WithoutRoot(std::string_view host) {
  if (host.size() > 1 && host.ends_with('.')) host.remove_suffix(1);
  return host;
}

// Parses one number of an IPv4 address. A larger number than 2^32 is returned as 2^32. Returns
// nullopt if the text is not a number. A prefix such as "0x" without digits is 0.
std::optional<uint64_t> ParseNumber(std::string_view text) {
  if (text.empty()) return std::nullopt;
  int base = 10;
  if (text.size() >= 2 && text[0] == '0' && ToLower(text[1]) == 'x') {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() >= 2 && text[0] == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  uint64_t number = 0;
  for (const char c : text) {
    const int digit = HexValue(c);
    if (digit < 0 || digit >= base) return std::nullopt;
    number =
        std::min(number * static_cast<uint64_t>(base) + static_cast<uint64_t>(digit), kTooMuch);
  }
  return number;
}

// Reads the text of an IPv6 address piece by piece. Thread-compatible.
class Ipv6Parser {
 public:
  explicit Ipv6Parser(std::string_view text) : text_(text) {}

  std::optional<Ipv6Address> Parse() {
    if (Take(':') && !TakeGap()) return std::nullopt;
    while (at_ < text_.size()) {
      if (pieces_ == address_.size()) return std::nullopt;
      if (text_[at_] == ':') {
        if (!TakeGap()) return std::nullopt;
        continue;
      }
      const size_t start = at_;
      TakePiece();
      if (at_ < text_.size() && text_[at_] == '.') {
        at_ = start;
        --pieces_;
        if (!TakeIpv4()) return std::nullopt;
        break;
      }
      if (at_ == text_.size()) break;
      // A piece ends the text or is followed by a colon that is not the last character.
      if (!Take(':') || at_ == text_.size()) return std::nullopt;
    }
    return Spread();
  }

 private:
  bool Take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // Takes the second colon of `::`. A text has at most one `::`, which stands for at least one
  // piece.
  bool TakeGap() {
    if (gap_ || !Take(':')) return false;
    gap_ = ++pieces_;
    return true;
  }

  // Takes up to four hexadecimal digits. If there are none, the caller fails at the next character.
  void TakePiece() {
    unsigned value = 0;
    for (int digits = 0; digits < 4 && at_ < text_.size() && HexValue(text_[at_]) >= 0; ++digits) {
      value = value * 16 + static_cast<unsigned>(HexValue(text_[at_++]));
    }
    address_[pieces_++] = static_cast<uint16_t>(value);
  }

  // Takes four decimal numbers without leading zeros, up to the end of the text.
  bool TakeIpv4() {
    if (pieces_ > address_.size() - 2) return false;
    unsigned bytes[4] = {};
    for (size_t i = 0; i < 4; ++i) {
      if (i > 0 && !Take('.')) return false;
      const size_t start = at_;
      while (at_ < text_.size() && IsDigit(text_[at_])) {
        bytes[i] = bytes[i] * 10 + static_cast<unsigned>(text_[at_++] - '0');
        if (bytes[i] > 255) return false;
      }
      const size_t digits = at_ - start;
      if (digits == 0 || (digits > 1 && text_[start] == '0')) return false;
    }
    address_[pieces_++] = static_cast<uint16_t>(bytes[0] * 256 + bytes[1]);
    address_[pieces_++] = static_cast<uint16_t>(bytes[2] * 256 + bytes[3]);
    return at_ == text_.size();
  }

  // Moves the pieces after the gap to the end of the address and fills the gap with zeros. Returns
  // nullopt if there is no gap and pieces are missing.
  std::optional<Ipv6Address> Spread() {
    if (!gap_) return pieces_ == address_.size() ? std::optional(address_) : std::nullopt;
    Ipv6Address spread{};
    const size_t after = pieces_ - *gap_;
    std::copy_n(address_.begin(), *gap_, spread.begin());
    std::copy_n(address_.begin() + *gap_, after, spread.end() - after);
    return spread;
  }

  const std::string_view text_;
  size_t at_ = 0;
  Ipv6Address address_{};
  size_t pieces_ = 0;          // filled pieces of `address_`
  std::optional<size_t> gap_;  // index of the piece after the first zero of `::`
};

}  // namespace

bool EndsInNumber(std::string_view host) {
  host = WithoutRoot(host);
  const std::string_view last = host.substr(host.rfind('.') + 1);
  if (last.empty()) return false;
  return std::all_of(last.begin(), last.end(), IsDigit) || ParseNumber(last).has_value();
}

std::optional<uint32_t> ParseIpv4(std::string_view host) {
  host = WithoutRoot(host);
  uint64_t address = 0;
  for (int shift = 24;; shift -= 8) {
    if (shift < 0) return std::nullopt;
    const size_t dot = host.find('.');
    const std::optional<uint64_t> number = ParseNumber(host.substr(0, dot));
    if (!number) return std::nullopt;
    if (dot == std::string_view::npos) {
      if (*number >= uint64_t{1} << (shift + 8)) return std::nullopt;
      return static_cast<uint32_t>(address | *number);
    }
    if (*number > 255) return std::nullopt;
    address |= *number << shift;
    host.remove_prefix(dot + 1);
  }
}

void AppendIpv4(uint32_t address, std::string* out) {
  fmt::format_to(std::back_inserter(*out), "{}.{}.{}.{}", address >> 24, (address >> 16) & 255,
                 (address >> 8) & 255, address & 255);
}

std::optional<Ipv6Address> ParseIpv6(std::string_view text) { return Ipv6Parser(text).Parse(); }

void AppendIpv6(const Ipv6Address& address, std::string* out) {
  size_t gap = address.size();
  size_t gap_size = 1;  // a single zero is written out
  for (size_t i = 0; i < address.size();) {
    const size_t start = i;
    while (i < address.size() && address[i] == 0) ++i;
    if (i - start > gap_size) {
      gap = start;
      gap_size = i - start;
    }
    if (i == start) ++i;
  }
  for (size_t i = 0; i < address.size();) {
    if (i == gap) {
      *out += i == 0 ? "::" : ":";
      i += gap_size;
      continue;
    }
    fmt::format_to(std::back_inserter(*out), "{:x}", address[i]);
    if (++i < address.size()) *out += ':';
  }
}

IpAddress IpAddress::OfIpv4(uint32_t address) {
  IpAddress mapped;
  std::copy(kMappedIpv4.begin(), kMappedIpv4.end(), mapped.pieces.begin());
  mapped.pieces[6] = static_cast<uint16_t>(address >> 16);
  mapped.pieces[7] = static_cast<uint16_t>(address);
  return mapped;
}

std::optional<uint32_t> IpAddress::ipv4() const {
  if (!std::equal(kMappedIpv4.begin(), kMappedIpv4.end(), pieces.begin())) return std::nullopt;
  return uint32_t{pieces[6]} << 16 | pieces[7];
}

std::optional<IpAddress> ParseIpAddress(std::string_view text) {
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  IpAddress address;
  if (text.find(':') != std::string_view::npos) {
    const std::optional<Ipv6Address> pieces = ParseIpv6(text);
    if (!pieces) return std::nullopt;
    address.pieces = *pieces;
  } else {
    const std::optional<uint32_t> v4 = ParseIpv4(text);
    std::string canonical;
    if (v4) AppendIpv4(*v4, &canonical);
    // 127.1 is more likely a typing mistake than an address.
    if (!v4 || *v4 == 0 || canonical != text) return std::nullopt;
    address = IpAddress::OfIpv4(*v4);
  }
  if (address.none()) return std::nullopt;
  return address;
}

std::string IpAddressText(const IpAddress& address) {
  std::string text;
  if (address.none()) return text;
  if (const std::optional<uint32_t> v4 = address.ipv4()) {
    AppendIpv4(*v4, &text);
  } else {
    AppendIpv6(address.pieces, &text);
  }
  return text;
}

}  // namespace freshet
