#include "tools/sitemap/fetch.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "tools/sitemap/site_url.h"

namespace freshet::sitemap {
namespace {

using Outcome = FetchResult::Outcome;

IpAddress AddressOf(const curl_sockaddr& peer) {
  IpAddress address;
  if (peer.family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &peer.addr, sizeof(v4));
    const uint32_t number = ntohl(v4.sin_addr.s_addr);
    address.pieces[5] = 0xffff;  // an IPv4 address in IPv6 form
    address.pieces[6] = static_cast<uint16_t>(number >> 16);
    address.pieces[7] = static_cast<uint16_t>(number);
  } else if (peer.family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &peer.addr, sizeof(v6));
    for (size_t i = 0; i < address.pieces.size(); ++i) {
      address.pieces[i] =
          static_cast<uint16_t>(v6.sin6_addr.s6_addr[2 * i] << 8 | v6.sin6_addr.s6_addr[2 * i + 1]);
    }
  }
  return address;
}

// The compiler cannot check the types of libcurl's options, because the option's number determines
// the type.
template <typename T>
void Set(CURL* curl, CURLoption option, T value) {
  curl_easy_setopt(curl, option, value);
}

template <typename T>
T Get(CURL* curl, CURLINFO info) {
  T value{};
  curl_easy_getinfo(curl, info, &value);
  return value;
}

// Returns for example "utf-8" for `text/xml; charset="utf-8"`.
std::string CharsetOf(std::string_view type) {
  constexpr std::string_view kName = "charset=";
  const std::string lower = absl::AsciiStrToLower({type.data(), type.size()});
  const size_t name = lower.find(kName);
  if (name == std::string::npos) return "";
  std::string value = lower.substr(name + kName.size());
  value.resize(std::min(value.size(), value.find(';')));
  std::erase_if(value, [](char c) { return c == '"' || c == '\'' || c == ' '; });
  return value.substr(0, 60);
}

// One request and its answer. Thread-compatible.
class Hop {
 public:
  Hop(const SiteUrl& url, const FetchRequest& request, bool only_public, Duration timeout,
      const FetchOptions& options, Spool& body)
      : only_public_(only_public),
        timeout_(timeout),
        options_(options),
        body_(body),
        curl_(curl_easy_init(), curl_easy_cleanup) {
    SetRequest(url, request);
    SetLimits();
  }
  Hop(const Hop&) = delete;
  Hop& operator=(const Hop&) = delete;

  FetchResult Run() {
    FetchResult result;
    const CURLcode code = curl_easy_perform(curl_.get());
    result.url = Get<char*>(curl_.get(), CURLINFO_EFFECTIVE_URL);
    result.status = static_cast<int>(Get<long>(curl_.get(), CURLINFO_RESPONSE_CODE));
    if (const char* type = Get<char*>(curl_.get(), CURLINFO_CONTENT_TYPE)) {
      result.charset = CharsetOf(type);
    }
    if (const char* peer = Get<char*>(curl_.get(), CURLINFO_PRIMARY_IP)) {
      const std::optional<IpAddress> address = ParseIpAddress(peer);
      result.from_public = address && options_.is_public(*address);
    }
    if (code == CURLE_OK) {
      Judge(&result);
    } else {
      Explain(code, &result);
    }
    return result;
  }
  // Returns the target of a redirect; empty = none.
  [[nodiscard]] std::string Redirect() const {
    const char* url = Get<char*>(curl_.get(), CURLINFO_REDIRECT_URL);
    return url == nullptr ? "" : url;
  }
  [[nodiscard]] Duration elapsed() const {
    return Duration::Micros(Get<curl_off_t>(curl_.get(), CURLINFO_TOTAL_TIME_T));
  }

