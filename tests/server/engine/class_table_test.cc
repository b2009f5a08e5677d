#include "server/engine/class_table.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr Claim kFirstClient = {.client = 1};
constexpr Claim kSecondClient = {.client = 2};
constexpr Claim kLimited = {.client = 3, .named = true};
constexpr size_t kShards = 2;

Instant Second(int64_t second) { return Instant::FromUnixSeconds(1000 + second); }
std::string NameOf(int i) { return "c" + std::to_string(i); }

class ClassTableTest : public testing::Test {
 protected:
  // Stages a change of the crawl id's class and keeps it, as if all shards had applied it.
  void Tell(const std::string& crawl_id, bool of_rate = false) {
    const auto staged = classes_.Stage(crawl_id, of_rate);
    ASSERT_TRUE(staged.ok()) << staged.status();
    classes_.Keep(crawl_id, *staged);
  }
  bool Give(const std::string& crawl_id, const Claim& claim, int64_t second) {
    const StatusOr<bool> tell = classes_.GiveToWorkers(crawl_id, claim, Second(second));
    if (!tell.ok()) return false;
    if (*tell) Tell(crawl_id);
    return true;
  }
  // Lets the client name new crawl ids until it gets no more classes. Returns the crawl ids that
  // got one.
  std::vector<std::string> Fill(const Claim& claim, const std::string& prefix, int64_t second) {
    std::vector<std::string> names;
    for (int i = 0; Give(prefix + NameOf(i), claim, second); ++i)
      names.push_back(prefix + NameOf(i));
    return names;
  }
  void Declass(const std::string& crawl_id) {
    for (uint16_t shard = 0; shard < kShards; ++shard) classes_.OnDeclassed(shard, crawl_id);
  }

  ClassTable classes_{kShards};
};

TEST_F(ClassTableTest, ANewcomerGetsHalfOfWhatIsSharedAndFree) {
  EXPECT_EQ(Fill(kFirstClient, "a", 0).size(), 18U);
  EXPECT_EQ(Fill(kSecondClient, "b", 0).size(), 9U);
  EXPECT_EQ(Fill(kLimited, "l", 0).size(), 36U) << "all that is left";
  EXPECT_FALSE(classes_.Stage("of rate", true).ok());
}

TEST_F(ClassTableTest, WhatWasDroppedLeavesNoTrace) {
  for (int i = 0; i < 200; ++i) {
    const auto staged = classes_.Stage(NameOf(i), true);
    ASSERT_TRUE(staged.ok());
    EXPECT_NE(staged->crawl_class, 0);
    classes_.Drop(NameOf(i), *staged);
    EXPECT_EQ(classes_.Of(NameOf(i)), 0);
  }
  // If the removal of a class is dropped, it leaves no trace either.
  Tell("kept", true);
  const CrawlClass before = classes_.Of("kept");
  classes_.Drop("kept", *classes_.Stage("kept", false));
  Declass("kept");
  EXPECT_EQ(classes_.Of("kept"), before);
}

TEST_F(ClassTableTest, ACrawlIdWithoutItsShareGivesItsClassBackOnceNoPageIsOfIt) {
  std::set<CrawlClass> numbers;
  for (int i = 0; i < 200; ++i) {
    Tell(NameOf(i), true);
    numbers.insert(classes_.Of(NameOf(i)));
    Tell(NameOf(i), false);
    classes_.OnDeclassed(0, NameOf(i));
    EXPECT_NE(classes_.Of(NameOf(i)), 0) << "shard 1 has pages of it";
    classes_.OnDeclassed(1, NameOf(i));
    EXPECT_EQ(classes_.Of(NameOf(i)), 0);
  }
  EXPECT_LE(numbers.size(), limits::kMaxCrawlClasses - 1);
}

