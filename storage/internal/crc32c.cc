#include "storage/internal/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace freshet::storage {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // 0x1EDC6F41, bits reversed
constexpr int kSlices = 8;
using Tables = std::array<std::array<uint32_t, 256>, kSlices>;

// tables[k][b]: the checksum of byte b followed by k zero bytes, so that eight bytes are folded in
// with eight independent look-ups (Kounavis and Berry, "slicing by 8").
constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (int k = 1; k < kSlices; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}
constexpr Tables kTables = MakeTables();

}  // namespace

uint32_t Crc32c(uint32_t crc, std::string_view bytes) {
  crc = ~crc;
  while (bytes.size() >= kSlices) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    word ^= crc;
    crc = 0;
    for (int k = 0; k < kSlices; ++k) {
      crc ^= kTables[kSlices - 1 - k][(word >> (8 * k)) & 0xFF];
    }
    bytes.remove_prefix(kSlices);
  }
  for (const char c : bytes) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  }
  return ~crc;
}

}  // namespace freshet::storage
