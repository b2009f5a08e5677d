#include "server/api/frontier_wire.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "core/base/limits.h"
#include "core/base/text.h"
#include "grpcpp/support/slice.h"
#include "server/base/frontier_limits.h"
#include "server/frontier/frontier_names.h"

namespace freshet {
namespace {

// Field numbers (proto/urlfrontier/urlfrontier.proto).
enum Number : uint32_t {
  kInfoUrl = 1,
  kInfoKey = 2,
  kInfoMetadata = 3,
  kInfoCrawl = 4,
  kItemDiscovered = 1,
  kItemKnown = 2,
  kItemId = 3,
  kWrappedInfo = 1,
  kWrappedDate = 2,
  kEntryKey = 1,
  kEntryValues = 2,
  kListValues = 1,
  kAckId = 1,
  kAckStatus = 2,
  kBatchId = 1,
  kBatchItems = 2,
};

bool IsUtf8(std::string_view text) { return ValidUtf8Prefix(text) == text.size(); }

// Reads the fields of a message one after the other. Use: `while (fields.Next()) ...`, then check
// ok(). Thread-compatible.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  bool Next() {
    if (!ok_ || rest_.empty()) return false;
    const char* begin = rest_.data();
    const uint64_t tag = Varint();
    number_ = static_cast<uint32_t>(tag >> 3);
    text_ = {};
    is_text_ = (tag & 7) == 2;
    switch (tag & 7) {
      case 0:
        value_ = Varint();
        break;
      case 1:
        (void)Take(8);
        break;
      case 2:
        text_ = Take(Varint());
        break;
      case 5:
        (void)Take(4);
        break;
      default:
        ok_ = false;
    }
    ok_ = ok_ && number_ > 0 && tag <= UINT32_MAX;
    whole_ = {begin, static_cast<size_t>(rest_.data() - begin)};
    return ok_;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  // Whether this is field `number`, and length-delimited.
  [[nodiscard]] bool IsText(uint32_t number) const { return is_text_ && number_ == number; }
  [[nodiscard]] bool IsNumber(uint32_t number) const { return !is_text_ && number_ == number; }
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] uint64_t value() const { return value_; }
  // The encoded field with its tag.
  [[nodiscard]] std::string_view whole() const { return whole_; }

 private:
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  std::string_view Take(uint64_t size) {
    if (size > rest_.size()) ok_ = false;
    if (!ok_) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  std::string_view whole_;
  std::string_view text_;
  uint64_t value_ = 0;
  uint32_t number_ = 0;
  bool is_text_ = false;
  bool ok_ = true;
};

// An entry of metadata.
struct Entry {
  std::string_view key;
  std::optional<std::string_view> value;  // the first one
};

// Reads an entry. False = the bytes are invalid, and clients could not read the entry if it were
// sent back.
bool ReadEntry(std::string_view bytes, Entry* entry, bool* utf8) {
  Fields fields(bytes);
  while (fields.Next()) {
    if (fields.IsText(kEntryKey)) {
      entry->key = fields.text();
      *utf8 = *utf8 && IsUtf8(entry->key);
    }
    if (!fields.IsText(kEntryValues)) continue;
    Fields values(fields.text());
    while (values.Next()) {
      if (!values.IsText(kListValues)) continue;
      *utf8 = *utf8 && IsUtf8(values.text());
      if (!entry->value) entry->value = values.text();
    }
    if (!values.ok()) return false;
  }
  return fields.ok();
}

// `item` is the message of a known URL; nullptr = the URL is a discovered one.
bool DecodeInfo(std::string_view bytes, FrontierItemMessage* item, FrontierUrl* url) {
  Fields fields(bytes);
  while (fields.Next()) {
    if (fields.IsText(kInfoUrl)) url->url = fields.text();
    if (fields.IsText(kInfoKey)) url->key = fields.text();
    if (fields.IsText(kInfoCrawl)) url->crawl = fields.text();
    if (!fields.IsText(kInfoMetadata)) continue;
    Entry entry;
    if (!ReadEntry(fields.text(), &entry, &url->valid)) return false;
    url->metadata.append(fields.whole());
    if (item == nullptr || !entry.value) continue;
    item->status.Offer(entry.key, *entry.value);
    item->digest.Offer(entry.key, *entry.value);
  }
  url->valid = url->valid && IsUtf8(url->url) && IsUtf8(url->key) && IsUtf8(url->crawl);
  return fields.ok();
}

// Reads the fields that DiscoveredURLItem and KnownURLItem share.
bool DecodeWrapped(std::string_view bytes, FrontierItemMessage* item) {
  Fields fields(bytes);
  while (fields.Next()) {
    if (fields.IsText(kWrappedInfo)) {
      if (!DecodeInfo(fields.text(), item->known ? item : nullptr, &item->info)) return false;
    }
    if (item->known && fields.IsNumber(kWrappedDate)) item->due = fields.value();
  }
  return fields.ok();
}

void AppendVarint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

void AppendText(uint32_t number, std::string_view text, std::string* out) {
  if (text.empty()) return;
  AppendVarint(uint64_t{number} << 3 | 2, out);
  AppendVarint(text.size(), out);
  out->append(text);
}

std::string Readable(std::string_view text) {
  std::string readable(text);
  for (size_t at = 0;
       (at += ValidUtf8Prefix(std::string_view(readable).substr(at))) < readable.size();) {
    readable[at++] = '?';
  }
  return readable;
}

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

uint8_t StatusNumber(FrontierOutcome outcome) {
  switch (outcome) {
    case FrontierOutcome::kOk:
      return 0;
    case FrontierOutcome::kKnown:
    case FrontierOutcome::kSkipped:
      return 1;
    case FrontierOutcome::kFailed:
      break;
  }
  return 2;
}

}  // namespace

