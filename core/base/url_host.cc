#include "core/base/url_host.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/ascii.h"
#include "core/base/idna.h"
#include "core/base/ip_address.h"
#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/base/url.h"

namespace freshet {
namespace {

// The standard's forbidden domain code points. The caller decodes escapes before it checks for
// them.
constexpr std::array<bool, 256> kForbidden = [] {
  std::array<bool, 256> forbidden{};
  for (size_t c = 0; c <= 0x20; ++c) forbidden[c] = true;
  for (const char c : std::string_view("#/:<>?@[\\]^|%\x7F")) {
    forbidden[static_cast<unsigned char>(c)] = true;
  }
  return forbidden;
}();

// The host with its escapes decoded. A `%` that does not start an escape is kept, and is then
// refused as a forbidden character.
std::string Unescape(std::string_view host) {
  std::string out;
  out.reserve(host.size());
  for (size_t i = 0; i < host.size(); ++i) {
    const std::optional<char> byte = EscapedByte(host, i);
    out += byte.value_or(host[i]);
    if (byte) i += 2;
  }
  return out;
}

bool HasAcePrefix(std::string_view lower) {
  for (size_t at = lower.find("xn--"); at != std::string_view::npos;
       at = lower.find("xn--", at + 1)) {
    if (at == 0 || lower[at - 1] == '.') return true;
  }
  return false;
}

// Appends a plain ASCII name in lower case, which is what UTS #46 does with it.
Status AppendLowerCase(std::string_view name, std::string* out) {
  const size_t start = out->size();
  out->append(name);
  std::transform(name.begin(), name.end(), out->begin() + static_cast<std::ptrdiff_t>(start),
                 ToLower);
  if (!HasAcePrefix(std::string_view(*out).substr(start))) return absl::OkStatus();
  out->resize(start);
  return AppendDomainInAscii(name, out);
}

Status AppendName(std::string_view name, std::string* out) {
  if (std::all_of(name.begin(), name.end(), IsAscii)) return AppendLowerCase(name, out);
  if (!ValidateText("url", name, limits::kMaxUrlBytes).ok()) {
    return InvalidArgument("url: host is not valid text after its escapes are decoded");
  }
  return AppendDomainInAscii(name, out);
}

Status AppendBracketed(std::string_view host, std::string* out) {
  if (!host.ends_with(']')) return InvalidArgument("url: host has a bracket that is not closed");
  const std::optional<Ipv6Address> address = ParseIpv6(host.substr(1, host.size() - 2));
  if (!address) return InvalidArgument("url: host is not a valid IPv6 address");
  *out += '[';
  AppendIpv6(*address, out);
  *out += ']';
  return absl::OkStatus();
}

}  // namespace

Status AppendHost(std::string_view host, std::string* out) {
  if (host.starts_with('[')) return AppendBracketed(host, out);
  const size_t start = out->size();
  if (host.find('%') == std::string_view::npos) {
    RETURN_IF_ERROR(AppendName(host, out));
  } else {
    RETURN_IF_ERROR(AppendName(Unescape(host), out));
  }
  const std::string_view name = std::string_view(*out).substr(start);
  for (const char c : name) {
    if (!kForbidden[static_cast<unsigned char>(c)]) continue;
    if (c <= ' ' || c == 0x7F)
      return InvalidArgument("url: host holds a space or control character");
    return InvalidArgument("url: host holds the character {}", c);
  }
  const size_t size = WithoutTrailingDots(name).size();
  if (size == 0) return InvalidArgument("url: host is missing");
  if (size > limits::kMaxHostBytes) {
    return InvalidArgument("url: host is longer than {} bytes", limits::kMaxHostBytes);
  }
  if (!EndsInNumber(name)) return absl::OkStatus();
  const std::optional<uint32_t> address = ParseIpv4(name);
  if (!address)
    return InvalidArgument("url: host ends in a number, but is not a valid IPv4 address");
  out->resize(start);
  AppendIpv4(*address, out);
  return absl::OkStatus();
}

std::string_view WithoutTrailingDots(std::string_view host) {
  while (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

}  // namespace freshet
