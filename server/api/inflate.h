// Messages that come compressed. gRPC would inflate whatever it is sent, a thousand bytes from
// each; here it stops at the size of the largest message.
#ifndef FRESHET_SERVER_API_INFLATE_H_
#define FRESHET_SERVER_API_INFLATE_H_

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace freshet {

// Whether bytes are gzip's. No message of protobuf starts so.
[[nodiscard]] bool IsGzip(std::string_view bytes);

// What was compressed. InvalidArgument: more than `most` bytes, or damaged; costs no more memory
// than `most` then. Thread-safe.
[[nodiscard]] StatusOr<std::string> Inflate(std::string_view gzip, size_t most);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_INFLATE_H_
