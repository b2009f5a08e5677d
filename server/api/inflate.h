// Inflates compressed messages. gRPC would inflate everything, up to a thousand bytes from each;
// here the size in gzip's trailer is checked first.
#ifndef FRESHET_SERVER_API_INFLATE_H_
#define FRESHET_SERVER_API_INFLATE_H_

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace freshet {

// Whether bytes are gzip's. No protobuf message begins like that.
[[nodiscard]] bool IsGzip(std::string_view bytes);

// The size of the content by the last four bytes of gzip, below 4 GiB. Thread-safe.
inline constexpr size_t kGzipSizeBytes = 4;
[[nodiscard]] size_t SizeFromTrailer(std::string_view last_four);

// Inflates one piece, as gRPC compresses. InvalidArgument: more than `most` bytes, which costs
// nothing; a size other than the trailer says; or damage. Thread-safe.
[[nodiscard]] StatusOr<std::string> Inflate(std::string_view gzip, size_t most);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_INFLATE_H_
