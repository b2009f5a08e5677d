#include "storage/internal/page_cache.h"

#include <map>
#include <string>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet::storage {
namespace {

PageNumber CachedPage(uint64_t serial) { return MakePageNumber(Slot(3), serial); }

// Rows are written, grow, shrink, and are removed. The cache must have either the last row of a
// page or none, and must stay within its bound.
TEST(PageCache, HoldsTheLastRowOfAPageWithinItsBound) {
  constexpr uint64_t kPages = 2'000;
  constexpr size_t kBound = size_t{4} << 20;
  Random random(7);
  PageCache cache(kBound);
  std::map<uint64_t, std::string> written;
  size_t found = 0;
  for (int step = 0; step < 200'000; ++step) {
    const uint64_t serial = 1 + random.Below(kPages);
    const PageNumber page = CachedPage(serial);
    // Most rows have usual sizes; some have the largest URL and validators.
    const size_t size = random.Below(20) == 0 ? random.Below(20'000) : 100 + random.Below(200);
    const std::string row(size, static_cast<char>('a' + random.Below(26)));
    switch (random.Below(8)) {
      case 0:
        cache.Remove(page);
        written.erase(serial);
        break;
      case 1:
        cache.Keep(page, row, PageCache::Room::kIfThereIs);
        written[serial] = row;
        break;
      case 2:
        cache.Keep(page, row, PageCache::Room::kMake);
        written[serial] = row;
        break;
      default:
        cache.Replace(page, row);
        written[serial] = row;
    }
    ASSERT_LE(cache.bytes(), kBound);
    std::string got;
    const uint64_t other = 1 + random.Below(kPages);
    if (!cache.Get(CachedPage(other), &got)) continue;
    ++found;
    ASSERT_EQ(got, written[other]) << "page " << other << " at step " << step;
  }
  EXPECT_GT(found, 10'000U);
  for (uint64_t serial = 1; serial <= kPages; ++serial) cache.Remove(CachedPage(serial));
  EXPECT_EQ(cache.bytes(), 0U) << "counted in and out alike";
}

TEST(PageCache, WhatIsTooLargeForItIsNotKept) {
  PageCache cache(64 * 1000);  // 1,000 bytes for each stripe
  const PageNumber page = CachedPage(1);
  std::string row;
  cache.Keep(page, std::string(100, 'a'), PageCache::Room::kMake);
  EXPECT_TRUE(cache.Get(page, &row));
  cache.Replace(page, std::string(5'000, 'b'));
  EXPECT_FALSE(cache.Get(page, &row)) << "the old row would be wrong";
  cache.Keep(page, std::string(5'000, 'b'), PageCache::Room::kMake);
  EXPECT_FALSE(cache.Get(page, &row));
  EXPECT_EQ(cache.bytes(), 0U);
}

TEST(PageCache, NoneAtAllIsFine) {
  PageCache cache(0);
  std::string row;
  cache.Keep(CachedPage(1), "row", PageCache::Room::kMake);
  EXPECT_FALSE(cache.Get(CachedPage(1), &row));
  EXPECT_EQ(cache.bytes(), 0U);
}

}  // namespace
}  // namespace freshet::storage
