// Counts the removed rows that a read steps over. RocksDB's iterators step over removed rows that
// are not compacted away, one by one, up to the next existing row.
#ifndef FRESHET_TESTS_STORAGE_REMOVED_ROWS_H_
#define FRESHET_TESTS_STORAGE_REMOVED_ROWS_H_

#include <cstdint>

#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"

namespace freshet {

// Returns the number of removed rows that `read` steps over on this thread; for a commit, until it
// begins to write.
template <typename Read>
[[nodiscard]] uint64_t RemovedRowsWalkedOver(const Read& read) {
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  rocksdb::get_perf_context()->Reset();
  read();
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  return rocksdb::get_perf_context()->internal_delete_skipped_count;
}

}  // namespace freshet

#endif  // FRESHET_TESTS_STORAGE_REMOVED_ROWS_H_
