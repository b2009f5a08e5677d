// Tests quotas: places, pages of a host, and hosts of a server.
#include "core/schedule/quota.h"

#include "tests/core/schedule/shard_cycle.h"

namespace freshet {
namespace {

using testing::HasSubstr;

TEST(Quota, GivesOutSoManyPlacesAndTakesThemBack) {
  const auto quota = std::make_shared<Quota>();
  quota->SetMost(2);
  {
    TakenPlaces places;
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(quota->Take());
      places.Add(quota);
    }
    EXPECT_FALSE(quota->Take());
    EXPECT_TRUE(places.Use(quota.get()));
  }
  // One place was used. The destructor has returned the other one.
  EXPECT_TRUE(quota->Take());
  EXPECT_FALSE(quota->Take());
  quota->SetMost(3);
  EXPECT_TRUE(quota->Take());
}

UpsertPage PageAt(const std::string& host, int i) {
  return {.key = {"DEFAULT", "https://" + host + "/" + std::to_string(i)}, .host = host};
}

TEST(PagesPerHost, RefusesThePageAfterTheLastThatAHostMayHave) {
  ShardOptions options;
  options.max_pages_per_host = 2;
  MemoryShard shard(options);
  const std::vector<Event> events = {PageAt("a.test", 0), PageAt("a.test", 1), PageAt("a.test", 2),
                                     PageAt("b.test", 0), PageAt("a.test", 0)};
  const std::vector<Reply> replies = shard.Apply(events, At(0));
  EXPECT_EQ(replies[1].disposition, Disposition::kCreated);
  EXPECT_TRUE(absl::IsResourceExhausted(replies[2].status));
  EXPECT_THAT(std::string(replies[2].status.message()),
              HasSubstr("host a.test already has 2 pages, the maximum"));
  EXPECT_EQ(replies[3].disposition, Disposition::kCreated);
  EXPECT_TRUE(replies[4].status.ok()) << "it has this page";
  EXPECT_TRUE(absl::IsResourceExhausted(shard.Apply(PageAt("a.test", 2), At(1)).status));
  ASSERT_TRUE(shard.Apply(RemovePage{.key = PageAt("a.test", 1).key}, At(2)).status.ok());
  EXPECT_EQ(shard.Apply(PageAt("a.test", 2), At(3)).disposition, Disposition::kCreated);
}

TEST(HostQuota, RefusesAHostTooManyOverAllShards) {
  const auto quota = std::make_shared<Quota>(2);
  ShardOptions options;
  options.host_quota = quota;
  MemoryShard one(options);
  MemoryShard other(options);
  const std::vector<Event> events = {PageAt("a.test", 0), PageAt("a.test", 1)};
  EXPECT_EQ(one.Apply(events, At(0))[1].disposition, Disposition::kCreated);
  EXPECT_EQ(quota->used(), 1U) << "a host has one place, whatever its pages";
  EXPECT_EQ(other.Apply(PageAt("b.test", 0), At(0)).disposition, Disposition::kCreated);
  const Reply refused = one.Apply(PageAt("c.test", 0), At(1));
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status));
  EXPECT_THAT(std::string(refused.status.message()),
              HasSubstr("host c.test is new, but this server already has 2 hosts"));
  // Known hosts can still get new pages.
  EXPECT_EQ(one.Apply(PageAt("a.test", 2), At(2)).disposition, Disposition::kCreated);
  // When a host is forgotten, its place is free.
  ASSERT_TRUE(other.Apply(RemovePage{.key = PageAt("b.test", 0).key}, At(3)).status.ok());
  other.RunTimers(At(10'000));
  EXPECT_EQ(quota->used(), 1U);
  EXPECT_EQ(one.Apply(PageAt("c.test", 0), At(10'001)).disposition, Disposition::kCreated);
  EXPECT_EQ(quota->used(), 2U);
}

TEST(HostQuota, TakesNothingForABatchThatIsDropped) {
  const auto quota = std::make_shared<Quota>(1);
  ShardOptions options;
  options.host_quota = quota;
  ShardState state(options);
  {
    Transaction txn;
    EXPECT_TRUE(state.Step(PageAt("a.test", 0), At(0), txn).status.ok());
    EXPECT_EQ(quota->used(), 1U);
  }
  EXPECT_EQ(quota->used(), 0U);
}

}  // namespace
}  // namespace freshet
