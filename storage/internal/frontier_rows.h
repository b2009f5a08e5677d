// Keys and values of the crawl frontier's column families. Internal to storage/.
//
//   frontier_meta    "settings", 'c' crawl:u32         FrontierSettings; name of a crawl id
//   frontier_items   crawl:u32 queue:u32 url           due, created, metadata
//   frontier_due     crawl:u32 queue:u32 due:u64 url   empty; one row for each waiting URL
//   frontier_leases  crawl:u32 queue:u32 url           until, due; one row for each URL in flight
//   frontier_queues  crawl:u32 queue:u32               FrontierQueueRecord, as tagged fields
//
// Numbers in keys are big endian, so that keys sort by number.
#ifndef FRESHET_STORAGE_INTERNAL_FRONTIER_ROWS_H_
#define FRESHET_STORAGE_INTERNAL_FRONTIER_ROWS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"
#include "storage/frontier_store.h"
#include "storage/internal/migrate.h"

namespace freshet::storage {

// `kFrontierFormatKey`: key of a row that releases before format 5 wrote. The row is ignored now.
inline constexpr const char* kFrontierFormatKey = "format";
inline constexpr const char* kFrontierSettingsKey = "settings";

// Adds range deletions to the batch that remove all rows with this prefix from all families of the
// frontier except frontier_meta.
[[nodiscard]] rocksdb::Status ForgetFrontier(const FamilyHandles& families,
                                             const std::string& prefix, rocksdb::WriteBatch* batch);

// All functions are thread-safe. Parsers return false for bytes that no writer produces.
[[nodiscard]] std::string FrontierCrawlPrefix(uint32_t crawl);
[[nodiscard]] std::string FrontierPrefix(FrontierQueueId queue);
[[nodiscard]] std::string FrontierItemKey(FrontierQueueId queue, std::string_view url);
[[nodiscard]] std::string FrontierDueKey(FrontierQueueId queue, uint64_t due, std::string_view url);
[[nodiscard]] std::string FrontierCrawlKey(uint32_t crawl);
[[nodiscard]] bool ParseFrontierCrawlKey(std::string_view key, uint32_t* crawl);
// Removes the prefix from the key.
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
