#include "storage/internal/frontier_tuning.h"

#include <array>
#include <cstddef>
#include <memory>

#include "rocksdb/cache.h"
#include "storage/internal/frontier_rows.h"
#include "storage/internal/tuning.h"

namespace freshet::storage {
namespace {

constexpr std::array<const char*, kFrontierFamilies> kNames = {"default", "items", "due", "leases",
                                                               "queues"};

rocksdb::ColumnFamilyOptions OptionsOf(FrontierFamily family, const StoreOptions& options,
                                       const std::shared_ptr<rocksdb::Cache>& cache) {
  // What suits rows of hosts suits these as well: they are asked for whether they exist or not.
  rocksdb::ColumnFamilyOptions cf = MakeFamilyOptions(Family::kHosts, options, cache);
  cf.disable_auto_compactions = false;
  // Rows of many queues come in no order of their keys.
  cf.memtable_insert_with_hint_prefix_extractor = nullptr;
  if (family != FrontierFamily::kItems) cf.memtable_prefix_bloom_size_ratio = 0;
  return cf;
}

}  // namespace

std::vector<rocksdb::ColumnFamilyDescriptor> FrontierColumnFamilies(const StoreOptions& options) {
  const auto cache = rocksdb::NewLRUCache(options.block_cache_bytes);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (size_t i = 0; i < kNames.size(); ++i) {
    families.emplace_back(kNames[i], OptionsOf(static_cast<FrontierFamily>(i), options, cache));
  }
  return families;
}

}  // namespace freshet::storage
