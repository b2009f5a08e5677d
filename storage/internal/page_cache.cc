#include "storage/internal/page_cache.h"

#include <utility>

namespace freshet::storage {
namespace {

// Bytes of an entry without its row, but with its slot in the hash table.
constexpr size_t kEntryBytes = 72;

}  // namespace

PageCache::PageCache(size_t bytes) : most_bytes_(bytes / kStripes) {}

size_t PageCache::BytesOf(const Entry& entry) { return entry.row.capacity() + kEntryBytes; }

bool PageCache::Get(PageNumber page, std::string* row) {
  Stripe& stripe = StripeOf(page);
  const MutexLock lock(stripe.mutex);
  const auto it = stripe.places.find(page);
  if (it == stripe.places.end()) return false;
  *row = stripe.entries[it->second].row;
  return true;
}

void PageCache::Keep(PageNumber page, std::string_view row, Room room) {
  Stripe& stripe = StripeOf(page);
  const MutexLock lock(stripe.mutex);
  const auto it = stripe.places.find(page);
  if (it != stripe.places.end()) return Write(stripe, it->second, row);
  if (room == Room::kIfThereIs && stripe.bytes + row.size() + kEntryBytes > most_bytes_) return;
  const auto place = static_cast<uint32_t>(stripe.entries.size());
  stripe.places[page] = place;
  stripe.entries.push_back({.page = page, .row = std::string(row)});
  Count(stripe, 0, BytesOf(stripe.entries.back()));
  while (stripe.bytes > most_bytes_) {
    RemoveAt(stripe, static_cast<uint32_t>(stripe.random.Below(stripe.entries.size())));
  }
}

void PageCache::Replace(PageNumber page, std::string_view row) {
  Stripe& stripe = StripeOf(page);
  const MutexLock lock(stripe.mutex);
  const auto it = stripe.places.find(page);
  if (it != stripe.places.end()) Write(stripe, it->second, row);
}

void PageCache::Remove(PageNumber page) {
  Stripe& stripe = StripeOf(page);
  const MutexLock lock(stripe.mutex);
  const auto it = stripe.places.find(page);
  if (it != stripe.places.end()) RemoveAt(stripe, it->second);
}

void PageCache::Write(Stripe& stripe, uint32_t place, std::string_view row) {
  Entry& entry = stripe.entries[place];
  const size_t before = BytesOf(entry);
  entry.row = row;
  Count(stripe, before, BytesOf(entry));
  // Only this row has grown, so it is the one that is evicted.
  if (stripe.bytes > most_bytes_) RemoveAt(stripe, place);
}

void PageCache::RemoveAt(Stripe& stripe, uint32_t place) {
  Entry& entry = stripe.entries[place];
  Count(stripe, BytesOf(entry), 0);
  stripe.places.erase(entry.page);
  if (place + size_t{1} < stripe.entries.size()) {
    entry = std::move(stripe.entries.back());
    stripe.places[entry.page] = place;
  }
  stripe.entries.pop_back();
}

void PageCache::Count(Stripe& stripe, size_t before, size_t after) {
  stripe.bytes += after - before;
  bytes_.fetch_add(after - before, std::memory_order_relaxed);
}

}  // namespace freshet::storage
