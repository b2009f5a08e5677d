// Reads and validates pings of IndexNow (https://www.indexnow.org/documentation). A ping names
// pages of one host that were added, changed or deleted, and a key that the host's owner has
// published.
#ifndef FRESHET_SERVER_INDEXNOW_PING_H_
#define FRESHET_SERVER_INDEXNOW_PING_H_

#include <string>
#include <variant>
#include <vector>

#include "server/config_indexnow.h"
#include "server/ports/http_message.h"

namespace freshet {

// The file of a host that holds a key. Value type, thread-compatible.
struct KeyFile {
  bool https = true;  // at port 443, else HTTP at port 80
  std::string host;   // canonical: a name, or an IPv4 address
  std::string path;   // with the query, if there is one

  [[nodiscard]] std::string Url() const { return (https ? "https://" : "http://") + host + path; }
};

// A valid ping. Value type, thread-compatible.
struct Ping {
  std::string key;
  KeyFile file;
  std::vector<std::string> urls;  // canonical, all of the file's host

  // The memory that the ping takes while it waits for its key.
  [[nodiscard]] size_t bytes() const;
};

// Reads the ping of a request: a GET with `url` and `key`, or a POST of JSON; `keyLocation` with
// either. A ping with any fault is refused as a whole, so that a client can send all of it again.
// 400: malformed, incomplete, or over `config.max_urls` URLs. 422: an invalid key or URL, a URL of
// another host or outside the directory of the key file, or a key file elsewhere. The body is
// parsed in one pass, and only its URLs are kept. Thread-safe.
[[nodiscard]] std::variant<Ping, HttpResponse> ParsePing(const HttpRequest& request,
                                                         const IndexNowConfig& config);

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_PING_H_
