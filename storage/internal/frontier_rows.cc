#include "storage/internal/frontier_rows.h"

#include <algorithm>

#include "core/base/check.h"
#include "storage/internal/codec.h"
#include "storage/internal/keys.h"

namespace freshet::storage {
namespace {

constexpr char kCrawlMark = 'c';
constexpr size_t kCrawlBytes = 4;
// The maximum count of URLs that is accepted. Every queue has fewer, and sums over all queues do
// not overflow.
constexpr uint64_t kMostUrls = uint64_t{1} << 38;

template <typename T>
void AppendBigEndian(T value, std::string* out) {
  for (int shift = 8 * static_cast<int>(sizeof(T)) - 8; shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(value >> shift & 0xff));
  }
}

template <typename T>
bool TakeBigEndian(std::string_view* bytes, T* value) {
  if (bytes->size() < sizeof(T)) return false;
  *value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    *value = static_cast<T>(*value << 8 | static_cast<uint8_t>((*bytes)[i]));
  }
  bytes->remove_prefix(sizeof(T));
  return true;
}

// Tags of a queue's record. A tag is never reused.
enum QueueTag : int {
  kKey = 1,
  kActive = 2,
  kCompleted = 3,
  kHeadDue = 4,  // stored plus one; left out = no URL waits
  kHeadUrl = 5,
  kDelay = 6,  // stored plus one
  kQueueBlockedUntil = 7,
  kLimit = 8,
  kLastServed = 9,
  kAskedDelay = 10,  // stored plus one
  kAskedUntil = 11,
};

}  // namespace

rocksdb::Status ForgetFrontier(const FamilyHandles& families, const std::string& prefix,
                               rocksdb::WriteBatch* batch) {
  const std::string end = PrefixEnd(prefix);
  rocksdb::Status status;
  for (const Family family : {Family::kFrontierItems, Family::kFrontierDue, Family::kFrontierLeases,
                              Family::kFrontierQueues}) {
    if (status.ok()) status = batch->DeleteRange(families[IndexOf(family)], prefix, end);
  }
  return status;
}

std::string FrontierCrawlPrefix(uint32_t crawl) {
  std::string key;
  AppendBigEndian(crawl, &key);
  return key;
}

std::string FrontierPrefix(FrontierQueueId queue) {
  std::string key;
  AppendBigEndian(queue.crawl, &key);
  AppendBigEndian(queue.queue, &key);
  return key;
}

std::string FrontierItemKey(FrontierQueueId queue, std::string_view url) {
  std::string key;
  key.reserve(sizeof(queue) + url.size());
  AppendBigEndian(queue.crawl, &key);
  AppendBigEndian(queue.queue, &key);
  key.append(url);
  return key;
}

std::string FrontierDueKey(FrontierQueueId queue, uint64_t due, std::string_view url) {
  std::string key;
  key.reserve(sizeof(queue) + sizeof(due) + url.size());
  AppendBigEndian(queue.crawl, &key);
  AppendBigEndian(queue.queue, &key);
  AppendBigEndian(due, &key);
  key.append(url);
  return key;
}

std::string FrontierCrawlKey(uint32_t crawl) {
  std::string key(1, kCrawlMark);
  AppendBigEndian(crawl, &key);
  return key;
}

bool ParseFrontierCrawlKey(std::string_view key, uint32_t* crawl) {
  if (key.size() != 1 + kCrawlBytes || key.front() != kCrawlMark) return false;
  key.remove_prefix(1);
  return TakeBigEndian(&key, crawl);
}

bool ParseFrontierPrefix(std::string_view* key, FrontierQueueId* queue) {
  return TakeBigEndian(key, &queue->crawl) && TakeBigEndian(key, &queue->queue);
}

bool ParseFrontierDueKey(std::string_view key, FrontierQueueId* queue, FrontierDue* due) {
  if (!ParseFrontierPrefix(&key, queue) || !TakeBigEndian(&key, &due->due)) return false;
  due->url = std::string(key);
  return true;
}

