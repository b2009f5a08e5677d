// Reads the larger test vectors, which are kept compressed.
#ifndef FRESHET_TESTS_SUPPORT_GZIP_H_
#define FRESHET_TESTS_SUPPORT_GZIP_H_

#include <zlib.h>

#include <string>

#include "gtest/gtest.h"

namespace freshet::testing {

// The whole content of a file, decompressed if it is a gzip file.
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

}  // namespace freshet::testing

#endif  // FRESHET_TESTS_SUPPORT_GZIP_H_
