// What iterators of RocksDB do with rows that were removed and not compacted away: walk over them,
// one by one, to the next row that is there.
#ifndef FRESHET_TESTS_STORAGE_REMOVED_ROWS_H_
#define FRESHET_TESTS_STORAGE_REMOVED_ROWS_H_

#include <cstdint>

#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"

namespace freshet {

// How many of them `read` walks over on this thread; of a commit, until it begins to write.
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
