// Keys and values of the frontier's database. Internal to storage/.
//
//   meta    "format", "settings", 'c' crawl:u32   the format; FrontierSettings; name of a crawl id
//   items   crawl:u32 queue:u32 url               due, created, metadata
//   due     crawl:u32 queue:u32 due:u64 url       nothing; of URLs that wait
//   leases  crawl:u32 queue:u32 url               until, due; of URLs in flight
//   queues  crawl:u32 queue:u32                   FrontierQueueRecord, as tagged fields
//
// Numbers in keys are big endian, so that the order of keys is theirs.
#ifndef FRESHET_STORAGE_INTERNAL_FRONTIER_ROWS_H_
#define FRESHET_STORAGE_INTERNAL_FRONTIER_ROWS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"
#include "storage/frontier_store.h"

namespace freshet::storage {

enum class FrontierFamily : uint8_t { kMeta, kItems, kDue, kLeases, kQueues };
inline constexpr size_t kFrontierFamilies = 5;

inline constexpr const char* kFrontierFormatKey = "format";
inline constexpr const char* kFrontierSettingsKey = "settings";

// Has the batch forget all rows with this prefix, in all families but that of `meta`. `families` by
// FrontierFamily.
[[nodiscard]] rocksdb::Status ForgetFrontier(
    const std::vector<rocksdb::ColumnFamilyHandle*>& families, const std::string& prefix,
    rocksdb::WriteBatch* batch);

// Thread-safe, all of them. Parsers return false for what no writer has written.
[[nodiscard]] std::string FrontierCrawlPrefix(uint32_t crawl);
[[nodiscard]] std::string FrontierPrefix(FrontierQueueId queue);
[[nodiscard]] std::string FrontierItemKey(FrontierQueueId queue, std::string_view url);
[[nodiscard]] std::string FrontierDueKey(FrontierQueueId queue, uint64_t due, std::string_view url);
[[nodiscard]] std::string FrontierCrawlKey(uint32_t crawl);
[[nodiscard]] bool ParseFrontierCrawlKey(std::string_view key, uint32_t* crawl);
// Takes the prefix off the key.
[[nodiscard]] bool ParseFrontierPrefix(std::string_view* key, FrontierQueueId* queue);
[[nodiscard]] bool ParseFrontierDueKey(std::string_view key, FrontierQueueId* queue,
                                       FrontierDue* due);

[[nodiscard]] std::string EncodeFrontier(const FrontierItem& item);
[[nodiscard]] std::string EncodeFrontier(const FrontierLease& lease);
[[nodiscard]] std::string EncodeFrontier(const FrontierQueueRecord& record);
[[nodiscard]] std::string EncodeFrontier(const FrontierSettings& settings);
[[nodiscard]] bool DecodeFrontier(std::string_view value, FrontierItem* item);
[[nodiscard]] bool DecodeFrontier(std::string_view value, FrontierLease* lease);
[[nodiscard]] bool DecodeFrontier(std::string_view value, FrontierQueueRecord* record);
[[nodiscard]] bool DecodeFrontier(std::string_view value, FrontierSettings* settings);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_FRONTIER_ROWS_H_
