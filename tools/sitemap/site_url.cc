#include "tools/sitemap/site_url.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <unicode/uchar.h>
#include <unicode/uidna.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/strings/ascii.h"

namespace freshet::sitemap {
namespace {

// Longer names are not host names.
constexpr size_t kMaxHostBytes = 512;
// Longer names in Unicode are not converted, because the time of Punycode grows with the square of
// a label's length.
constexpr size_t kMaxUnicodeBytes = 2 * kMaxHostBytes;

using Parser = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string Part(const Parser& url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return "";
  const std::unique_ptr<char, decltype(&curl_free)> owner(text, curl_free);
  return text;
}

// Returns the ASCII form of a name, as browsers make it (UTS 46), for lookups and comparisons.
// Libcurl's own conversion depends on the locale.
std::string AsciiHost(const std::string& host) {
  const bool ascii = std::all_of(host.begin(), host.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return absl::AsciiStrToLower(host);
  if (host.size() > kMaxUnicodeBytes) return host;
  UErrorCode code = U_ZERO_ERROR;
  constexpr uint32_t kAsBrowsers =
      UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ | UIDNA_NONTRANSITIONAL_TO_ASCII;
  static const UIDNA* const kIdna = uidna_openUTS46(kAsBrowsers, &code);
  std::string name(kMaxHostBytes, '\0');
  UIDNAInfo info = UIDNA_INFO_INITIALIZER;
  const int32_t size =
      kIdna == nullptr
          ? 0
          : uidna_nameToASCII_UTF8(kIdna, host.data(), static_cast<int32_t>(host.size()),
                                   name.data(), static_cast<int32_t>(name.size()), &info, &code);
  // A name without an ASCII form is returned unchanged. No resolver finds it.
  if (U_FAILURE(code) != 0 || info.errors != 0 || size <= 0) return host;
  name.resize(static_cast<size_t>(size));
  return name;
}

}  // namespace

bool IsAbsoluteUrl(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view scheme = text.substr(0, colon);
  return absl::ascii_isalpha(static_cast<unsigned char>(scheme.front())) &&
         std::all_of(scheme.begin(), scheme.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '-' ||
                  c == '.';
         });
}

absl::StatusOr<SiteUrl> ParseSiteUrl(const std::string& text) {
  if (IsAbsoluteUrl(text)) {
    const std::string named = absl::AsciiStrToLower(text.substr(0, text.find(':')));
    if (named != "http" && named != "https") {
      return absl::InvalidArgumentError(
          fmt::format("neither http nor https but {}", named.substr(0, 20)));
    }
  }
  const Parser url(curl_url(), curl_url_cleanup);
  const CURLUcode code =
      curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_DISALLOW_USER | CURLU_URLENCODE);
  if (code == CURLUE_USER_NOT_ALLOWED) {
    return absl::InvalidArgumentError("the URL has a user name or password");
  }
  if (code != CURLUE_OK) {
    return absl::InvalidArgumentError(fmt::format("no URL: {}", curl_url_strerror(code)));
  }
  const std::string scheme = Part(url, CURLUPART_SCHEME);
  curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0);
  SiteUrl site;
  site.host = AsciiHost(Part(url, CURLUPART_HOST));
  curl_url_set(url.get(), CURLUPART_HOST, site.host.c_str(), 0);
  site.text = Part(url, CURLUPART_URL);
  const std::string port = Part(url, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
  site.origin = fmt::format("{}://{}{}{}", scheme, site.host, port.empty() ? "" : ":", port);
  site.is_root = Part(url, CURLUPART_PATH) == "/" && Part(url, CURLUPART_QUERY).empty();
  return site;
}

std::string JoinUrls(const std::string& base, const std::string& reference) {
  if (base.empty() || IsAbsoluteUrl(reference)) return reference;
  const Parser url(curl_url(), curl_url_cleanup);
  if (curl_url_set(url.get(), CURLUPART_URL, base.c_str(), CURLU_URLENCODE) != CURLUE_OK) {
    return reference;
  }
  curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0);
  if (reference.empty()) return Part(url, CURLUPART_URL);
  if (curl_url_set(url.get(), CURLUPART_URL, reference.c_str(), CURLU_URLENCODE) != CURLUE_OK) {
    return reference;
  }
  return Part(url, CURLUPART_URL);
}

std::string_view WithoutMarks(std::string_view url) {
  const auto is_mark = [](UChar32 c) {
    return u_isUWhiteSpace(c) != 0 || u_charType(c) == U_FORMAT_CHAR ||
           u_charType(c) == U_CONTROL_CHAR;
  };
  const auto* bytes = reinterpret_cast<const uint8_t*>(url.data());
  const auto size = static_cast<int32_t>(url.size());
  int32_t begin = 0;
  int32_t end = size;
  UChar32 c = 0;
  for (int32_t next = begin; next < size; begin = next) {
    U8_NEXT(bytes, next, size, c);
    if (c < 0 || !is_mark(c)) break;
  }
  while (end > begin) {
    int32_t start = end - 1;
    while (start > begin && U8_IS_TRAIL(url[static_cast<size_t>(start)])) --start;
    int32_t next = start;
    U8_NEXT(bytes, next, end, c);
    if (c < 0 || next != end || !is_mark(c)) break;
    end = start;
  }
  return url.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

std::string SiteOfHost(std::string_view host) {
  constexpr std::string_view kWww = "www.";
  if (host.starts_with(kWww) && host.find('.', kWww.size()) != std::string_view::npos) {
    host.remove_prefix(kWww.size());
  }
  return std::string(host);
}

}  // namespace freshet::sitemap
