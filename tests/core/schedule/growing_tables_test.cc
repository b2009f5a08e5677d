// Tests tables of a shard that clients can make large. If one of these tables moved all its entries
// when it grows, the shard would stop for a second.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "core/schedule/crawl_table.h"
#include "core/schedule/host_groups.h"
#include "core/schedule/leases.h"
#include "core/schedule/pages_out.h"
#include "gtest/gtest.h"
#include "tests/core/schedule/instants.h"

namespace {

// The largest block of memory that the thread has allocated.
thread_local size_t largest_block = 0;

}  // namespace

void* operator new(size_t size) {
  largest_block = std::max(largest_block, size);
  void* const block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t /*size*/) noexcept { std::free(block); }

namespace freshet {
namespace {

constexpr uint32_t kEntries = 100'000;
// In bytes: more than one part of a table needs, and an eighth of what a whole table needs.
constexpr size_t kPart = kEntries;

TEST(GrowingTables, OfPagesOfCrawlIdsMoveFewEntriesAtATime) {
  CrawlTable crawls;
  (void)crawls.Intern("first");
  const CrawlIndex crawl = *crawls.Intern("second");
  crawls.Add(PageId(kEntries), HostId(kEntries), crawl, 1, true);
  largest_block = 0;
  for (uint32_t i = 0; i < kEntries; ++i) crawls.Add(PageId(i), HostId(i), crawl, 1, true);
  EXPECT_LT(largest_block, kPart);
  EXPECT_EQ(crawls.PagesOf(HostId(1), crawl, 1), 1U);
  crawls.Remove(PageId(1), HostId(1), 0);
  EXPECT_EQ(crawls.PagesOf(HostId(1), crawl, 0), 0U);
}

TEST(GrowingTables, OfLeasesMoveFewEntriesAtATime) {
  Leases leases(1);
  PagesOut out;
  largest_block = 0;
  for (uint32_t i = 1; i < kEntries; ++i) {
    LeaseRecord lease;
    lease.id = LeaseId(i);
    leases.Put(lease);
    out.Pick(PageId(i), HostId(0), /*planned=*/false);
    (void)out.Lease(PageId(i), lease.id, At(60));
  }
  for (uint32_t i = 1; i < kEntries; ++i) {
    LeaseRecord lease;
    lease.id = LeaseId(i);
    leases.Close(lease, /*reported=*/true);
    out.Orphan(PageId(i));
  }
  EXPECT_LT(largest_block, kPart);
}

// Previously, one report of another shard made this shard examine all groups of that shard's
// earlier reports.
TEST(GrowingTables, OfGroupsElsewhereForgetFewAtATime) {
  HostGroups groups;
  largest_block = 0;
  for (uint32_t i = 1; i <= kEntries; ++i) {
    (void)groups.Hear({.key = GroupKey(i), .in_flight = 1}, At(0));
  }
  EXPECT_EQ(groups.elsewhere(), kEntries);
  for (uint32_t i = 1; i <= 3 * kEntries; ++i) {
    const size_t before = groups.elsewhere();
    (void)groups.Hear({.key = GroupKey(i)}, At(0));
    ASSERT_LT(before, groups.elsewhere() + kEntries / 64);
  }
  EXPECT_LT(largest_block, kPart);
  EXPECT_LT(groups.elsewhere(), kEntries);
}

}  // namespace
}  // namespace freshet
