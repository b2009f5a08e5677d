// Finds a byte in a table in which a flipped bit makes RocksDB end the process by an assertion.
#ifndef FRESHET_TESTS_SUPPORT_PROPERTIES_BYTE_H_
#define FRESHET_TESTS_SUPPORT_PROPERTIES_BYTE_H_

#include <cstddef>
#include <filesystem>
#include <fstream>

namespace freshet {

// Returns the position of the last byte of a table's properties block, not counting the block's
// trailer. This byte is the most significant byte of the number that ends the block. The metaindex
// block comes next, and the footer has its offset.
inline size_t PropertiesByte(const std::filesystem::path& table) {
  constexpr int kFooterBytes = 53;
  constexpr size_t kTrailerBytes = 5;
  std::ifstream in(table, std::ios::binary);
  in.seekg(1 - kFooterBytes, std::ios::end);
  size_t metaindex = 0;
  for (int shift = 0;; shift += 7) {
    const int byte = in.get();
    metaindex |= static_cast<size_t>(byte & 0x7F) << shift;
    if (byte < 0x80) break;
  }
  return metaindex - kTrailerBytes - 1;
}

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_PROPERTIES_BYTE_H_
