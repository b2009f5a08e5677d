#include "core/base/url.h"

#include <idn2.h>
#include <xxhash.h>

#include <boost/url.hpp>
#include <charconv>
#include <cstdlib>
#include <memory>

#include "core/base/limits.h"

namespace freshet {
namespace {

// Length of the UTF-8 sequence at `text`, or 0 where it is malformed (overlong, surrogate, cut
// off).
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](size_t n) {
    if (text.size() < n) return false;
    for (size_t i = 1; i < n; ++i) {
      if ((byte(i) & 0xC0) != 0x80) return false;
    }
    return true;
  };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(2) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF && continues(3)) {
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;
    if (lead == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4 && continues(4)) {
    if (lead == 0xF0 && byte(1) < 0x90) return 0;
    if (lead == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Characters that may stand in a path or query as they are (RFC 3986 pchar, '/' and '?').
bool IsAllowed(char c) {
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  return std::string_view("-._~!$&'()*+,;=:@/?").find(c) != std::string_view::npos;
}

// Escapes whatever RFC 3986 forbids after the authority; a `%` that starts no escape becomes %25.
std::string EscapeForbidden(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size() + 16);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escape = c == '%' && i + 2 < text.size() && IsHex(text[i + 1]) && IsHex(text[i + 2]);
    if (IsAllowed(c) || escape) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

// The authority part as RFC 3986 wants it: a host name in ASCII, and the port as it was.
StatusOr<std::string> AsciiAuthority(std::string_view authority) {
  if (authority.find('@') != std::string_view::npos) {
    return InvalidArgument("url: user information is not allowed");
  }
  const size_t colon = authority.rfind(':');
  const bool bracketed = !authority.empty() && authority.front() == '[';
  const size_t host_end = bracketed ? authority.find(']') + 1 : std::min(colon, authority.size());
  std::string host(authority.substr(0, host_end));
  const std::string port(authority.substr(std::min(host_end, authority.size())));
  if (host.empty()) return InvalidArgument("url: host is missing");
  if (bracketed) return host + port;
  char* ascii = nullptr;
  const int rc = idn2_to_ascii_8z(host.c_str(), &ascii, IDN2_NONTRANSITIONAL);
  const std::unique_ptr<char, decltype(&std::free)> owner(ascii, &std::free);
  if (rc != IDN2_OK) {
    // Underscores and other letters that DNS serves but IDNA forbids stay usable in plain ASCII.
    for (const char c : host) {
      if (static_cast<unsigned char>(c) >= 0x80) {
        return InvalidArgument("url: host is not a valid name: {}", idn2_strerror(rc));
      }
    }
    return host + port;
  }
  return std::string(ascii) + port;
}

}  // namespace

Status ValidateText(std::string_view field, std::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) {
    return InvalidArgument("{}: {} bytes, at most {} are allowed", field, text.size(), max_bytes);
  }
  for (size_t i = 0; i < text.size();) {
    const size_t n = SequenceLength(text.substr(i));
    if (n == 0) return InvalidArgument("{}: not valid UTF-8 at byte {}", field, i);
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7F) return InvalidArgument("{}: control character at byte {}", field, i);
    i += n;
  }
  return absl::OkStatus();
}

StatusOr<CanonicalUrl> Canonicalise(std::string_view url) {
  if (url.empty()) return InvalidArgument("url: is empty");
  RETURN_IF_ERROR(ValidateText("url", url, limits::kMaxUrlBytes));
  if (url.find(' ') != std::string_view::npos) return InvalidArgument("url: holds a space");
  const size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) {
    return InvalidArgument("url: is not absolute (scheme://host is missing)");
  }
  url = url.substr(0, url.find('#'));
  if (url.size() < scheme_end + 3) return InvalidArgument("url: host is missing");
  const std::string_view rest = url.substr(scheme_end + 3);
  const size_t authority_end = std::min(rest.find_first_of("/?"), rest.size());
  ASSIGN_OR_RETURN(const std::string authority, AsciiAuthority(rest.substr(0, authority_end)));
  std::string text = std::string(url.substr(0, scheme_end + 3)) + authority;
  if (authority_end == rest.size() || rest[authority_end] == '?') text += '/';
  text += EscapeForbidden(rest.substr(authority_end));

  auto parsed = boost::urls::parse_absolute_uri(text);
  if (parsed.has_error()) {
    return InvalidArgument("url: {}", parsed.error().message());
  }
  boost::urls::url canonical(*parsed);
  canonical.normalize();
  const auto scheme = canonical.scheme_id();
  if (scheme != boost::urls::scheme::http && scheme != boost::urls::scheme::https) {
    return InvalidArgument("url: scheme is neither http nor https");
  }
  const bool secure = scheme == boost::urls::scheme::https;
  if (canonical.has_port()) {
    const std::string_view digits(canonical.port().data(), canonical.port().size());
    int port = 0;
    const auto parse = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (!digits.empty() && (parse.ec != std::errc() || port < 1 || port > 65535)) {
      return InvalidArgument("url: port is not 1 to 65535");
    }
    if (digits.empty() || port == (secure ? 443 : 80)) canonical.remove_port();
  }
  if (canonical.encoded_host().empty()) return InvalidArgument("url: host is missing");
  CanonicalUrl result{std::string(canonical.buffer()), std::string(canonical.encoded_host())};
  if (result.text.size() > limits::kMaxUrlBytes) {
    return InvalidArgument("url: {} bytes once escaped, at most {} are allowed", result.text.size(),
                           limits::kMaxUrlBytes);
  }
  return result;
}

StatusOr<std::string> CanonicalCrawlId(std::string_view crawl_id) {
  if (crawl_id.empty()) return std::string("DEFAULT");
  if (crawl_id.size() > limits::kMaxCrawlIdBytes) {
    return InvalidArgument("crawl_id: {} bytes, at most {} are allowed", crawl_id.size(),
                           limits::kMaxCrawlIdBytes);
  }
  for (const char c : crawl_id) {
    if (c <= ' ' || c > '~') return InvalidArgument("crawl_id: only printable ASCII is allowed");
  }
  return std::string(crawl_id);
}

Slot SlotOfHost(std::string_view host) {
  return Slot(static_cast<uint16_t>(XXH3_64bits(host.data(), host.size()) % limits::kSlots));
}

uint64_t Fingerprint(std::string_view crawl_id, std::string_view url) {
  return XXH3_64bits_withSeed(url.data(), url.size(),
                              XXH3_64bits(crawl_id.data(), crawl_id.size()));
}

}  // namespace freshet
