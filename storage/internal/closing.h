// Makes a store durable when it closes. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_CLOSING_H_
#define FRESHET_STORAGE_INTERNAL_CLOSING_H_

#include <vector>

#include "rocksdb/db.h"
#include "storage/options.h"

namespace freshet::storage {

// Makes everything that was written durable. Also flushes it to tables, so that the next start has
// less to replay. Flushes one family after another, and starts no further flush after about a
// second, because each family needs several syncs, and a sync can take seconds. The rows that are
// not flushed stay in the logs. If `durability` is none, everything is flushed. Errors: from
// RocksDB. Thread-compatible.
[[nodiscard]] rocksdb::Status FlushAtEnd(rocksdb::DB& db,
                                         const std::vector<rocksdb::ColumnFamilyHandle*>& families,
                                         Durability durability);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_CLOSING_H_
