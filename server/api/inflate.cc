#include "server/api/inflate.h"

#include <zlib.h>

#include <cstdint>
#include <memory>

#include "core/base/check.h"

namespace freshet {
namespace {

// zlib's number for a window of 15 bits in a gzip frame.
constexpr int kGzipWindow = 15 + 16;

Status Damaged() { return InvalidArgument("the message is not gzip, or it is damaged"); }

}  // namespace

bool IsGzip(std::string_view bytes) { return bytes.substr(0, 3) == "\x1f\x8b\x08"; }

size_t SizeFromTrailer(std::string_view last_four) {
  CHECK(last_four.size() == kGzipSizeBytes, "{} bytes", last_four.size());
  size_t size = 0;
  for (size_t i = kGzipSizeBytes; i-- > 0;) size = size << 8 | static_cast<uint8_t>(last_four[i]);
  return size;
}

StatusOr<std::string> Inflate(std::string_view gzip, size_t most) {
  if (gzip.size() < kGzipSizeBytes) return Damaged();
  const size_t size = SizeFromTrailer(gzip.substr(gzip.size() - kGzipSizeBytes));
  if (size > most) {
    return InvalidArgument("the message inflates to {} bytes, at most {} are allowed", size, most);
  }
  z_stream stream{};
  CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK, "zlib has no memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&stream, inflateEnd);
  // zlib takes its input through a non-const pointer, but does not write to it.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  // zlib reports the end only if there is room for one more byte.
  std::string out(size + 1, '\0');
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (inflate(&stream, Z_FINISH) != Z_STREAM_END || stream.avail_out != 1 || stream.avail_in != 0) {
    return Damaged();
  }
  out.resize(size);
  return out;
}

}  // namespace freshet
