// Rows of pages that were read or written not long ago, so that the result of a crawl, or a signal,
// reads nothing of what the lease has read. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_PAGE_CACHE_H_
#define FRESHET_STORAGE_INTERNAL_PAGE_CACHE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/random.h"
#include "core/model/page_number.h"
#include "sync/mutex.h"

namespace freshet::storage {

// Bounded. What makes room is picked at random: pages are crawled in rounds, and of those the
// latest, which other rules keep, are the last that are wanted again.
//
// Thread-safe. A row is what the store holds as long as every write of a page is followed by
// Replace or Remove, and Keep is called by none but who writes the page, and not while a write of
// it is under way.
class PageCache {
 public:
  explicit PageCache(size_t bytes);

  // Replaces `row`; false: the page is not there.
  [[nodiscard]] bool Get(PageNumber page, std::string* row);
  enum class Room : uint8_t { kIfThereIs, kMake };
  // Adds a page that was read, or that is new, or writes it anew.
  void Keep(PageNumber page, std::string_view row, Room room);
  // The page was written; nothing where it is not there.
  void Replace(PageNumber page, std::string_view row);
  void Remove(PageNumber page);

  // What rows and their places take, about.
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  // Under locks of their own, so that shards and readers hardly ever meet.
  static constexpr size_t kStripes = 64;
  struct Entry {
    PageNumber page;
    std::string row;
  };
  struct Stripe {
    Mutex mutex;
    absl::flat_hash_map<PageNumber, uint32_t> places FRESHET_GUARDED_BY(mutex);
    std::vector<Entry> entries FRESHET_GUARDED_BY(mutex);
    size_t bytes FRESHET_GUARDED_BY(mutex) = 0;
    Random random FRESHET_GUARDED_BY(mutex){1};
  };

  [[nodiscard]] static size_t BytesOf(const Entry& entry);
  [[nodiscard]] Stripe& StripeOf(PageNumber page) {
    return stripes_[(SerialOf(page) + SlotOf(page).value()) % kStripes];
  }
  void Count(Stripe& stripe, size_t before, size_t after) FRESHET_REQUIRES(stripe.mutex);
  void Write(Stripe& stripe, uint32_t place, std::string_view row) FRESHET_REQUIRES(stripe.mutex);
  void RemoveAt(Stripe& stripe, uint32_t place) FRESHET_REQUIRES(stripe.mutex);

  const size_t most_bytes_;  // of a stripe
  std::array<Stripe, kStripes> stripes_;
  std::atomic<size_t> bytes_ = 0;
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_PAGE_CACHE_H_