bool DecodeFrontierItem(std::string_view bytes, FrontierItemMessage* item) {
  Fields fields(bytes);
  while (fields.Next()) {
    if (fields.IsText(kItemId)) item->id = fields.text();
    const bool known = fields.IsText(kItemKnown);
    if (!known && !fields.IsText(kItemDiscovered)) continue;
    if (item->given && item->known != known) {
      // If a message has several members of a oneof, only the last one counts.
      item->info = {};
      item->status.Clear();
      item->digest.Clear();
      item->due = 0;
    }
    item->given = true;
    item->known = known;
    if (!DecodeWrapped(fields.text(), item)) return false;
  }
  return fields.ok();
}

bool DecodeFrontierBatch(std::string_view bytes, FrontierBatchMessage* batch) {
  Fields fields(bytes);
  while (fields.Next()) {
    if (fields.IsText(kBatchId)) batch->id = fields.text();
    if (!fields.IsText(kBatchItems)) continue;
    if (++batch->count > limits::kMaxUrlsPerBatch) continue;
    if (!DecodeInfo(fields.text(), nullptr, &batch->items.emplace_back())) return false;
  }
  return fields.ok();
}

void FirstMetadata::Offer(std::string_view key, std::string_view value) {
  for (size_t i = 0; i < keys_->size(); ++i) {
    const std::string& wanted = (*keys_)[i];
    if (!absl::EqualsIgnoreCase({key.data(), key.size()}, wanted)) continue;
    const std::tuple place(i, key != wanted, key);
    // A later entry with the same key replaces the one before, as in protobuf.
    if (place_ && *place_ < place) return;
    place_ = place;
    value_ = value;
    return;
  }
}

FrontierFetch FetchOf(const FrontierItemMessage& item) {
  const std::string_view text = item.status.value();
  int status = 0;
  if (!absl::SimpleAtoi({text.data(), text.size()}, &status)) status = 0;
  return {.http_status = status,
          .digest = std::string(item.digest.value().substr(0, limits::kMaxValidatorBytes))};
}

StatusOr<FrontierPut> MakeFrontierPut(FrontierUrl url) {
  if (!url.valid) return InvalidArgument("info: holds text that is not UTF-8");
  if (url.url.empty()) return InvalidArgument("url: is empty");
  if (url.url.size() > limits::kMaxUrlBytes) {
    return InvalidArgument("url: is longer than {} bytes", limits::kMaxUrlBytes);
  }
  const std::string_view crawl = FrontierCrawlName(url.crawl);
  const std::string_view key = url.key.empty() ? FrontierHostOf(url.url) : url.key;
  if (key.empty()) return InvalidArgument("key: is empty, and the URL has no host");
  for (const std::string_view name : {crawl, key}) {
    if (!IsFrontierName(name)) {
      return InvalidArgument("{}: is longer than {} characters", name == key ? "key" : "crawlID",
                             limits::kMaxFrontierNameCharacters);
    }
  }
  return FrontierPut{.crawl = std::string(crawl),
                     .key = std::string(key),
                     .url = std::string(url.url),
                     .metadata = std::move(url.metadata)};
}

grpc::ByteBuffer EncodeFrontierAck(std::string_view id, FrontierOutcome outcome) {
  id = FrontierAckId(id);
  std::string bytes;
  AppendText(kAckId, IsUtf8(id) ? id : std::string_view(Readable(id)), &bytes);
  if (const uint8_t status = StatusNumber(outcome); status != 0) {
    AppendVarint(kAckStatus << 3, &bytes);
    AppendVarint(status, &bytes);
  }
  return ToBuffer(bytes);
}

grpc::ByteBuffer EncodeFrontierBatchAck(std::string_view id,
                                        const std::vector<FrontierOutcome>& outcomes) {
  std::string statuses;
  for (const FrontierOutcome outcome : outcomes) AppendVarint(StatusNumber(outcome), &statuses);
  std::string bytes;
  AppendText(kAckId, Readable(FrontierAckId(id)), &bytes);
  AppendText(kAckStatus, statuses, &bytes);
  return ToBuffer(bytes);
}

grpc::ByteBuffer EncodeFrontierUrl(const FrontierServed& served) {
  std::string bytes;
  bytes.reserve(16 + served.url.size() + served.key.size() + served.metadata.size() +
                served.crawl.size());
  AppendText(kInfoUrl, served.url, &bytes);
  AppendText(kInfoKey, served.key, &bytes);
  bytes.append(served.metadata);
  AppendText(kInfoCrawl, served.crawl, &bytes);
  return ToBuffer(bytes);
}

}  // namespace freshet
