#include "server/indexnow/ping.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/url.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "server/api/faults.h"
#include "server/ports/http_query.h"

namespace freshet {
namespace {

constexpr size_t kShortestKey = 8;
constexpr size_t kLongestKey = 128;

// The contents of a request, not yet validated. The host is unset for a GET.
struct Said {
  std::optional<std::string> host;
  std::optional<std::string> key;
  std::optional<std::string> key_location;
  std::optional<std::vector<std::string>> urls;
};

struct PingFault {
  int status = 400;
  std::string why;
};

// Parses the query. Returns the first fault; nullopt = none.
std::optional<PingFault> ReadQuery(std::string_view query, Said* said) {
  std::optional<std::string> url;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    const std::string_view name = pair.substr(0, equals);
    std::optional<std::string>* target = name == "url"           ? &url
                                         : name == "key"         ? &said->key
                                         : name == "keyLocation" ? &said->key_location
                                                                 : nullptr;
    if (target == nullptr) continue;
    if (*target) return PingFault{400, fmt::format("{}: is given twice", name)};
    *target = Unescaped(equals == std::string_view::npos ? "" : pair.substr(equals + 1));
    if (!*target) return PingFault{400, fmt::format("{}: has a malformed %-escape", name)};
  }
  if (!url) return PingFault{400, "url: is missing"};
  said->urls = {*std::move(url)};
  return std::nullopt;
}

// Parses a JSON object of strings and one list of strings. Refuses deeper nesting.
class Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Reader(int max_urls, Said* said) : max_urls_(static_cast<size_t>(max_urls)), said_(*said) {}

  [[nodiscard]] const std::string& fault() const { return fault_; }

  bool start_object(size_t) override {
    return depth_++ == 0 ||
           Fail("must be a JSON object with strings as values, except urlList, a list of strings");
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool key(std::string& name) override {
    name_ = std::move(name);
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ == 0 || in_list_)
      return Fail(
          "must be a JSON object with strings as values, except urlList, a list of strings");
    in_list_ = true;
    if (name_ != "urlList") return true;
    if (said_.urls) return Fail("is given twice");
    said_.urls.emplace();
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    return true;
  }
  bool string(std::string& text) override {
    if (depth_ == 0) return Fail("is not an object");
    if (in_list_) return name_ != "urlList" || AddUrl(std::move(text));
    std::optional<std::string>* target = Target();
    if (target == nullptr) return name_ != "urlList" || Fail("is not a list");
    if (*target) return Fail("is given twice");
    *target = std::move(text);
    return true;
  }
  bool null() override { return Other(); }
  bool boolean(bool) override { return Other(); }
  bool number_integer(int64_t) override { return Other(); }
  bool number_unsigned(uint64_t) override { return Other(); }
  bool number_float(double, const std::string&) override { return Other(); }
  bool binary(nlohmann::json::binary_t&) override { return Other(); }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    fault_ = fmt::format("the body is not JSON from byte {}", position);
    return false;
  }

 private:
  std::optional<std::string>* Target() {
    if (name_ == "host") return &said_.host;
    if (name_ == "key") return &said_.key;
    if (name_ == "keyLocation") return &said_.key_location;
    return nullptr;
  }
  bool AddUrl(std::string url) {
    if (said_.urls->size() >= max_urls_) {
      return Fail(fmt::format("has more than {} URLs", max_urls_));
    }
    said_.urls->push_back(std::move(url));
    return true;
  }
  // Handles all other values, which only unknown members may have.
  bool Other() {
    if (depth_ == 0) return Fail("is not an object");
    return (Target() == nullptr && name_ != "urlList") || Fail("is not a string");
  }
  bool Fail(std::string_view what) {
    fault_ = fmt::format("{}: {}", name_.empty() ? "body" : name_.substr(0, 40), what);
    return false;
  }

  const size_t max_urls_;
  Said& said_;
  int depth_ = 0;
  bool in_list_ = false;
  std::string name_;
  std::string fault_;
};

std::optional<PingFault> ReadJson(const std::string& body, int max_urls, Said* said) {
  Reader reader(max_urls, said);
  if (!nlohmann::json::sax_parse(body, &reader)) return PingFault{400, reader.fault()};
  if (!said->host) return PingFault{400, "host: is missing"};
  if (!said->urls || said->urls->empty()) return PingFault{400, "urlList: is missing or empty"};
  return std::nullopt;
}

