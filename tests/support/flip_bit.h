// Damages files by flipping a single bit.
#ifndef FRESHET_TESTS_SUPPORT_FLIP_BIT_H_
#define FRESHET_TESTS_SUPPORT_FLIP_BIT_H_

#include <cstddef>
#include <filesystem>
#include <fstream>

namespace freshet {

// Flips one bit (0 to 7) of the byte at `at`. Precondition: the file has this byte.
inline void FlipBit(const std::filesystem::path& file, size_t at, int bit) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(at));
  const auto byte = static_cast<char>(stream.get() ^ 1 << bit);
  stream.seekp(static_cast<std::streamoff>(at));
  stream.put(byte);
}

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_FLIP_BIT_H_
