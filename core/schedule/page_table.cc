#include "core/schedule/page_table.h"

#include "core/base/check.h"

namespace freshet {

FingerprintSet::FingerprintSet() : parts_(size_t{1} << kPartBits) {
  for (Part& part : parts_) {
    part.tags.resize(kFirstCapacity);
    part.ids.resize(kFirstCapacity);
  }
}

void FingerprintSet::Place(Part& part, uint64_t fingerprint, uint32_t id) {
  size_t at = Home(part, fingerprint);
  while (part.tags[at] != 0) at = After(part, at);
  part.tags[at] = TagOf(fingerprint);
  part.ids[at] = id;
  ++part.used;
}

void FingerprintSet::Reserve(size_t ids) {
  // A part gets more than its share by chance; one that is short grows as usual.
  const size_t capacity = (ids >> kPartBits) * 8 / 7 + kFirstCapacity;
  for (Part& part : parts_) {
    CHECK(part.used == 0, "reserving in a set that is in use");
    part.tags.resize(capacity);
    part.ids.resize(capacity);
  }
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
  }
  return &(*chunks[chunk])[serial & ((uint64_t{1} << kChunkBits) - 1)];
}

PageId PageTable::Add(PageNumber number, uint64_t fingerprint) {
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
  by_fingerprint_.Insert(fingerprint, PageId(id),
                         [this](PageId other) { return rows_[other.value()].fingerprint; });
  ++size_;
  return PageId(id);
}

void PageTable::Remove(PageId id) {
  CHECK(known(id));
  by_fingerprint_.Erase(fingerprint(id), id,
                        [this](PageId other) { return rows_[other.value()].fingerprint; });
  *PlaceOf(number(id), false) = kNoId;
  rows_[id.value()] = Row();
  free_.push_back(id.value());
  --size_;
}

std::optional<PageId> PageTable::Find(PageNumber number) const {
  // Does not make anything without `make`.
  const uint32_t* place = const_cast<PageTable*>(this)->PlaceOf(number, false);
  if (place == nullptr || *place == kNoId) return std::nullopt;
  return PageId(*place);
}

std::optional<PageId> PageTable::FindFingerprint(uint64_t fingerprint) const {
  return by_fingerprint_.Find(
      fingerprint, [&](PageId id) { return rows_[id.value()].fingerprint == fingerprint; });
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
