// Composes and parses the keys of all column families. Only this code knows their layout. Every
// integer in a key is big endian, so that bytes sort as numbers; every key of a page or host starts
// with its slot. Grammar:
//
//   page   := slot:2 serial:6                            pages
//   host   := slot:2 host                                hosts
//   lease  := shard:2 sequence:8                         leases
//   source := index:1                                    sources
//   meta   := MetaKey:1 [shard:2 [part:2] | slot:2 | crawl id]    meta
//
// All functions are thread-safe.
#ifndef FRESHET_STORAGE_INTERNAL_KEYS_H_
#define FRESHET_STORAGE_INTERNAL_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/units.h"
#include "core/model/page_number.h"
#include "storage/format.h"

namespace freshet::storage {

[[nodiscard]] std::string PageKeyOf(PageNumber number);
[[nodiscard]] std::string HostKeyOf(Slot slot, std::string_view host);
[[nodiscard]] std::string LeaseKeyOf(uint16_t shard, uint64_t sequence);
[[nodiscard]] std::string SourceKeyOf(uint8_t index);
[[nodiscard]] std::string MetaKeyOf(MetaKey key);
[[nodiscard]] std::string MetaKeyOf(MetaKey key, uint16_t shard_or_slot);
[[nodiscard]] std::string CrawlKeyOf(std::string_view crawl_id);
[[nodiscard]] std::string EpochPartKeyOf(uint16_t shard, uint16_t part);

// Returns the first key after all keys with this prefix, which must have a byte that is not 0xff.
// Iterators need it as their bound, because otherwise they read all removed rows after the prefix,
// up to the next existing row.
[[nodiscard]] std::string PrefixEnd(std::string prefix);
// Start of every key of a slot.
[[nodiscard]] std::string SlotPrefix(Slot slot);

// The parts are views into the key that was parsed.
struct HostKeyParts {
  Slot slot;
  std::string_view host;
};
struct LeaseKeyParts {
  uint16_t shard = 0;
  uint64_t sequence = 0;
};
struct EpochPartKeyParts {
  uint16_t shard = 0;
  uint16_t part = 0;
};

// The Parse functions return nullopt for bytes that no function above composes.
[[nodiscard]] std::optional<PageNumber> ParsePageKey(std::string_view key);
// A position among the pages: the key of a page, or serial 0, which is before the first page of a
// slot.
[[nodiscard]] std::optional<PageNumber> ParsePagePosition(std::string_view key);
[[nodiscard]] std::optional<HostKeyParts> ParseHostKey(std::string_view key);
[[nodiscard]] std::optional<LeaseKeyParts> ParseLeaseKey(std::string_view key);
[[nodiscard]] std::optional<uint8_t> ParseSourceKey(std::string_view key);
// ParseMetaKey returns the shard or slot of a two-part meta key of this kind.
[[nodiscard]] std::optional<uint16_t> ParseMetaKey(MetaKey kind, std::string_view key);
[[nodiscard]] std::optional<EpochPartKeyParts> ParseEpochPartKey(std::string_view key);
// The crawl id, not empty.
[[nodiscard]] std::optional<std::string_view> ParseCrawlKey(std::string_view key);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_KEYS_H_
