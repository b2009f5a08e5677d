#include "tools/sitemap/site_url.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <unicode/uidna.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/strings/ascii.h"

namespace freshet::sitemap {
namespace {

// Longer ones are none.
constexpr size_t kMaxHostBytes = 512;

using Parser = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string Part(const Parser& url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return "";
  const std::unique_ptr<char, decltype(&curl_free)> owner(text, curl_free);
  return text;
}

// Names that are not ASCII have one form that is, in which they are looked up and compared, as
// browsers have it (UTS 46). Libcurl's own conversion depends on the locale.
std::string AsciiHost(const std::string& host) {
  const bool ascii = std::all_of(host.begin(), host.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return absl::AsciiStrToLower(host);
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
  // What has no such form is a host of its own, which nobody finds.
  if (U_FAILURE(code) != 0 || info.errors != 0 || size <= 0) return host;
  name.resize(static_cast<size_t>(size));
  return name;
}

}  // namespace

absl::StatusOr<SiteUrl> ParseSiteUrl(const std::string& text) {
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
  if (scheme != "http" && scheme != "https") {
    return absl::InvalidArgumentError(
        fmt::format("neither http nor https but {}", scheme.substr(0, 20)));
  }
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

}  // namespace freshet::sitemap
