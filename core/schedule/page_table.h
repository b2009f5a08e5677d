// Maps between page id, page number and fingerprint for the pages of a shard, and keeps four state
// flags per page. The other data of a page in memory is in the index (core/index/price_index.h).
//
// Memory per page: 16 bytes for the row, about 4.5 to find the page by number, and 5.7 to 7.1 to
// find it by fingerprint.
#ifndef FRESHET_CORE_SCHEDULE_PAGE_TABLE_H_
#define FRESHET_CORE_SCHEDULE_PAGE_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/id_limits.h"
#include "core/base/segmented_array.h"
#include "core/base/units.h"
#include "core/model/page_number.h"

namespace freshet {

// Finds page ids by 64-bit fingerprint: open addressing with linear probing, in 256 parts. The
// parts grow one at a time, each by a quarter. So no insertion waits until the whole table has
// moved, and little of the table is empty. An entry consists of the id and eight bits of the
// fingerprint. The owner has the whole fingerprints, and passes them to the functions that need
// them. Several ids can have the same fingerprint.
//
// Owner thread only.
class FingerprintSet {
 public:
  FingerprintSet();

  // Calls visit(id) for all ids whose eight bits match: the ids with this fingerprint and a few
  // others.
  template <typename Visit>
  void ForEach(uint64_t fingerprint, const Visit& visit) const;
  // Adds an id. `fingerprint_of(id)` must return the fingerprint of any id in the set.
  template <typename FingerprintOf>
  void Insert(uint64_t fingerprint, PageId id, const FingerprintOf& fingerprint_of);
  // Removes an id. Precondition: the id is in the set under this fingerprint.
  template <typename FingerprintOf>
  void Erase(uint64_t fingerprint, PageId id, const FingerprintOf& fingerprint_of);

  // Fills the set with all ids below `ids`. This is several times as fast as insertions, because
  // the ids of a part are placed together while the part is in the cache. Returns at most `most`
  // ids whose fingerprint an earlier id has too. Precondition: the set is empty.
  template <typename FingerprintOf>
  std::vector<PageId> Fill(uint32_t ids, const FingerprintOf& fingerprint_of, size_t most);
  [[nodiscard]] size_t bytes() const;

 private:
  static constexpr int kPartBits = 8;
  static constexpr uint32_t kFirstCapacity = 8;
  struct Part {
    std::vector<uint8_t> tags;  // 0 = free
    std::vector<uint32_t> ids;
    uint32_t used = 0;
  };
  static uint8_t TagOf(uint64_t fingerprint) {
    const auto tag = static_cast<uint8_t>(fingerprint);
    return tag == 0 ? 1 : tag;
  }
  static size_t PartOf(uint64_t fingerprint) { return fingerprint >> (64 - kPartBits); }
  // The index at which a search begins: the bits below those that choose the part, scaled to the
  // capacity.
  static size_t Home(const Part& part, uint64_t fingerprint) {
    const uint64_t bits = (fingerprint << kPartBits) >> 32;
    return static_cast<size_t>(bits * part.tags.size() >> 32);
  }
  static size_t After(const Part& part, size_t place) {
    return place + 1 == part.tags.size() ? 0 : place + 1;
  }
  // Calls visit(id) as ForEach does. Returns the index of a free place for another id.
  template <typename Visit>
  static size_t Search(const Part& part, uint64_t fingerprint, const Visit& visit);
  static void MakeRoom(Part& part, uint32_t ids);
  static void Put(Part& part, size_t place, uint64_t fingerprint, uint32_t id);
  static void Place(Part& part, uint64_t fingerprint, uint32_t id);

  std::vector<Part> parts_;
};

// The pages of a shard by number and fingerprint. Ids are dense and reused. Owner thread only.
//
// Invariant: page numbers in the table are unique. Fingerprints can repeat, but rarely do.
class PageTable {
 public:
  // The flags of a page. A page can be leased and gone at the same time.
  enum Flag : uint8_t {
    kTaken = 1,   // picked, but its lease is not installed yet
    kLeased = 2,  // out on a lease
    kGone = 4,    // the last crawl that could tell found the page gone or moved
    kNever = 8,   // never worth a crawl
  };
  // Each of these flags excludes a page from picks.
  static constexpr int kNotToBePicked = kTaken | kLeased | kNever;

  // Adds a page. Precondition: the number is not in the table, and its serial is not 0.
  PageId Add(PageNumber number, uint64_t fingerprint);
  void Remove(PageId id);

  // Fills an empty table: call Append for every page, then FinishAppending. Until then, pages are
  // found only by number. Precondition: the number is not in the table.
  PageId Append(PageNumber number, uint64_t fingerprint);
  // Returns at most `most` pages whose fingerprint another page has too.
  std::vector<PageId> FinishAppending(size_t most);