bool IsKey(std::string_view key) {
  return key.size() >= kShortestKey && key.size() <= kLongestKey &&
         std::all_of(key.begin(), key.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '-';
         });
}

// The path of a canonical URL, and all that follows it.
std::string_view PathOfCanonical(std::string_view canonical) {
  return canonical.substr(canonical.find('/', canonical.find("://") + 3));
}

std::string Shown(std::string_view text) { return std::string(text.substr(0, 200)); }

// Sets the location of the key file, and the directory for whose pages the key is valid.
std::optional<PingFault> Locate(const Said& said, Ping* ping, std::string* directory) {
  *directory = "/";
  ping->file.path = "/" + ping->key + ".txt";
  if (!said.key_location) return std::nullopt;
  const StatusOr<CanonicalUrl> location = Canonicalise(*said.key_location);
  if (!location.ok()) {
    return PingFault{422, fmt::format("keyLocation: {}", ReasonOf(location.status()))};
  }
  ping->file.https = location->text.starts_with("https:");
  ping->file.path = PathOfCanonical(location->text);
  // If `keyLocation` has another host, another port, a user, or a dot after the host, the texts
  // differ.
  if (ping->file.Url() != location->text) {
    return PingFault{422, "keyLocation: is not of the host, at the usual port"};
  }
  const std::string_view path =
      std::string_view(ping->file.path).substr(0, ping->file.path.find('?'));
  *directory = path.substr(0, path.rfind('/') + 1);
  return std::nullopt;
}

std::optional<PingFault> CheckUrls(std::vector<std::string> urls, std::string_view directory,
                                   Ping* ping) {
  for (size_t i = 0; i < urls.size(); ++i) {
    StatusOr<CanonicalUrl> url = Canonicalise(urls[i]);
    if (!url.ok()) return PingFault{422, fmt::format("URL {}: {}", i + 1, ReasonOf(url.status()))};
    if (url->host != ping->file.host) {
      return PingFault{422, fmt::format("URL {}: {} is not of the host {}", i + 1, Shown(urls[i]),
                                        ping->file.host)};
    }
    if (!PathOfCanonical(url->text).starts_with(directory)) {
      return PingFault{422, fmt::format("URL {}: {} is not below {}, where the key is", i + 1,
                                        Shown(urls[i]), Shown(directory))};
    }
    ping->urls.push_back(std::move(url->text));
  }
  std::sort(ping->urls.begin(), ping->urls.end());
  ping->urls.erase(std::unique(ping->urls.begin(), ping->urls.end()), ping->urls.end());
  return std::nullopt;
}

std::optional<PingFault> Read(const HttpRequest& request, const IndexNowConfig& config,
                              Ping* ping) {
  Said said;
  const bool post = request.method == "POST";
  if (auto refusal =
          post ? ReadJson(request.body, config.max_urls, &said) : ReadQuery(request.query, &said)) {
    return refusal;
  }
  if (!said.key) return PingFault{400, "key: is missing"};
  if (!IsKey(*said.key)) {
    return PingFault{422, "key: is not 8 to 128 letters, digits and dashes"};
  }
  ping->key = *std::move(said.key);
  const StatusOr<CanonicalUrl> host =
      Canonicalise(said.host ? fmt::format("https://{}/", *said.host) : said.urls->front());
  if (!host.ok()) {
    return PingFault{422,
                     fmt::format("{}: {}", said.host ? "host" : "url", ReasonOf(host.status()))};
  }
  ping->file.host = host->host;
  if (said.host && host->text != fmt::format("https://{}/", ping->file.host)) {
    return PingFault{422, "host: is more than a host"};
  }
  std::string directory;
  if (auto refusal = Locate(said, ping, &directory)) return refusal;
  return CheckUrls(*std::move(said.urls), directory, ping);
}

}  // namespace

size_t Ping::bytes() const {
  return std::accumulate(
      urls.begin(), urls.end(), sizeof(Ping) + key.size() + file.path.size(),
      [](size_t sum, const std::string& url) { return sum + sizeof(std::string) + url.size(); });
}

std::variant<Ping, HttpResponse> ParsePing(const HttpRequest& request,
                                           const IndexNowConfig& config) {
  Ping ping;
  if (auto refusal = Read(request, config, &ping)) {
    return TextResponse(refusal->status, refusal->why);
  }
  return ping;
}

}  // namespace freshet
