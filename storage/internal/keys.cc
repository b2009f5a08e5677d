#include "storage/internal/keys.h"

#include <bit>
#include <cstring>

#include "core/base/check.h"
#include "core/base/id_limits.h"

namespace freshet::storage {
namespace {

constexpr size_t kSlotBytes = 2;
constexpr size_t kPageKeyBytes = 8;
static_assert(std::endian::native == std::endian::little);
constexpr size_t kShardBytes = 2;
constexpr size_t kLeaseKeyBytes = kShardBytes + 8;

void AppendBigEndian(std::string* out, uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(value >> shift));
  }
}

uint64_t ReadBigEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

std::optional<Slot> ParseSlot(std::string_view key) {
  if (key.size() < kSlotBytes) return std::nullopt;
  const uint64_t slot = ReadBigEndian(key.substr(0, kSlotBytes));
  if (slot >= limits::kSlots) return std::nullopt;
  return Slot(static_cast<uint16_t>(slot));
}

}  // namespace

std::string PageKeyOf(PageNumber number) {
  std::string key;
  AppendBigEndian(&key, number.value(), kPageKeyBytes);
  return key;
}

std::string HostKeyOf(Slot slot, std::string_view host) {
  std::string key = SlotPrefix(slot);
  key.append(host);
  return key;
}

std::string LeaseKeyOf(uint16_t shard, uint64_t sequence) {
  std::string key;
  AppendBigEndian(&key, shard, sizeof(shard));
  AppendBigEndian(&key, sequence, sizeof(sequence));
  return key;
}

std::string SourceKeyOf(uint8_t index) { return std::string(1, static_cast<char>(index)); }

std::string MetaKeyOf(MetaKey key) { return std::string(1, static_cast<char>(key)); }

std::string MetaKeyOf(MetaKey key, uint16_t shard_or_slot) {
  std::string bytes = MetaKeyOf(key);
  AppendBigEndian(&bytes, shard_or_slot, sizeof(shard_or_slot));
  return bytes;
}

std::string CrawlKeyOf(std::string_view crawl_id) {
  return MetaKeyOf(MetaKey::kCrawl).append(crawl_id);
}

std::string EpochPartKeyOf(uint16_t shard, uint16_t part) {
  std::string key = MetaKeyOf(MetaKey::kEpochPart, shard);
  AppendBigEndian(&key, part, sizeof(part));
  return key;
}

std::string PrefixEnd(std::string prefix) {
  while (!prefix.empty() && static_cast<uint8_t>(prefix.back()) == 0xff) prefix.pop_back();
  CHECK(!prefix.empty(), "nothing lies behind it");
  prefix.back() = static_cast<char>(static_cast<uint8_t>(prefix.back()) + 1);
  return prefix;
}

std::string SlotPrefix(Slot slot) {
  CHECK(slot.value() < limits::kSlots, "slot {}", slot.value());
  std::string key;
  AppendBigEndian(&key, slot.value(), kSlotBytes);
  return key;
}

std::optional<PageNumber> ParsePageKey(std::string_view key) {
  const std::optional<PageNumber> number = ParsePagePosition(key);
  return number && SerialOf(*number) > 0 ? number : std::nullopt;
}

std::optional<PageNumber> ParsePagePosition(std::string_view key) {
  if (key.size() != kPageKeyBytes) return std::nullopt;
  uint64_t bytes = 0;
  std::memcpy(&bytes, key.data(), sizeof(bytes));
  const PageNumber number(__builtin_bswap64(bytes));
  if (SlotOf(number).value() >= limits::kSlots) return std::nullopt;
  return number;
}

std::optional<HostKeyParts> ParseHostKey(std::string_view key) {
  const std::optional<Slot> slot = ParseSlot(key);
  if (!slot) return std::nullopt;
  return HostKeyParts{.slot = *slot, .host = key.substr(kSlotBytes)};
}

std::optional<LeaseKeyParts> ParseLeaseKey(std::string_view key) {
  if (key.size() != kLeaseKeyBytes) return std::nullopt;
  const uint64_t shard = ReadBigEndian(key.substr(0, kShardBytes));
  if (shard >= limits::kMaxShards) return std::nullopt;
  return LeaseKeyParts{.shard = static_cast<uint16_t>(shard),
                       .sequence = ReadBigEndian(key.substr(kShardBytes))};
}

std::optional<uint8_t> ParseSourceKey(std::string_view key) {
  if (key.size() != 1) return std::nullopt;
  return static_cast<uint8_t>(key[0]);
}

std::optional<uint16_t> ParseMetaKey(MetaKey kind, std::string_view key) {
  if (key.size() != 3 || key[0] != static_cast<char>(kind)) return std::nullopt;
  return static_cast<uint16_t>(ReadBigEndian(key.substr(1)));
}

std::optional<EpochPartKeyParts> ParseEpochPartKey(std::string_view key) {
  if (key.size() != 5 || key[0] != static_cast<char>(MetaKey::kEpochPart)) return std::nullopt;
  return EpochPartKeyParts{.shard = static_cast<uint16_t>(ReadBigEndian(key.substr(1, 2))),
                           .part = static_cast<uint16_t>(ReadBigEndian(key.substr(3)))};
}

std::optional<std::string_view> ParseCrawlKey(std::string_view key) {
  if (key.size() < 2 || key[0] != static_cast<char>(MetaKey::kCrawl)) return std::nullopt;
  return key.substr(1);
}

}  // namespace freshet::storage