 private:
  void SetRequest(const SiteUrl& url, const FetchRequest& request) {
    CURL* curl = curl_.get();
    Set(curl, CURLOPT_URL, url.text.c_str());
    Set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    Set(curl, CURLOPT_USERAGENT, options_.user_agent.c_str());
    if (!options_.ca_file.empty()) Set(curl, CURLOPT_CAINFO, options_.ca_file.c_str());
    // The reader of the document decompresses it. If libcurl did, it would remove several layers
    // without any limit on the size.
    Set(curl, CURLOPT_ACCEPT_ENCODING, "gzip");
    Set(curl, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    if (!request.etag.empty()) AddHeader("If-None-Match: " + request.etag);
    if (!request.last_modified.empty()) AddHeader("If-Modified-Since: " + request.last_modified);
    Set(curl, CURLOPT_HTTPHEADER, headers_.get());
    // A proxy would resolve names and connect without our checks.
    Set(curl, CURLOPT_PROXY, "");
    Set(curl, CURLOPT_NOSIGNAL, 1L);
    Set(curl, CURLOPT_ERRORBUFFER, error_);
  }

  void SetLimits() {
    CURL* curl = curl_.get();
    const auto millis = [](Duration d) { return static_cast<long>(d.micros() / 1000 + 1); };
    Set(curl, CURLOPT_CONNECTTIMEOUT_MS, millis(options_.connect_timeout));
    Set(curl, CURLOPT_TIMEOUT_MS, millis(timeout_));
    Set(curl, CURLOPT_OPENSOCKETDATA, this);
    Set(curl, CURLOPT_OPENSOCKETFUNCTION, &Hop::OpenSocket);
    Set(curl, CURLOPT_WRITEDATA, this);
    Set(curl, CURLOPT_WRITEFUNCTION, &Hop::Write);
    Set(curl, CURLOPT_HEADERDATA, this);
    Set(curl, CURLOPT_HEADERFUNCTION, &Hop::Header);
    Set(curl, CURLOPT_NOPROGRESS, 0L);
    Set(curl, CURLOPT_XFERINFODATA, this);
    Set(curl, CURLOPT_XFERINFOFUNCTION, &Hop::Progress);
  }

  void AddHeader(const std::string& line) {
    headers_.reset(curl_slist_append(headers_.release(), line.c_str()));
  }

  static curl_socket_t OpenSocket(void* self, curlsocktype, curl_sockaddr* peer) {
    auto& hop = *static_cast<Hop*>(self);
    const IpAddress address = AddressOf(*peer);
    if (hop.only_public_ && !hop.options_.is_public(address)) {
      hop.refused_ = fmt::format("a public site leads to {}, which is not a public address",
                                 address.none() ? "[::]" : IpAddressText(address));
      return CURL_SOCKET_BAD;
    }
    return socket(peer->family, peer->socktype | SOCK_CLOEXEC, peer->protocol);
  }

  static size_t Write(const char* data, size_t, size_t size, void* self) {
    auto& hop = *static_cast<Hop*>(self);
    hop.read_ += size;
    if (hop.read_ > kMaxFetchedBytes) {
      hop.refused_ = fmt::format("larger than {} MiB", kMaxFetchedBytes >> 20);
      return 0;
    }
    if (Get<long>(hop.curl_.get(), CURLINFO_RESPONSE_CODE) != 200) return size;
    const absl::Status status = hop.body_.Append({data, size});
    if (status.ok()) return size;
    hop.broken_ = std::string(status.message());
    return 0;
  }

  static size_t Header(const char* data, size_t, size_t size, void* self) {
    auto& hop = *static_cast<Hop*>(self);
    hop.header_read_ += size;
    if (hop.header_read_ > kMaxHeaderBytes) {
      hop.refused_ = TooManyHeaders();
      return 0;
    }
    // Refuses compressed transfer encodings, because libcurl always removes them, whatever its
    // options say.
    const std::string line = absl::AsciiStrToLower({data, size});
    constexpr std::string_view kName = "transfer-encoding:";
    if (!line.starts_with(kName)) return size;
    const absl::string_view value =
        absl::StripAsciiWhitespace(absl::string_view(line).substr(kName.size()));
    if (value == "chunked" || value == "identity") return size;
    hop.refused_ = "it comes with a Transfer-Encoding that it was not asked for";
    return 0;
  }
  static std::string TooManyHeaders() {
    return fmt::format("more than {} KiB of headers", kMaxHeaderBytes >> 10);
  }

  static int Progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Hop*>(self)->options_.cancelled() ? 1 : 0;
  }

