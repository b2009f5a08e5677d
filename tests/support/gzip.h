// Reads the larger test vectors, which are compressed, and compresses text.
#ifndef FRESHET_TESTS_SUPPORT_GZIP_H_
#define FRESHET_TESTS_SUPPORT_GZIP_H_

#include <zlib.h>

#include <string>

#include "gtest/gtest.h"

namespace freshet {

// Returns the whole content of a file, decompressed if it is a gzip file.
inline std::string ReadMaybeGzip(const std::string& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  if (file == nullptr) return text;
  char buffer[1 << 16];
  int count = 0;
  while ((count = gzread(file, buffer, sizeof(buffer))) > 0) {
    text.append(buffer, static_cast<size_t>(count));
  }
  EXPECT_EQ(count, 0) << path;
  gzclose(file);
  return text;
}

// Returns the text as a gzip file.
inline std::string Gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string bytes(deflateBound(&stream, text.size()), '\0');
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_GZIP_H_
