#include "server/api/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <memory>

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr size_t kStep = size_t{64} << 10;
// zlib's words for: 15 bits of window, in gzip's frame.
constexpr int kGzipWindow = 15 + 16;

}  // namespace

bool IsGzip(std::string_view bytes) { return bytes.substr(0, 3) == "\x1f\x8b\x08"; }

StatusOr<std::string> Inflate(std::string_view gzip, size_t most) {
  z_stream stream{};
  CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK, "zlib has no memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&stream, inflateEnd);
  // zlib reads through a pointer that it does not write through.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  std::string out;
  while (true) {
    const size_t before = out.size();
    // One byte beyond the limit tells that there is more.
    out.resize(std::min(most + 1, std::max(2 * before, kStep)));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.avail_out = static_cast<uInt>(out.size() - before);
    const int result = inflate(&stream, Z_NO_FLUSH);
    out.erase(out.size() - stream.avail_out);
    if (out.size() > most) {
      return InvalidArgument("the message inflates to more than {} bytes", most);
    }
    if (result == Z_STREAM_END) return out;
    if (result != Z_OK || (stream.avail_in == 0 && stream.avail_out > 0)) {
      return InvalidArgument("the message is no gzip, or damaged");
    }
  }
}

}  // namespace freshet
