#ifndef FRESHET_TESTS_STORAGE_SMALL_STORE_H_
#define FRESHET_TESTS_STORAGE_SMALL_STORE_H_

#include "storage/store.h"

namespace freshet {

// Returns options of a store for tests. The store keeps no free space in reserve, because tests
// share the disk. `env`: see StoreOptions.
inline StoreOptions SmallStore(rocksdb::Env* env = nullptr) {
  StoreOptions options;
  options.reserve_bytes = 0;
  options.block_cache_bytes = 1 << 20;
  options.env = env;
  return options;
}

}  // namespace freshet

#endif  // FRESHET_TESTS_STORAGE_SMALL_STORE_H_
