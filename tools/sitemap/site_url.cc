#include "tools/sitemap/site_url.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>

#include "absl/strings/ascii.h"

namespace freshet::sitemap {
namespace {

using Parser = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string Part(const Parser& url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return "";
  const std::unique_ptr<char, decltype(&curl_free)> owner(text, curl_free);
  return text;
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
  site.text = Part(url, CURLUPART_URL);
  // Names that are not ASCII have one form that is, in which they are looked up and compared.
  const std::string host = Part(url, CURLUPART_HOST, CURLU_PUNYCODE);
  site.host = absl::AsciiStrToLower(host.empty() ? Part(url, CURLUPART_HOST) : host);
  const std::string port = Part(url, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
  site.origin = fmt::format("{}://{}{}{}", scheme, site.host, port.empty() ? "" : ":", port);
  site.is_root = Part(url, CURLUPART_PATH) == "/" && Part(url, CURLUPART_QUERY).empty();
  return site;
}

}  // namespace freshet::sitemap
