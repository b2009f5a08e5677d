// What a ping of IndexNow (https://www.indexnow.org/documentation) says, validated: some pages of
// one host have been added, changed or deleted, and a key that the host's owner has put there.
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

// Value type, thread-compatible.
struct Ping {
  std::string key;
  KeyFile file;
  std::vector<std::string> urls;  // canonical, all of the file's host

  // What it takes while it waits for its key to be checked.
  [[nodiscard]] size_t bytes() const;
};

// The ping of a request, GET with `url` and `key`, or POST with JSON; `keyLocation` with either.
// One that is not right in every respect is refused as a whole, so that a client can send all of it
// again: 400 for what is malformed, lacks something or has more than `config.max_urls` URLs, 422
// for a key that is no key, URLs that are no URLs, are not of the host or not below the directory
// of the key file, and for a key file that lies elsewhere. The body is parsed in one pass without
// keeping more of it than the URLs. Thread-safe.
[[nodiscard]] std::variant<Ping, HttpResponse> ParsePing(const HttpRequest& request,
                                                         const IndexNowConfig& config);

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_PING_H_