std::string EncodeFrontier(const FrontierItem& item) {
  std::string value;
  Writer writer(&value);
  writer.Varint(item.due);
  writer.Varint(item.created);
  writer.Raw(item.metadata);
  return value;
}

std::string EncodeFrontier(const FrontierLease& lease) {
  std::string value;
  Writer writer(&value);
  writer.Varint(lease.until);
  writer.Varint(lease.due);
  return value;
}

std::string EncodeFrontier(const FrontierQueueRecord& record) {
  std::string value;
  FieldWriter fields(&value);
  fields.Bytes(kKey, record.key);
  fields.Unsigned(kActive, record.active);
  fields.Unsigned(kCompleted, record.completed);
  if (record.head) {
    // UINT64_MAX and UINT64_MAX - 1 both mean "never due".
    fields.Unsigned(kHeadDue, std::min(record.head->due, UINT64_MAX - 1) + 1);
    fields.Bytes(kHeadUrl, record.head->url);
  }
  if (record.delay) fields.Unsigned(kDelay, uint64_t{*record.delay} + 1);
  fields.Unsigned(kQueueBlockedUntil, record.blocked_until);
  fields.Unsigned(kLimit, record.limit);
  fields.Unsigned(kLastServed, record.last_served);
  if (record.asked_delay) fields.Unsigned(kAskedDelay, uint64_t{*record.asked_delay} + 1);
  fields.Unsigned(kAskedUntil, record.asked_until);
  return value;
}

std::string EncodeFrontier(const FrontierSettings& settings) {
  std::string value;
  Writer writer(&value);
  writer.Varint(settings.default_delay);
  writer.U8(settings.active ? 1 : 0);
  if (settings.seen > 0) writer.Varint(settings.seen);
  return value;
}

bool DecodeFrontier(std::string_view value, FrontierItem* item) {
  Reader reader(value);
  item->due = reader.Varint();
  item->created = reader.Varint();
  item->metadata = std::string(reader.rest());
  return reader.ok();
}

bool DecodeFrontier(std::string_view value, FrontierLease* lease) {
  Reader reader(value);
  lease->until = reader.Varint();
  lease->due = reader.Varint();
  return reader.done();
}

bool DecodeFrontier(std::string_view value, FrontierQueueRecord* record) {
  *record = {};
  FieldReader fields(value);
  while (fields.Next()) {
    switch (fields.tag()) {
      case kKey:
        record->key = std::string(fields.Bytes());
        break;
      case kActive:
        record->active = fields.Unsigned(kMostUrls);
        break;
      case kCompleted:
        record->completed = fields.Unsigned(kMostUrls);
        break;
      case kHeadDue:
        record->head.emplace().due = fields.Unsigned() - 1;
        break;
      case kHeadUrl:
        if (!record->head) return false;
        record->head->url = std::string(fields.Bytes());
        break;
      case kDelay:
        record->delay = static_cast<uint32_t>(fields.Unsigned(uint64_t{UINT32_MAX} + 1) - 1);
        break;
      case kQueueBlockedUntil:
        record->blocked_until = fields.Unsigned();
        break;
      case kLimit:
        record->limit = static_cast<uint32_t>(fields.Unsigned(UINT32_MAX));
        break;
      case kLastServed:
        record->last_served = fields.Unsigned();
        break;
      case kAskedDelay:
        record->asked_delay = static_cast<uint32_t>(fields.Unsigned(uint64_t{UINT32_MAX} + 1) - 1);
        break;
      case kAskedUntil:
        record->asked_until = fields.Unsigned();
        break;
      default:
        fields.Fail();
    }
  }
  return fields.done();
}

bool DecodeFrontier(std::string_view value, FrontierSettings* settings) {
  Reader reader(value);
  settings->default_delay = static_cast<uint32_t>(reader.Varint());
  settings->active = reader.U8() != 0;
  // Earlier releases did not store `seen`.
  settings->seen = reader.done() ? 0 : reader.Varint();
  return reader.done();
}

}  // namespace freshet::storage
