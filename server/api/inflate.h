// Messages that come compressed. gRPC would inflate whatever it is sent, a thousand bytes from
// each; here the trailer of gzip says how many there are before any is made.
#ifndef FRESHET_SERVER_API_INFLATE_H_
#define FRESHET_SERVER_API_INFLATE_H_

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace freshet {

// Whether bytes are gzip's. No message of protobuf starts so.
[[nodiscard]] bool IsGzip(std::string_view bytes);

// How many bytes the last four bytes of gzip say that there are, below 4 GiB. Thread-safe.
inline constexpr size_t kGzipSizeBytes = 4;
[[nodiscard]] size_t SizeFromTrailer(std::string_view last_four);

// What was compressed, in one piece, as gRPC compresses. InvalidArgument: more than `most` bytes,
// which costs nothing; other bytes than the trailer says, or damaged. Thread-safe.
[[nodiscard]] StatusOr<std::string> Inflate(std::string_view gzip, size_t most);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_INFLATE_H_
