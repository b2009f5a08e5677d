#include "core/schedule/page_table.h"

#include <algorithm>
#include <numeric>

#include "core/base/check.h"

namespace freshet {
namespace {

// FingerprintSet::Fill sorts this many ids by part at a time.
constexpr uint32_t kSlice = 1 << 20;

struct Entry {
  uint64_t fingerprint;
  uint32_t id;
};

}  // namespace

FingerprintSet::FingerprintSet() : parts_(size_t{1} << kPartBits) {
  for (Part& part : parts_) {
    part.tags.resize(kFirstCapacity);
    part.ids.resize(kFirstCapacity);
  }
}

void FingerprintSet::Put(Part& part, size_t place, uint64_t fingerprint, uint32_t id) {
  part.tags[place] = TagOf(fingerprint);
  part.ids[place] = id;
  ++part.used;
}

void FingerprintSet::Place(Part& part, uint64_t fingerprint, uint32_t id) {
  Put(part, Search(part, fingerprint, [](PageId) {}), fingerprint, id);
}

void FingerprintSet::MakeRoom(Part& part, uint32_t ids) {
  CHECK(part.used == 0, "filling a set that is in use");
  // Fills only four fifths of the places, so that the first new pages find room.
  const size_t capacity = ids + ids / 4 + kFirstCapacity;
  part.tags.assign(capacity, 0);
  part.ids.resize(capacity);
}

template <typename FingerprintOf>
std::vector<PageId> FingerprintSet::Fill(uint32_t ids, const FingerprintOf& fingerprint_of,
                                         size_t most) {
  std::vector<uint32_t> sizes(parts_.size());
  for (uint32_t id = 0; id < ids; ++id) ++sizes[PartOf(fingerprint_of(PageId(id)))];
  for (size_t i = 0; i < parts_.size(); ++i) MakeRoom(parts_[i], sizes[i]);
  std::vector<PageId> shared;
  std::vector<Entry> entries;
  std::vector<uint32_t> ends(parts_.size());
  for (uint32_t first = 0; first < ids; first += std::min(kSlice, ids - first)) {
    const uint32_t count = std::min(kSlice, ids - first);
    ends.assign(parts_.size(), 0);
    for (uint32_t i = 0; i < count; ++i) ++ends[PartOf(fingerprint_of(PageId(first + i)))];
    std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), 0U);
    entries.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t fingerprint = fingerprint_of(PageId(first + i));
      entries[ends[PartOf(fingerprint)]++] = {fingerprint, first + i};
    }
    for (const Entry& entry : entries) {
      Part& part = parts_[PartOf(entry.fingerprint)];
      bool taken = false;
      const size_t place = Search(part, entry.fingerprint, [&](PageId id) {
        taken = taken || fingerprint_of(id) == entry.fingerprint;
      });
      Put(part, place, entry.fingerprint, entry.id);
      if (taken && shared.size() < most) shared.emplace_back(entry.id);
    }
  }
  return shared;
}

size_t FingerprintSet::bytes() const {
  size_t sum = 0;
  for (const Part& part : parts_) sum += part.tags.capacity() + 4 * part.ids.capacity();
  return sum;
}

uint32_t* PageTable::PlaceOf(PageNumber number, bool make) {
  const uint64_t slot = SlotOf(number).value();
  const uint64_t serial = SerialOf(number);
  if (slot >= limits::kSlots) return nullptr;
  std::vector<std::unique_ptr<Chunk>>& chunks = by_number_[slot];
  const uint64_t chunk = serial >> kChunkBits;
  if (chunk >= chunks.size()) {
    if (!make) return nullptr;
    chunks.resize(chunk + 1);
  }
  if (chunks[chunk] == nullptr) {
    if (!make) return nullptr;
    chunks[chunk] = std::make_unique<Chunk>();
    chunks[chunk]->fill(kNoId);
    ++chunks_;
  }
  return &(*chunks[chunk])[serial & ((uint64_t{1} << kChunkBits) - 1)];
}

PageId PageTable::AddRow(PageNumber number, uint64_t fingerprint) {
  uint32_t* place = PlaceOf(number, true);
  CHECK(place != nullptr && *place == kNoId, "page {:x} is in the table", number.value());
  uint32_t id = static_cast<uint32_t>(rows_.size());
  if (free_.empty()) {
    rows_.GrowTo(rows_.size() + 1);
  } else {
    id = free_.back();
    free_.pop_back();
  }
  *place = id;
  rows_[id] = {.number_and_flags = number.value(), .fingerprint = fingerprint};
  ++size_;
  return PageId(id);
}

PageId PageTable::Add(PageNumber number, uint64_t fingerprint) {
  const PageId id = AddRow(number, fingerprint);
  by_fingerprint_.Insert(fingerprint, id,
                         [this](PageId other) { return rows_[other.value()].fingerprint; });
  return id;
}

PageId PageTable::Append(PageNumber number, uint64_t fingerprint) {
  DCHECK(free_.empty());
  return AddRow(number, fingerprint);
}

std::vector<PageId> PageTable::FinishAppending(size_t most) {
  CHECK(free_.empty(), "pages were removed while others were appended");
  return by_fingerprint_.Fill(
      id_limit(), [this](PageId id) { return rows_[id.value()].fingerprint; }, most);
}

void PageTable::Remove(PageId id) {
  CHECK(known(id));
  by_fingerprint_.Erase(fingerprint(id), id,
                        [this](PageId other) { return rows_[other.value()].fingerprint; });
  const PageNumber removed = number(id);
  *PlaceOf(removed, false) = kNoId;
  std::unique_ptr<Chunk>& chunk =
      by_number_[SlotOf(removed).value()][SerialOf(removed) >> kChunkBits];
  const auto is_free = [](uint32_t place) { return place == kNoId; };
  DCHECK(chunk != nullptr);
  if (std::all_of(chunk->begin(), chunk->end(), is_free)) {
    chunk = nullptr;
    --chunks_;
  }
  rows_[id.value()] = Row();
  free_.push_back(id.value());
  --size_;
}

std::optional<PageId> PageTable::Find(PageNumber number) const {
  // PlaceOf changes nothing if `make` is false.
  const uint32_t* place = const_cast<PageTable*>(this)->PlaceOf(number, false);
  if (place == nullptr || *place == kNoId) return std::nullopt;
  return PageId(*place);
}

bool PageTable::known(PageId id) const {
  return id.value() < rows_.size() && rows_[id.value()].number_and_flags != 0;
}

PageNumber PageTable::number(PageId id) const {
  DCHECK(known(id));
  return PageNumber(rows_[id.value()].number_and_flags & kNumberMask);
}

uint64_t PageTable::fingerprint(PageId id) const { return rows_[id.value()].fingerprint; }

bool PageTable::Is(PageId id, Flag flag) const { return IsAny(id, flag); }

bool PageTable::IsAny(PageId id, int flags) const {
  DCHECK(known(id));
  return (rows_[id.value()].number_and_flags >> kFlagShift & static_cast<uint64_t>(flags)) != 0;
}

void PageTable::Set(PageId id, Flag flag, bool value) {
  CHECK(known(id));
  const uint64_t bit = static_cast<uint64_t>(flag) << kFlagShift;
  uint64_t& word = rows_[id.value()].number_and_flags;
  word = value ? word | bit : word & ~bit;
}

}  // namespace freshet