  [[nodiscard]] std::optional<PageId> Find(PageNumber number) const;
  // Calls visit(id) for every page with this fingerprint. There is almost never more than one.
  template <typename Visit>
  void ForEachOf(uint64_t fingerprint, const Visit& visit) const;
  // Returns true if the id belongs to a page now.
  [[nodiscard]] bool known(PageId id) const;
  // Precondition for the functions below, up to Set: known(id).
  [[nodiscard]] PageNumber number(PageId id) const;
  [[nodiscard]] uint64_t fingerprint(PageId id) const;
  [[nodiscard]] bool Is(PageId id, Flag flag) const;
  [[nodiscard]] bool IsAny(PageId id, int flags) const;
  void Set(PageId id, Flag flag, bool value);

  [[nodiscard]] size_t size() const { return size_; }
  // All ids are below this limit.
  [[nodiscard]] uint32_t id_limit() const { return static_cast<uint32_t>(rows_.size()); }
  // The number of 256-byte chunks in the lookup by number.
  [[nodiscard]] size_t chunks() const { return chunks_; }

 private:
  // A page number uses only the lower 12 of its upper 16 bits, for the slot. The flags are stored
  // above them.
  static constexpr int kFlagShift = 60;
  static constexpr uint64_t kNumberMask = (uint64_t{1} << kFlagShift) - 1;
  static_assert(uint64_t{limits::kSlots - 1} << 48 <= kNumberMask);
  static constexpr int kChunkBits = 6;
  static constexpr uint32_t kNoId = UINT32_MAX;
  using Chunk = std::array<uint32_t, size_t{1} << kChunkBits>;

  struct Row {
    uint64_t number_and_flags = 0;  // 0 = no page
    uint64_t fingerprint = 0;
  };

  [[nodiscard]] uint32_t* PlaceOf(PageNumber number, bool make);
  PageId AddRow(PageNumber number, uint64_t fingerprint);

  SegmentedArray<Row> rows_;  // by PageId
  std::vector<uint32_t> free_;
  // By slot, then by serial. Numbers are dense within a slot, so this is an array and not a hash
  // table. Numbers never repeat: a chunk whose pages are all removed becomes nullptr.
  std::array<std::vector<std::unique_ptr<Chunk>>, limits::kSlots> by_number_;
  size_t chunks_ = 0;  // number of chunks that are not nullptr
  FingerprintSet by_fingerprint_;
  size_t size_ = 0;
};

template <typename Visit>
size_t FingerprintSet::Search(const Part& part, uint64_t fingerprint, const Visit& visit) {
  const uint8_t tag = TagOf(fingerprint);
  size_t at = Home(part, fingerprint);
  for (; part.tags[at] != 0; at = After(part, at)) {
    if (part.tags[at] == tag) visit(PageId(part.ids[at]));
  }
  return at;
}

template <typename Visit>
void FingerprintSet::ForEach(uint64_t fingerprint, const Visit& visit) const {
  Search(parts_[PartOf(fingerprint)], fingerprint, visit);
}

template <typename FingerprintOf>
void FingerprintSet::Insert(uint64_t fingerprint, PageId id, const FingerprintOf& fingerprint_of) {
  Part& part = parts_[PartOf(fingerprint)];
  // At most seven eighths full. Then an unsuccessful search visits about 30 neighbouring tags, and
  // a successful one 4.5.
  if ((part.used + 1) * uint64_t{8} > part.tags.size() * uint64_t{7}) {
    Part grown;
    grown.tags.resize(part.tags.size() + part.tags.size() / 4);
    grown.ids.resize(grown.tags.size());
    for (size_t at = 0; at < part.tags.size(); ++at) {
      if (part.tags[at] != 0) Place(grown, fingerprint_of(PageId(part.ids[at])), part.ids[at]);
    }
    part = std::move(grown);
  }
  Place(part, fingerprint, id.value());
}

template <typename FingerprintOf>
void FingerprintSet::Erase(uint64_t fingerprint, PageId id, const FingerprintOf& fingerprint_of) {
  Part& part = parts_[PartOf(fingerprint)];
  size_t hole = Home(part, fingerprint);
  while (part.ids[hole] != id.value() || part.tags[hole] == 0) {
    CHECK(part.tags[hole] != 0, "an id that is not in the set");
    hole = After(part, hole);
  }
  // Entries behind the hole move up, unless their search begins behind it.
  const size_t capacity = part.tags.size();
  for (size_t at = After(part, hole); part.tags[at] != 0; at = After(part, at)) {
    const size_t home = Home(part, fingerprint_of(PageId(part.ids[at])));
    const size_t from_home = (at + capacity - home) % capacity;
    const size_t from_hole = (at + capacity - hole) % capacity;
    if (from_home < from_hole) continue;
    part.tags[hole] = part.tags[at];
    part.ids[hole] = part.ids[at];
    hole = at;
  }
  part.tags[hole] = 0;
  --part.used;
}

template <typename Visit>
void PageTable::ForEachOf(uint64_t fingerprint, const Visit& visit) const {
  by_fingerprint_.ForEach(fingerprint, [&](PageId id) {
    if (rows_[id.value()].fingerprint == fingerprint) visit(id);
  });
}

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PAGE_TABLE_H_
