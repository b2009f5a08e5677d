#include "storage/internal/table_check.h"

#include <optional>
#include <string_view>

#include "fmt/format.h"
#include "storage/internal/codec.h"
#include "xxhash.h"

namespace freshet::storage {
namespace {

using rocksdb::IOStatus;

// RocksDB's table format: blocks, each with a trailer of its compression (1 byte) and its checksum
// (4); then the footer: kind of the checksums (1), places of the metaindex and of the index, zeros
// up to byte 41, version (4), magic number (8).
constexpr size_t kTrailerBytes = 5;
constexpr size_t kFooterBytes = 53;
constexpr size_t kPlacesEnd = 41;
constexpr uint64_t kMagic = 0x88E241B785F4CFF7;
constexpr uint32_t kOldestVersion = 1;
constexpr uint32_t kNewestVersion = 5;
enum ChecksumKind : uint8_t { kNoChecksums = 0, kXxh3 = 4 };
constexpr uint32_t kLastBytePrime = 0x6B9083D9;

// The metaindex maps names to the places of other blocks. A block begins with its entries: a key
// without the bytes that it shares with the previous key, and a value. The block ends with the
// offsets of some entries (4 bytes each) and their number (4).
constexpr std::string_view kProperties = "rocksdb.properties";
constexpr size_t kOffsetBytes = 4;

// Where a block is, without its trailer.
struct Place {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

Place ReadPlace(Reader& reader) {
  Place place;
  place.offset = reader.Varint();
  place.bytes = reader.Varint();
  return place;
}

uint32_t ChecksumOf(std::string_view block, uint8_t compression) {
  return static_cast<uint32_t>(XXH3_64bits(block.data(), block.size())) ^
         (compression * kLastBytePrime);
}

// The entries of a block. nullopt = the block has fewer offsets than it claims, or the highest bit
// of their number is set. The bit stands for a hash index, which only blocks of rows may have: in
// other blocks, the bit makes an assertion of RocksDB fail.
std::optional<std::string_view> EntriesOf(std::string_view block) {
  if (block.size() < kOffsetBytes) return std::nullopt;
  const std::string_view offsets = block.substr(0, block.size() - kOffsetBytes);
  const uint32_t count = Reader(block.substr(offsets.size())).U32();
  if (count > offsets.size() / kOffsetBytes) return std::nullopt;
  return offsets.substr(0, offsets.size() - count * kOffsetBytes);
}

// Returns false if the entries cannot be read. `properties` stays unset if the table has none.
bool FindProperties(std::string_view entries, std::optional<Place>* properties) {
  Reader reader(entries);
  std::string key;
  while (!reader.rest().empty()) {
    const uint64_t shared = reader.Varint();
    const uint64_t unshared = reader.Varint();
    const uint64_t value_bytes = reader.Varint();
    if (!reader.ok() || shared > key.size()) return false;
    key.resize(shared);
    key += reader.Raw(unshared);
    Reader value(reader.Raw(value_bytes));
    if (!reader.ok()) return false;
    if (key != kProperties) continue;
    *properties = ReadPlace(value);
    return value.ok();
  }
  return true;
}

// Checks one table. Owner thread only.
class TableCheck {
 public:
  TableCheck(const std::string& path, const rocksdb::FSRandomAccessFile& table, uint64_t bytes)
      : path_(path), table_(table), footer_at_(bytes - kFooterBytes) {}

  IOStatus Run() {
    std::string footer;
    IOStatus status = Read({.offset = footer_at_, .bytes = kFooterBytes}, &footer);
    if (!status.ok()) return status;
    Reader end(std::string_view(footer).substr(kPlacesEnd));
    const uint32_t version = end.U32();
    const bool ours = end.U64() == kMagic && version >= kOldestVersion && version <= kNewestVersion;
    Reader begin(std::string_view(footer).substr(0, kPlacesEnd));
    const uint8_t kind = begin.U8();
    if (kind == kNoChecksums) return Damaged(footer_at_, "the blocks have no checksums");
    // With a different footer, RocksDB would read parts of the table without verifying checksums.
    if (!ours || kind != kXxh3) return Damaged(footer_at_, "the footer is wrong");
    const Place metaindex = ReadPlace(begin);
    const Place index = ReadPlace(begin);
    if (!begin.ok() || !Fits(index)) return Damaged(footer_at_, "the footer is wrong");
    return CheckProperties(metaindex);
  }

 private:
  IOStatus CheckProperties(const Place& metaindex) {
    std::string block;
    IOStatus status = ReadBlock(metaindex, &block);
    if (!status.ok()) return status;
    std::optional<Place> properties;
    const std::optional<std::string_view> entries = EntriesOf(block);
    if (!entries || !FindProperties(*entries, &properties)) {
      return Damaged(metaindex.offset, "the metaindex is wrong");
    }
    if (!properties) return IOStatus::OK();
    status = ReadBlock(*properties, &block);
    if (!status.ok()) return status;
    if (!EntriesOf(block)) return Damaged(properties->offset, "the properties are wrong");
    return IOStatus::OK();
  }

  // Returns true if the block and its trailer lie before the footer.
  [[nodiscard]] bool Fits(const Place& place) const {
    return place.offset <= footer_at_ && place.bytes <= footer_at_ - place.offset &&
           kTrailerBytes <= footer_at_ - place.offset - place.bytes;
  }

  IOStatus ReadBlock(const Place& place, std::string* block) const {
    if (!Fits(place)) return Damaged(place.offset, "a block lies outside of the file");
    IOStatus status = Read({.offset = place.offset, .bytes = place.bytes + kTrailerBytes}, block);
    if (!status.ok()) return status;
    Reader trailer(std::string_view(*block).substr(place.bytes));
    const uint8_t compression = trailer.U8();
    const uint32_t checksum = trailer.U32();
    block->resize(place.bytes);
    if (ChecksumOf(*block, compression) == checksum) return IOStatus::OK();
    return Damaged(place.offset, "a block's checksum is wrong");
  }

  IOStatus Read(const Place& place, std::string* bytes) const {
    bytes->resize(place.bytes);
    rocksdb::Slice read;
    IOStatus status =
        table_.Read(place.offset, place.bytes, {}, &read, bytes->data(), /*dbg=*/nullptr);
    if (!status.ok()) return status;
    if (read.size() != place.bytes) return Damaged(place.offset, "the file is cut off");
    if (read.data() != bytes->data()) bytes->assign(read.data(), read.size());
    return status;
  }

  [[nodiscard]] IOStatus Damaged(uint64_t offset, std::string_view what) const {
    return IOStatus::Corruption(fmt::format("{}, offset {}: {}", path_, offset, what));
  }

  const std::string& path_;
  const rocksdb::FSRandomAccessFile& table_;
  const uint64_t footer_at_;
};

}  // namespace

IOStatus CheckTable(const std::string& path, const rocksdb::FSRandomAccessFile& table,
                    uint64_t bytes) {
  if (bytes < kFooterBytes) return IOStatus::OK();
  return TableCheck(path, table, bytes).Run();
}

}  // namespace freshet::storage
