// A cache of page rows, so that the result of a crawl, or a signal, need not read the row that the
// lease has already read. Internal to storage/.
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

// Bounded. Evicts at random, because pages are crawled in rounds: the most recent pages, which LRU
// would keep, are needed last.
//
// Thread-safe. A cached row equals the stored row if every write of a page is followed by Replace
// or Remove. Only the writer of a page may call Keep, and not while it writes the page.
class PageCache {
 public:
  explicit PageCache(size_t bytes);

  // Copies the row into `row`. Returns false if the page is not cached.
  [[nodiscard]] bool Get(PageNumber page, std::string* row);
  enum class Room : uint8_t { kIfThereIs, kMake };
  // Adds or replaces the row of a page that was read or is new.
  void Keep(PageNumber page, std::string_view row, Room room);
  // Replaces the row of a page that was written. Does nothing if the page is not cached.
  void Replace(PageNumber page, std::string_view row);
  void Remove(PageNumber page);

  // Approximate bytes of the rows and the hash table.
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  // Each stripe has its own lock, so that shards and readers rarely wait for each other.
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

  const size_t most_bytes_;  // per stripe
  std::array<Stripe, kStripes> stripes_;
  std::atomic<size_t> bytes_ = 0;
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_PAGE_CACHE_H_
