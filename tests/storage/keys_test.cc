#include "storage/internal/keys.h"

#include <algorithm>
#include <set>

#include "core/base/id_limits.h"
#include "gtest/gtest.h"
#include "tests/storage/random_records.h"

namespace freshet::storage {
namespace {

TEST(Keys, PageKeysSortAsNumbers) {
  RandomRecords random(3);
  std::set<PageNumber> numbers;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t serial = random.Chance(10) ? kMaxSerial : 1 + random.Below(1 << 20);
    numbers.insert(
        MakePageNumber(Slot(static_cast<uint16_t>(random.Below(limits::kSlots))), serial));
  }
  std::string before;
  for (const PageNumber number : numbers) {
    const std::string key = PageKeyOf(number);
    EXPECT_LT(before, key);
    EXPECT_EQ(ParsePageKey(key), number);
    EXPECT_TRUE(key.starts_with(SlotPrefix(SlotOf(number))));
    before = key;
  }
}

TEST(Keys, LeaseKeysStartWithTheirShardAndHostKeysWithTheirSlot) {
  const Slot slot(4095);
  const auto lease = ParseLeaseKey(LeaseKeyOf(63, 0x0102030405060708));
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->shard, 63);
  EXPECT_EQ(lease->sequence, 0x0102030405060708U);
  EXPECT_LT(LeaseKeyOf(2, 255), LeaseKeyOf(2, 256));
  EXPECT_FALSE(ParseLeaseKey(LeaseKeyOf(64, 1)));
  const std::string host_key = HostKeyOf(slot, "example.org");
  EXPECT_EQ(host_key,
            "\x0f\xff"
            "example.org");
  EXPECT_EQ(ParseHostKey(host_key)->host, "example.org");
}

TEST(Keys, ParsersRefuseWhatIsNoKey) {
  EXPECT_FALSE(ParsePageKey(std::string(8, '\0')));    // serial 0
  EXPECT_FALSE(ParsePageKey(std::string(8, '\x7f')));  // invalid slot
  EXPECT_FALSE(ParsePageKey("short"));
  EXPECT_FALSE(ParseLeaseKey(std::string(9, '\0')));
  EXPECT_FALSE(ParseSourceKey(""));
  EXPECT_FALSE(ParseMetaKey(MetaKey::kEpoch, MetaKeyOf(MetaKey::kNextSerial, 1)));
  EXPECT_FALSE(ParseEpochPartKey(MetaKeyOf(MetaKey::kEpochPart, 1)));
  EXPECT_EQ(ParseEpochPartKey(EpochPartKeyOf(1, 258))->part, 258);
  RandomRecords random(4);
  for (int i = 0; i < 20000; ++i) {
    const std::string bytes = random.Bytes(random.Below(14));
    if (const auto number = ParsePageKey(bytes)) {
      EXPECT_EQ(PageKeyOf(*number), bytes);
    }
    if (const auto p = ParseHostKey(bytes)) {
      EXPECT_EQ(HostKeyOf(p->slot, p->host), bytes);
    }
    if (const auto p = ParseLeaseKey(bytes)) {
      EXPECT_EQ(LeaseKeyOf(p->shard, p->sequence), bytes);
    }
  }
}

}  // namespace
}  // namespace freshet::storage
