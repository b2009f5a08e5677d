// Checks what RocksDB takes from a table before it has verified a checksum: the footer, and the
// block of properties. There a damaged table can end the process, by an assertion or by an
// allocation that fails. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_TABLE_CHECK_H_
#define FRESHET_STORAGE_INTERNAL_TABLE_CHECK_H_

#include <cstdint>
#include <string>

#include "rocksdb/file_system.h"

namespace freshet::storage {

// Corruption, with `path` and the offset: RocksDB must not read the table. OK: RocksDB may, and
// finds all other damage itself; so it does in a file that has no footer, or one of a version that
// no release of Freshet has written. `table` has `bytes` bytes. Costs three short reads.
// Thread-safe.
[[nodiscard]] rocksdb::IOStatus CheckTable(const std::string& path,
                                           const rocksdb::FSRandomAccessFile& table,
                                           uint64_t bytes);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_TABLE_CHECK_H_
