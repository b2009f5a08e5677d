// CRC-32C (Castagnoli), as RocksDB's log records carry it.
#ifndef FRESHET_STORAGE_INTERNAL_CRC32C_H_
#define FRESHET_STORAGE_INTERNAL_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace freshet::storage {

// The checksum of some bytes followed by `bytes`, given that of the former; 0 for none. Takes the
// processor's instruction where there is one: some 8 GB/s. Thread-safe.
[[nodiscard]] uint32_t Crc32c(uint32_t crc, std::string_view bytes);

// The same by tables, for every processor: some 1.5 GB/s. Thread-safe.
[[nodiscard]] uint32_t Crc32cByTables(uint32_t crc, std::string_view bytes);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_CRC32C_H_
