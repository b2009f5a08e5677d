// Tests the table of pages by comparison with maps. Fingerprints collide in every possible way.
#include "core/schedule/page_table.h"

#include <map>
#include <set>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

PageNumber Number(uint64_t slot, uint64_t serial) { return PageNumber(slot << 48 | serial); }

std::set<uint32_t> Ids(const PageTable& table, uint64_t fingerprint) {
  std::set<uint32_t> ids;
  table.ForEachOf(fingerprint, [&](PageId id) { EXPECT_TRUE(ids.insert(id.value()).second); });
  return ids;
}

TEST(PageTable, AgreesWithMapsThroughAdditionsAndRemovals) {
  Random random(7);
  PageTable table;
  std::map<uint64_t, std::pair<uint64_t, PageId>> by_number;  // number -> fingerprint, id
  std::map<uint64_t, std::set<uint32_t>> by_fingerprint;      // ids
  std::vector<uint64_t> serials(4, 0);
  for (int step = 0; step < 60'000; ++step) {
    if (by_number.empty() || random.Below(5) < 3) {
      const uint64_t slot = random.Below(4) * 1365;
      const PageNumber number = Number(slot, ++serials[slot / 1365]);
      // The leading bits have few different values, so that parts overflow and searches wrap
      // around. One page in eight has one of three fingerprints.
      const uint64_t few = random.Below(8) == 0 ? 3 : uint64_t{1} << 24;
      const uint64_t fingerprint = random.Below(3) << 62 | random.Below(few) << 8 | random.Below(4);
      const PageId id = table.Add(number, fingerprint);
      by_number[number.value()] = {fingerprint, id};
      by_fingerprint[fingerprint].insert(id.value());
    } else {
      auto it = by_number.lower_bound(random.Next() >> 16);
      if (it == by_number.end()) it = by_number.begin();
      const auto [fingerprint, id] = it->second;
      by_fingerprint[fingerprint].erase(id.value());
      table.Remove(id);
      EXPECT_FALSE(table.Find(PageNumber(it->first)));
      ASSERT_EQ(Ids(table, fingerprint), by_fingerprint[fingerprint]);
      by_number.erase(it);
    }
    ASSERT_EQ(table.size(), by_number.size());
  }
  for (const auto& [number, rest] : by_number) {
    const auto& [fingerprint, id] = rest;
    ASSERT_EQ(table.Find(PageNumber(number)), id);
    ASSERT_EQ(Ids(table, fingerprint), by_fingerprint[fingerprint]);
    ASSERT_EQ(table.number(id), PageNumber(number));
    ASSERT_EQ(table.fingerprint(id), fingerprint);
  }
  EXPECT_LE(table.id_limit(), 60'000u) << "ids of removed pages are given again";
}

// Appended pages are found like added ones, and the table works as usual afterwards.
TEST(PageTable, AppendedPagesAreFoundOnceAppendingIsFinished) {
  constexpr uint64_t kPages = 2'500'000;  // more than are sorted at a time
  Random random(5);
  PageTable table;
  std::vector<uint64_t> fingerprints;
  for (uint64_t i = 0; i < kPages; ++i) {
    fingerprints.push_back(random.Next());
    ASSERT_EQ(table.Append(Number(i % 4096, i / 4096 + 1), fingerprints.back()).value(), i);
  }
  ASSERT_TRUE(table.FinishAppending(10).empty());
  ASSERT_EQ(table.size(), kPages);
  for (uint64_t i = 0; i < kPages; i += 7) {
    const auto id = PageId(static_cast<uint32_t>(i));
    ASSERT_EQ(Ids(table, fingerprints[i]), (std::set<uint32_t>{id.value()}));
    ASSERT_EQ(table.Find(Number(i % 4096, i / 4096 + 1)), id);
  }
  for (uint64_t i = 0; i < kPages; i += 2) table.Remove(PageId(static_cast<uint32_t>(i)));
  for (uint64_t i = 0; i < 200'000; ++i) {
    const uint64_t fingerprint = random.Next();
    ASSERT_TRUE(Ids(table, fingerprint).empty());
    const PageId id = table.Add(Number(4095, 1000 + i), fingerprint);
    ASSERT_EQ(Ids(table, fingerprint), (std::set<uint32_t>{id.value()}));
  }
  for (uint64_t i = 1; i < kPages; i += 14) {
    ASSERT_EQ(Ids(table, fingerprints[i]), (std::set<uint32_t>{static_cast<uint32_t>(i)}));
  }
}

TEST(PageTable, KeepsAppendedPagesThatShareAFingerprintAndTellsOfThem) {
  PageTable table;
  for (uint64_t serial = 1; serial <= 10; ++serial) {
    (void)table.Append(Number(1, serial), serial % 4 << 56 | 3);
  }
  EXPECT_EQ(table.FinishAppending(100).size(), 6u);
  EXPECT_EQ(Ids(table, uint64_t{1} << 56 | 3), (std::set<uint32_t>{0, 4, 8}));
  EXPECT_EQ(Ids(table, 3), (std::set<uint32_t>{3, 7}));
  table.Remove(PageId(4));
  EXPECT_EQ(Ids(table, uint64_t{1} << 56 | 3), (std::set<uint32_t>{0, 8}));

  PageTable other;
  for (uint64_t serial = 1; serial <= 10; ++serial) (void)other.Append(Number(1, serial), 7);
  EXPECT_EQ(other.FinishAppending(4).size(), 4u);
}

TEST(PageTable, FlagsLeaveTheNumberAlone) {
  PageTable table;
  const PageId id = table.Add(Number(4095, (uint64_t{1} << 20) + 5), 1);
  table.Set(id, PageTable::kLeased, true);
  table.Set(id, PageTable::kGone, true);
  EXPECT_EQ(table.number(id), Number(4095, (uint64_t{1} << 20) + 5));
  EXPECT_TRUE(table.Is(id, PageTable::kLeased));
  EXPECT_FALSE(table.Is(id, PageTable::kTaken));
  EXPECT_TRUE(table.IsAny(id, PageTable::kTaken | PageTable::kGone));
  table.Set(id, PageTable::kLeased, false);
  EXPECT_FALSE(table.Is(id, PageTable::kLeased));
  EXPECT_TRUE(table.Is(id, PageTable::kGone));
}

// Page numbers only rise, so pages that are added and removed could leave empty places behind.
TEST(PageTable, PagesThatComeAndGoTakeNoRoom) {
  PageTable table;
  const PageId stays = table.Add(MakePageNumber(Slot(3), 100), 1);
  for (uint64_t serial = 200; serial < 20'000; ++serial) {
    table.Remove(table.Add(MakePageNumber(Slot(3), serial), serial));
  }
  EXPECT_EQ(table.chunks(), 1u);
  EXPECT_EQ(table.Find(MakePageNumber(Slot(3), 100)), stays);
  EXPECT_FALSE(table.Find(MakePageNumber(Slot(3), 300)));
  table.Remove(stays);
  EXPECT_EQ(table.chunks(), 0u);
}

TEST(PageTable, FindsNothingWhereNothingIs) {
  PageTable table;
  EXPECT_FALSE(table.Find(Number(3, 1)));
  EXPECT_FALSE(table.Find(Number(9999, 1))) << "a slot that does not exist";
  EXPECT_TRUE(Ids(table, 0).empty());
  EXPECT_FALSE(table.known(PageId(0)));
}

TEST(FingerprintSet, TakesAtMostEightBytesAnIdOnceItIsLarge) {
  Random random(3);
  std::vector<uint64_t> fingerprints;
  FingerprintSet set;
  const auto fingerprint_of = [&](PageId id) { return fingerprints[id.value()]; };
  for (uint32_t i = 0; i < 300'000; ++i) {
    fingerprints.push_back(random.Next());
    set.Insert(fingerprints.back(), PageId(i), fingerprint_of);
    if (i < 50'000) continue;
    ASSERT_LT(static_cast<double>(set.bytes()), 8.0 * (i + 1)) << i;
  }
}

}  // namespace
}  // namespace freshet