  [[nodiscard]] std::string Field(const char* name) const {
    curl_header* header = nullptr;
    if (curl_easy_header(curl_.get(), name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK) return "";
    const std::string_view value = header->value;
    return value.size() <= kMaxValidatorBytes ? std::string(value) : "";
  }

  void Judge(FetchResult* result) const {
    const long status = Get<long>(curl_.get(), CURLINFO_RESPONSE_CODE);
    result->outcome = status == 200                    ? Outcome::kFetched
                      : status == 304                  ? Outcome::kNotModified
                      : status == 404 || status == 410 ? Outcome::kNotThere
                                                       : Outcome::kFailed;
    const std::string encoding = absl::AsciiStrToLower(Field("Content-Encoding"));
    for (const char* other : {"br", "zstd", "deflate", "compress"}) {
      if (status != 200 || encoding != other) continue;
      result->outcome = Outcome::kFailed;
      result->why = fmt::format("it is compressed by '{}', and was asked for by gzip", other);
      return;
    }
    result->etag = Field("ETag");
    result->last_modified = Field("Last-Modified");
    if (status != 200 && status != 304) result->why = fmt::format("the site answers {}", status);
    const auto asked = Get<curl_off_t>(curl_.get(), CURLINFO_RETRY_AFTER);
    if ((status == 429 || status == 503) && asked > 0) {
      result->retry_after =
          std::min(kMaxRetryAfter, Duration::Seconds(std::min<int64_t>(asked, 86'400)));
      result->why += fmt::format(", and to come again in {:.0f} s", result->retry_after->seconds());
    }
  }

  void Explain(CURLcode code, FetchResult* result) const {
    // Libcurl drops a header line of more than 100 KiB and returns this code.
    const bool endless_line = code == CURLE_OUT_OF_MEMORY && read_ == 0;
    if (!refused_.empty() || endless_line) {
      result->outcome = Outcome::kRefused;
      result->why = endless_line ? TooManyHeaders() : refused_;
    } else if (!broken_.empty()) {
      result->why = broken_;
    } else if (code == CURLE_ABORTED_BY_CALLBACK) {
      result->why = "cut short by a signal";
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
      result->why = fmt::format("the site took too long: {}", error_);
    } else {
      result->why = *error_ != '\0' ? error_ : curl_easy_strerror(code);
    }
  }

  const bool only_public_;
  const Duration timeout_;
  const FetchOptions& options_;
  Spool& body_;
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers_{nullptr,
                                                                       curl_slist_free_all};
  size_t read_ = 0;
  size_t header_read_ = 0;
  std::string refused_;
  std::string broken_;  // why the received bytes cannot be kept
  char error_[CURL_ERROR_SIZE] = "";
};

FetchResult Failed(Outcome outcome, std::string why) {
  FetchResult result;
  result.outcome = outcome;
  result.why = std::move(why);
  return result;
}

}  // namespace

FetchResult Fetch(const FetchRequest& request, const FetchOptions& options, Spool& body) {
  std::string next = request.url;
  bool from_public = false;
  bool site_public = false;
  Duration left = options.timeout;
  // This runs after every fetch. The addresses that were used determine which documents this
  // document may name.
  const auto finished = [&](FetchResult result) {
    result.elapsed = options.timeout - left;
    result.from_public = from_public;
    result.site_public = site_public;
    return result;
  };
  for (int hops = 0; hops <= kMaxRedirects; ++hops) {
    if (next.size() > kMaxDocumentUrlBytes) {
      return finished(Failed(Outcome::kRefused,
                             fmt::format("its URL is longer than {} bytes", kMaxDocumentUrlBytes)));
    }
    const absl::StatusOr<SiteUrl> url = ParseSiteUrl(next);
    if (!url.ok()) return finished(Failed(Outcome::kRefused, std::string(url.status().message())));
    if (left <= Duration()) {
      return finished(
          Failed(Outcome::kFailed, "the site took too long: its redirects used up the time"));
    }
    if (const absl::Status cleared = body.Clear(); !cleared.ok()) {
      return finished(Failed(Outcome::kFailed, std::string(cleared.message())));
    }
    Hop hop(*url, request, request.only_public || from_public, left, options, body);
    FetchResult result = hop.Run();
    left = left - hop.elapsed();
    from_public = from_public || result.from_public;
    if (hops == 0) site_public = result.from_public;
    const std::string from = std::exchange(next, hop.Redirect());
    if (next.empty()) return finished(std::move(result));
    std::string why = request.why_not ? request.why_not(from, next) : "";
    if (!why.empty()) {
      result.outcome = Outcome::kRefused;
      result.why = std::move(why);
      return finished(std::move(result));
    }
  }
  FetchResult result =
      Failed(Outcome::kRefused, fmt::format("more than {} redirects", kMaxRedirects));
  result.too_many_redirects = true;
  return finished(std::move(result));
}

}  // namespace freshet::sitemap
