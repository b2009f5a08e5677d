// Point reads, lists and scans of a store's pages. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_PAGE_READS_H_
#define FRESHET_STORAGE_INTERNAL_PAGE_READS_H_

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "storage/internal/database.h"
#include "storage/internal/page_cache.h"
#include "storage/store.h"

namespace freshet::storage {

// Reads pages through a cache. Thread-safe.
class PageReads {
 public:
  // Precondition: `base` outlives this object.
  explicit PageReads(const Database& base) : base_(base), cache_(base.options().page_cache_bytes) {}

  // See Store::ReadPages, Store::List and Store::ScanPages. Read uses the cache first. Lists and
  // scans do not change the cache.
  [[nodiscard]] std::vector<StatusOr<PageRecord>> Read(std::span<const PageNumber> numbers,
                                                       ReadFor what) const;
  [[nodiscard]] StatusOr<ListResult> List(const ListQuery& query, std::string_view token,
                                          size_t limit) const;
  [[nodiscard]] StatusOr<ScanResult> Scan(PageNumber from, PageNumber end, size_t count) const;

  // Rows that were read or written recently; commits replace the rows that they write.
  [[nodiscard]] PageCache& cache() const { return cache_; }
  // Fills in the figures of the cache.
  void AddTo(StoreStats* stats) const;

 private:
  const Database& base_;
  mutable PageCache cache_;
  mutable std::atomic<uint64_t> hits_ = 0;
  mutable std::atomic<uint64_t> misses_ = 0;
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_PAGE_READS_H_
