// Checks the parts of a table that RocksDB uses before it has verified a checksum: the footer, and
// the block of properties. Damage there can end the process, by an assertion or a failing
// allocation. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_TABLE_CHECK_H_
#define FRESHET_STORAGE_INTERNAL_TABLE_CHECK_H_

#include <cstdint>
#include <string>

#include "rocksdb/file_system.h"

namespace freshet::storage {

// Checks the table at `path`, which has `bytes` bytes. OK: RocksDB can read the table safely, and
// finds all other damage itself, even in a file that is too short for a footer. Not OK: Corruption,
// with the path and the offset, if the table is damaged or has a footer that no release of Freshet
// writes. RocksDB must not read such a table. Costs three short reads. Thread-safe.
[[nodiscard]] rocksdb::IOStatus CheckTable(const std::string& path,
                                           const rocksdb::FSRandomAccessFile& table,
                                           uint64_t bytes);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_TABLE_CHECK_H_
