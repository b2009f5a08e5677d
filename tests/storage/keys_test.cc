#include "storage/internal/keys.h"

#include <algorithm>
#include <set>

#include "core/base/limits.h"
#include "gtest/gtest.h"
#include "tests/storage/random_records.h"

namespace freshet::storage {
namespace {

// Texts as keys hold them, made of few letters so that they often share prefixes; no zero bytes.
std::string SomeText(RandomRecords& random) {
  static constexpr char kLetters[] = "\x01/ab\xff";
  std::string text(1 + random.Below(4), ' ');
  for (char& c : text) c = kLetters[random.Below(sizeof(kLetters) - 1)];
  return text;
}

struct Url {
  uint16_t slot;
  std::string crawl_id;
  std::string host;
  std::string url;
  auto operator<=>(const Url&) const = default;
};

TEST(Keys, UrlKeysSortAsTheirPartsAndParseBack) {
  RandomRecords random(1);
  std::vector<Url> urls;
  for (int i = 0; i < 3000; ++i) {
    urls.push_back({.slot = static_cast<uint16_t>(random.Below(3) * 255 + random.Below(3)),
                    .crawl_id = SomeText(random),
                    .host = SomeText(random),
                    .url = SomeText(random)});
  }
  // Strings compare as unsigned bytes in keys and in std::string alike.
  std::sort(urls.begin(), urls.end());
  std::string before;
  for (size_t i = 0; i < urls.size(); ++i) {
    const std::string key =
        UrlKeyOf(Slot(urls[i].slot), urls[i].crawl_id, urls[i].host, urls[i].url);
    if (i > 0) {
      EXPECT_EQ(urls[i - 1] < urls[i], before < key);
      EXPECT_EQ(urls[i - 1] == urls[i], before == key);
    }
    before = key;
    const auto parts = ParseUrlKey(key);
    ASSERT_TRUE(parts);
    EXPECT_EQ(parts->slot.value(), urls[i].slot);
    EXPECT_EQ(parts->crawl_id, urls[i].crawl_id);
    EXPECT_EQ(parts->host, urls[i].host);
    EXPECT_EQ(parts->url, urls[i].url);
  }
}

TEST(Keys, PrefixesCoverExactlyTheirPages) {
  RandomRecords random(2);
  for (int i = 0; i < 3000; ++i) {
    const Slot slot(static_cast<uint16_t>(random.Below(2)));
    const std::string crawl_id = SomeText(random);
    const std::string host = SomeText(random);
    const std::string url = SomeText(random);
    const Slot other_slot(static_cast<uint16_t>(random.Below(2)));
    const std::string other_id = random.Chance(50) ? crawl_id : SomeText(random);
    const std::string other_host = random.Chance(50) ? host : SomeText(random);
    const std::string prefix = UrlPrefix(slot, crawl_id, host, url);
    const std::string key = UrlKeyOf(other_slot, other_id, other_host, SomeText(random));
    const bool same = slot == other_slot && crawl_id == other_id && host == other_host &&
                      ParseUrlKey(key)->url.starts_with(url);
    EXPECT_EQ(key.starts_with(prefix), same);
    EXPECT_EQ(key >= prefix && key < AfterPrefix(prefix), same);
    EXPECT_EQ(key.starts_with(CrawlIdPrefix(slot, crawl_id)),
              slot == other_slot && crawl_id == other_id);
  }
}

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

TEST(Keys, LeaseAndHostKeysStartWithTheirSlot) {
  const Slot slot(4095);
  const auto lease = ParseLeaseKey(LeaseKeyOf(slot, LeaseId(0x0102030405060708)));
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->slot, slot);
  EXPECT_EQ(lease->id, LeaseId(0x0102030405060708));
  EXPECT_LT(LeaseKeyOf(slot, LeaseId(255)), LeaseKeyOf(slot, LeaseId(256)));
  const std::string host_key = HostKeyOf(slot, "example.org");
  EXPECT_EQ(host_key,
            "\x0f\xff"
            "example.org");
  EXPECT_EQ(ParseHostKey(host_key)->host, "example.org");
}

TEST(Keys, AfterPrefixHandlesTheHighestBytes) {
  EXPECT_EQ(AfterPrefix("ab"), "ac");
  EXPECT_EQ(AfterPrefix("a\xff\xff"), "b");
  EXPECT_EQ(AfterPrefix("\xff"), "");
  EXPECT_EQ(AfterPrefix(""), "");
}

TEST(Keys, ParsersRefuseWhatIsNoKey) {
  EXPECT_FALSE(ParsePageKey(std::string(8, '\0')));    // serial zero
  EXPECT_FALSE(ParsePageKey(std::string(8, '\x7f')));  // no such slot
  EXPECT_FALSE(ParsePageKey("short"));
  EXPECT_FALSE(ParseUrlKey(std::string_view("\0\1no separators", 15)));
  EXPECT_FALSE(ParseLeaseKey(std::string(9, '\0')));
  EXPECT_FALSE(ParseSourceKey(""));
  EXPECT_FALSE(ParseMetaKey(MetaKey::kEpoch, MetaKeyOf(MetaKey::kNextSerial, 1)));
  RandomRecords random(4);
  for (int i = 0; i < 20000; ++i) {
    const std::string bytes = random.Bytes(random.Below(14));
    if (const auto number = ParsePageKey(bytes)) {
      EXPECT_EQ(PageKeyOf(*number), bytes);
    }
    if (const auto p = ParseUrlKey(bytes)) {
      EXPECT_EQ(UrlKeyOf(p->slot, p->crawl_id, p->host, p->url), bytes);
    }
    if (const auto p = ParseHostKey(bytes)) {
      EXPECT_EQ(HostKeyOf(p->slot, p->host), bytes);
    }
    if (const auto p = ParseLeaseKey(bytes)) {
      EXPECT_EQ(LeaseKeyOf(p->slot, p->id), bytes);
    }
  }
}

}  // namespace
}  // namespace freshet::storage
