// Parses and validates pings of IndexNow (https://www.indexnow.org/documentation). A ping names
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

// The key file of a host. Value type, thread-compatible.
struct KeyFile {
  bool https = true;  // HTTPS at port 443; false = HTTP at port 80
  std::string host;   // canonical name, or an IPv4 address
  std::string path;   // with the query, if any

  [[nodiscard]] std::string Url() const { return (https ? "https://" : "http://") + host + path; }
};

// A valid ping. Value type, thread-compatible.
struct Ping {
  std::string key;
  KeyFile file;
  std::vector<std::string> urls;  // canonical; all are of `file.host`

  // The bytes of memory that the ping takes while it waits for its key.
  [[nodiscard]] size_t bytes() const;
};

// Parses the ping of a request: a GET with `url` and `key`, or a POST of JSON. Both can have
// `keyLocation`. A ping with any fault is refused as a whole, so that the client can send all of it
// again. 400: the ping is malformed or incomplete, or has more than `config.max_urls` URLs. 422:
// the key or a URL is invalid, a URL is of another host or outside the directory of the key file,
// or the key file is on another host. The body is parsed in one pass, and only its URLs are kept.
// Thread-safe.
[[nodiscard]] std::variant<Ping, HttpResponse> ParsePing(const HttpRequest& request,
                                                         const IndexNowConfig& config);

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_PING_H_
