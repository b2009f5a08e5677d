#include "storage/internal/frontier_tuning.h"

#include <array>
#include <cstddef>
#include <memory>
#include <string>

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

template <typename Names>
std::vector<rocksdb::ColumnFamilyDescriptor> FamiliesOf(
    const Names& names, const StoreOptions& options,
    const std::shared_ptr<rocksdb::Cache>& blocks) {
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (size_t i = 0; i < names.size(); ++i) {
    families.emplace_back(std::string(names[i]),
                          OptionsOf(static_cast<FrontierFamily>(i), options, blocks));
  }
  return families;
}

}  // namespace

std::vector<rocksdb::ColumnFamilyDescriptor> FrontierFamiliesOfCache(
    const StoreOptions& options, const std::shared_ptr<rocksdb::Cache>& blocks) {
  return FamiliesOf(kFrontierFamilyNames, options, blocks);
}

std::vector<rocksdb::ColumnFamilyDescriptor> FrontierColumnFamilies(const StoreOptions& options) {
  return FamiliesOf(kNames, options, rocksdb::NewLRUCache(options.block_cache_bytes));
}

}  // namespace freshet::storage
