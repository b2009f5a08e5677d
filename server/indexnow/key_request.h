// One GET of a small file from one of some addresses, however the host behaves. Knows nothing of
// keys.
#ifndef FRESHET_SERVER_INDEXNOW_KEY_REQUEST_H_
#define FRESHET_SERVER_INDEXNOW_KEY_REQUEST_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace freshet {

// Bytes of an answer's header, and of any one line behind it.
inline constexpr size_t kMaxKeyHeaderBytes = 8 << 10;

// The file to fetch. Value type, thread-compatible.
struct SmallFileRequest {
  bool https = true;
  std::string host;  // for the Host field, and for the certificate
  std::string path;  // with the query; holds neither white space nor control characters
  std::vector<std::string> addresses;  // as numbers; the first that accepts the connection is used
  uint16_t port = 443;
};

// The answer. Value type, thread-compatible.
struct SmallFile {
  std::string failure;  // why there is no answer; empty = there is one
  int status = 0;
  bool too_large = false;  // the body, which is then dropped
  std::string body;        // of an answer 200
};

// Holds at most kMaxKeyHeaderBytes of a header and limits::kMaxKeyFileBytes of a body. Takes at
// most `timeout`; returns early when `cancelled` becomes true. Redirects are answers like others.
// Thread-safe.
[[nodiscard]] SmallFile FetchSmallFile(const SmallFileRequest& request, Duration timeout,
                                       const std::atomic<bool>& cancelled);

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_KEY_REQUEST_H_
