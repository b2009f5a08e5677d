// Inflates compressed messages. gRPC would inflate any message, and one byte can become a thousand
// bytes. Here the size in gzip's trailer is checked first.
#ifndef FRESHET_SERVER_API_INFLATE_H_
#define FRESHET_SERVER_API_INFLATE_H_

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace freshet {

// Whether the bytes begin like gzip. No protobuf message begins with these bytes.
[[nodiscard]] bool IsGzip(std::string_view bytes);

// The size of the content, according to the last four bytes of gzip. Four bytes can only hold sizes
// below 4 GiB. Thread-safe.
inline constexpr size_t kGzipSizeBytes = 4;
[[nodiscard]] size_t SizeFromTrailer(std::string_view last_four);

// Inflates one gzip member, the form that gRPC makes. InvalidArgument: the content has more than
// `most` bytes (nothing is inflated then) or another size than the trailer says, or the bytes are
// damaged. Thread-safe.
[[nodiscard]] StatusOr<std::string> Inflate(std::string_view gzip, size_t most);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_INFLATE_H_
