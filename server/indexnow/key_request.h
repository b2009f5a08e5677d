// Fetches a small file by one GET from one of several addresses. The fetch is safe whatever the
// host does. The caller checks the key.
#ifndef FRESHET_SERVER_INDEXNOW_KEY_REQUEST_H_
#define FRESHET_SERVER_INDEXNOW_KEY_REQUEST_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace freshet {

// The maximum size in bytes of an answer's header, and of each later protocol line, such as a chunk
// header.
inline constexpr size_t kMaxKeyHeaderBytes = 8 << 10;

// The file to fetch. Value type, thread-compatible.
struct SmallFileRequest {
  bool https = true;
  std::string host;  // for the Host field and the certificate
  std::string path;  // with the query; must have no white space or control characters
  std::vector<std::string> addresses;  // numeric; the first that accepts a connection is used
  uint16_t port = 443;
};

// The answer. Value type, thread-compatible.
struct SmallFile {
  std::string failure;  // why there is no answer; empty = there is one
  int status = 0;
  bool too_large = false;  // the body was too large, and is dropped
  std::string body;        // set if `status` is 200
};

// Fetches the file. Reads at most kMaxKeyHeaderBytes of the header and limits::kMaxKeyFileBytes of
// the body. Takes at most `timeout`. Returns early if `cancelled` becomes true. Returns redirects
// like other answers. Thread-safe.
[[nodiscard]] SmallFile FetchSmallFile(const SmallFileRequest& request, Duration timeout,
                                       const std::atomic<bool>& cancelled);

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_KEY_REQUEST_H_