TEST_F(ClassTableTest, WhatNobodyHoldsGoesToAnother) {
  const std::vector<std::string> mine = Fill(kFirstClient, "a", 0);
  TakenClasses held = classes_.Hold(std::vector<std::string>(mine.begin() + 1, mine.end()));
  EXPECT_FALSE(Give("next", kFirstClient, 1));
  EXPECT_EQ(classes_.TakeIdle(kFirstClient, Second(1)), mine[0]);
  Tell(mine[0]);
  EXPECT_EQ(classes_.TakeIdle(kFirstClient, Second(1)), std::nullopt) << "one is on its way";
  EXPECT_FALSE(Give("next", kFirstClient, 1)) << "shards have pages of it";
  Declass(mine[0]);
  EXPECT_FALSE(Give("next", kFirstClient, 1)) << "the number rests";
  EXPECT_TRUE(Give("next", kFirstClient, 3));
  const TakenClasses next = classes_.Hold(std::vector<std::string>{"next"});
  EXPECT_EQ(next.set & held.set, 0U);
  EXPECT_EQ(classes_.TakeIdle(kFirstClient, Second(3)), std::nullopt) << "all are held";
  held.hold = nullptr;
  EXPECT_NE(classes_.TakeIdle(kFirstClient, Second(4)), std::nullopt);
}

// A class number is not reused for a while after its crawl id is gone. A client must not be able to
// block most numbers in this way.
TEST_F(ClassTableTest, OneThatNamesNewCrawlIdsAllTheTimeLeavesRoomForOthers) {
  for (int i = 0; i < 1000; ++i) {
    const Instant now = Second(0) + Duration::Millis(i);
    const StatusOr<bool> tell = classes_.GiveToWorkers(NameOf(i), kFirstClient, now);
    if (tell.ok()) {
      if (*tell) Tell(NameOf(i));
      continue;
    }
    const std::optional<std::string> idle = classes_.TakeIdle(kFirstClient, now);
    if (!idle) continue;
    Tell(*idle);
    Declass(*idle);
  }
  EXPECT_EQ(Fill(kSecondClient, "b", 1).size(), 9U);
}

TEST_F(ClassTableTest, OneWithAShareIsNeverIdle) {
  Tell("shared", true);
  ASSERT_TRUE(Give("shared", kFirstClient, 0));
  (void)Fill(kSecondClient, "b", 0);
  EXPECT_NE(classes_.TakeIdle(kLimited, Second(100)), "shared");
  // The class stays until its removal is stored, even if no page uses it.
  const auto staged = classes_.Stage("other", true);
  classes_.Keep("other", *staged);
  const auto leaves = classes_.Stage("other", false);
  Declass("other");
  EXPECT_NE(classes_.Of("other"), 0);
  classes_.Keep("other", *leaves);
  EXPECT_EQ(classes_.Of("other"), 0);
}

TEST_F(ClassTableTest, OneThatIsNamedAgainStays) {
  const std::vector<std::string> mine = Fill(kFirstClient, "a", 0);
  ASSERT_EQ(classes_.TakeIdle(kFirstClient, Second(1)), mine[0]);
  Tell(mine[0]);
  const CrawlClass before = classes_.Of(mine[0]);
  classes_.OnDeclassed(0, mine[0]);
  const StatusOr<bool> tell = classes_.GiveToWorkers(mine[0], kFirstClient, Second(1));
  ASSERT_TRUE(tell.ok() && *tell);
  classes_.OnDeclassed(1, mine[0]);
  EXPECT_EQ(classes_.Of(mine[0]), before);
  Tell(mine[0]);
  // These reports of the shards belong to the earlier removal, so they do not free the class.
  Declass(mine[0]);
  EXPECT_EQ(classes_.Of(mine[0]), before);
}

TEST_F(ClassTableTest, AClassRestsBeforeOthersGetIt) {
  (void)Fill(kLimited, "l", 0);
  ASSERT_EQ(classes_.TakeIdle(kLimited, Second(1)), "lc0");
  Tell("lc0");
  Declass("lc0");
  EXPECT_FALSE(Give("next", kLimited, 10)) << "begins to rest";
  EXPECT_FALSE(Give("next", kLimited, 11));
  EXPECT_TRUE(Give("next", kLimited, 12));
}

TEST_F(ClassTableTest, OthersMayTakeWhatHasBeenIdleForLong) {
  (void)Fill(kFirstClient, "a", 0);
  (void)Fill(kSecondClient, "b", 0);
  EXPECT_EQ(classes_.TakeIdle({.client = 4}, Second(30)), std::nullopt);
  EXPECT_NE(classes_.TakeIdle(kLimited, Second(30)), std::nullopt) << "limits come first";
  EXPECT_NE(classes_.TakeIdle({.client = 4}, Second(60)), std::nullopt);
}

}  // namespace
}  // namespace freshet
