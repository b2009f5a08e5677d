#include "core/base/url.h"

#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "core/base/ascii.h"
#include "core/base/id_limits.h"
#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/base/url_host.h"
#include "core/base/url_path.h"

namespace freshet {
namespace {

constexpr std::string_view kDelimiters = "/\\?";

// The parts of a URL before validation. Views into the text.
struct Parts {
  bool secure = false;
  std::string_view host;
  std::string_view port;                  // without the colon; empty = none
  std::string_view path;                  // empty, or starts with a slash
  std::optional<std::string_view> query;  // without the question mark
};

std::string_view WithoutOuterSpaces(std::string_view text) {
  const size_t first = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

bool IsScheme(std::string_view text) {
  if (text.empty() || !IsLetter(text.front())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return IsLetter(c) || IsDigit(c) || c == '+' || c == '-' || c == '.';
  });
}

// Returns the text after the scheme and all slashes that follow it. Sets `secure` to true for
// https.
StatusOr<std::string_view> AfterScheme(std::string_view url, bool* secure) {
  const size_t colon = url.find(':');
  const std::string_view scheme = url.substr(0, colon);
  if (colon == std::string_view::npos || !IsScheme(scheme)) {
    return InvalidArgument("url: is not absolute (scheme://host is missing)");
  }
  *secure = absl::EqualsIgnoreCase({scheme.data(), scheme.size()}, "https");
  if (!*secure && !absl::EqualsIgnoreCase({scheme.data(), scheme.size()}, "http")) {
    return InvalidArgument("url: scheme is neither http nor https");
  }
  const std::string_view rest = url.substr(colon + 1);
  const size_t slashes = std::min(rest.find_first_not_of("/\\"), rest.size());
  if (slashes < 2) return InvalidArgument("url: is not absolute (// is missing after the scheme)");
  return rest.substr(slashes);
}

StatusOr<Parts> Split(std::string_view url) {
  Parts parts;
  ASSIGN_OR_RETURN(std::string_view rest, AfterScheme(url, &parts.secure));
  rest = rest.substr(0, rest.find('#'));
  std::string_view authority = rest.substr(0, rest.find_first_of(kDelimiters));
  parts.path = rest.substr(authority.size());
  if (const size_t mark = parts.path.find('?'); mark != std::string_view::npos) {
    parts.query = parts.path.substr(mark + 1);
    parts.path = parts.path.substr(0, mark);
  }
  if (authority.find('@') != std::string_view::npos) {
    return InvalidArgument("url: user information (user:password@) is not allowed");
  }
  // The colons of an IPv6 address are inside its brackets.
  const size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  const size_t colon = authority.find(':', std::min(bracket, authority.size()));
  parts.host = authority.substr(0, colon);
  if (colon != std::string_view::npos) parts.port = authority.substr(colon + 1);
  if (parts.host.empty()) return InvalidArgument("url: host is missing");
  return parts;
}

// Parses a port. Leading zeros are ignored. If there are no digits, returns `default_port`.
StatusOr<int> ParsePort(std::string_view digits, int default_port) {
  if (digits.empty()) return default_port;
  int port = 0;
  for (const char c : digits) {
    if (IsDigit(c)) port = port * 10 + (c - '0');
    if (!IsDigit(c) || port > 65535) return InvalidArgument("url: port must be 0 to 65535");
  }
  return port;
}

}  // namespace

StatusOr<CanonicalUrl> Canonicalise(std::string_view url) {
  RETURN_IF_ERROR(ValidateText("url", url, limits::kMaxUrlBytes));
  url = WithoutOuterSpaces(url);
  if (url.empty()) return InvalidArgument("url: is empty");
  ASSIGN_OR_RETURN(const Parts parts, Split(url));
  const int default_port = parts.secure ? 443 : 80;
  ASSIGN_OR_RETURN(const int port, ParsePort(parts.port, default_port));
  CanonicalUrl result;
  std::string& text = result.text;
  text.reserve(url.size() + 16);
  text = parts.secure ? "https://" : "http://";
  const size_t host_start = text.size();
  RETURN_IF_ERROR(AppendHost(parts.host, &text));
  result.host = WithoutTrailingDots(std::string_view(text).substr(host_start));
  if (port != default_port) fmt::format_to(std::back_inserter(text), ":{}", port);
  AppendPath(parts.path, &text);
  if (parts.query) {
    text += '?';
    AppendQuery(*parts.query, &text);
  }
  if (text.size() > limits::kMaxUrlBytes) {
    return InvalidArgument("url: has {} bytes after escaping, at most {} are allowed", text.size(),
                           limits::kMaxUrlBytes);
  }
  return result;
}

std::string_view HostOfCanonical(std::string_view text) {
  const size_t start = text.find("//") + 2;
  const std::string_view authority = text.substr(start, text.find('/', start) - start);
  const size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  return WithoutTrailingDots(authority.substr(0, authority.find(':', bracket)));
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

}  // namespace freshet
