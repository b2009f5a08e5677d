#include "storage/internal/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

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

#if defined(__x86_64__)
// Each instruction takes three cycles for eight bytes and waits for the previous one. This is
// faster than reading a file, so interleaving several checksums would gain nothing.
__attribute__((target("sse4.2"))) uint32_t Crc32cByInstruction(uint32_t crc,
                                                               std::string_view bytes) {
  uint64_t folded = ~crc;
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    folded = _mm_crc32_u64(folded, word);
    bytes.remove_prefix(sizeof(word));
  }
  crc = static_cast<uint32_t>(folded);
  for (const char c : bytes) crc = _mm_crc32_u8(crc, static_cast<unsigned char>(c));
  return ~crc;
}
#endif

}  // namespace

uint32_t Crc32c(uint32_t crc, std::string_view bytes) {
#if defined(__x86_64__)
  static const bool kHasInstruction = __builtin_cpu_supports("sse4.2") != 0;
  if (kHasInstruction) return Crc32cByInstruction(crc, bytes);
#endif
  return Crc32cByTables(crc, bytes);
}

uint32_t Crc32cByTables(uint32_t crc, std::string_view bytes) {
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
