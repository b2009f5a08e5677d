// Tests the sources of picks: the index, the queue, and the switch between them in slices.
#include "core/schedule/pick_source.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

constexpr Duration kDelay = Duration::Seconds(10);
constexpr Instant kNever = Instant::Infinite();
const CrawlPolicy kGreedy(Policy{.kind = PolicyKind::kGreedy});
const CrawlPolicy kUniform(PlanMethod::kUniform);

class PickSourceTest : public testing::Test {
 protected:
  static constexpr double kDayAgo = -86400;

  void Start(const CrawlPolicy& policy) { source_.emplace(pages_, hosts_, policy); }

  // Returns a page that was fresh a day before the start.
  static IndexEntry Entry(HostId host, double importance) {
    IndexEntry entry;
    entry.policy = kGreedy.index;
    entry.rates = MakeIndexRates(importance, {.change_rate = 1e-6, .unsignalled_rate = 1e-6});
    entry.since = At(kDayAgo);
    entry.host = host;
    return entry;
  }
  PageId Add(double importance = 1, const std::string& host = "a.test") {
    const HostId id = hosts_.Intern(host);
    source_->HostChanged(id);
    const uint64_t serial = pages_.size() + 1;
    const PageId page = pages_.Add(MakePageNumber(Slot(0), serial), Random(serial).Next());
    entries_.push_back(Entry(id, importance));
    File(page);
    return page;
  }
  void File(PageId page) { source_->File(page, entries_[page.value()], kNever); }
  // Takes the best page, as the shard does.
  PageId Take(double seconds) {
    const PageId page = Best(seconds).value();
    pages_.Set(page, PageTable::kTaken, true);
    source_->Suspend(page);
    return page;
  }
  void Return(PageId page) {
    pages_.Set(page, PageTable::kTaken, false);
    source_->Resume(page);
  }
  // Hands out a page of the host, so that the host is not free for a while.
  void Block(HostId host, double seconds) {
    hosts_.Pick(host, At(seconds));
    source_->HostChanged(host);
  }
  std::optional<PageId> Best(double seconds) {
    const std::optional<ClassedPick> best = source_->Best(At(seconds));
    if (!best) return std::nullopt;
    return best->page;
  }
  // Returns a plan for all pages, each with an interval in seconds.
  std::vector<PlannedCrawls> Plan(const std::vector<double>& intervals) {
    std::vector<PlannedCrawls> crawls;
    for (uint32_t i = 0; i < intervals.size(); ++i) {
      crawls.push_back(
          {.page = pages_.number(PageId(i)), .rate = static_cast<float>(1 / intervals[i])});
    }
    return crawls;
  }
  bool Finish(const std::vector<PlannedCrawls>& crawls) {
    bool refile = false;
    return source_->BeginPlan(Rate::PerDay(1)) && source_->StagePlan(0, crawls, kStart) &&
           source_->FinishPlan(&refile);
  }

  PageTable pages_;
  HostGate hosts_{PolitenessDefaults{.min_delay = kDelay}};
  std::vector<IndexEntry> entries_;  // by page id
  std::optional<PickSource> source_;
};

TEST_F(PickSourceTest, AnIndexGivesThePageOfHighestValue) {
  Start(kGreedy);
  EXPECT_FALSE(Best(0));
  Random random(3);
  for (int i = 0; i < 200; ++i) (void)Add(random.Uniform(1, 100));
  std::vector<PageId> by_value;
  for (uint32_t i = 0; i < entries_.size(); ++i) by_value.emplace_back(i);
  // All pages were crawled at one time and have the same change rate.
  std::sort(by_value.begin(), by_value.end(), [this](PageId a, PageId b) {
    return entries_[a.value()].rates.importance > entries_[b.value()].rates.importance;
  });
  for (const PageId page : by_value) {
    const std::optional<ClassedPick> best = source_->Best(kStart);
    ASSERT_TRUE(best);
    EXPECT_EQ(best->page, page);
    EXPECT_NEAR(best->value, DecidingValue(entries_[page.value()], kStart), 1e-9 * best->value);
    EXPECT_EQ(Take(0), page);
  }
  EXPECT_FALSE(Best(0)) << "all are out";
  Return(by_value[7]);
  EXPECT_EQ(Best(0), by_value[7]);
}

TEST_F(PickSourceTest, AQueueGivesTheFirstOfThePlan) {
  Start(kUniform);
  EXPECT_FALSE(Best(0));
  // The plan decides the order, not the values.
  const std::vector<double> days = {7, 3, 5, 2, 4};
  std::vector<double> intervals;
  for (const double interval : days) {
    (void)Add(interval);
    intervals.push_back(interval * 86400);
  }
  ASSERT_TRUE(Finish(Plan(intervals)));
  EXPECT_EQ(source_->PlannedRate(PageId(1)).per_second(), static_cast<float>(1 / intervals[1]));
  for (const uint32_t page : {3, 1, 4, 2, 0}) {
    // Before the plan, each page's interval was a month, of which a thirtieth (one day) had passed.
    // The plan keeps this share.
    EXPECT_NEAR((source_->PlannedAt(PageId(page)).value() - kStart).seconds(),
                intervals[page] * 29 / 30, 1);
    EXPECT_EQ(Take(60), PageId(page));
  }
  EXPECT_FALSE(Best(60));
  for (uint32_t page = 0; page < days.size(); ++page) Return(PageId(page));
  EXPECT_EQ(Best(60), PageId(3));
  source_->Crawled(PageId(3));
  EXPECT_EQ(Best(60), PageId(1)) << "the job of the other is done";
  source_->Remove(PageId(1));
  pages_.Remove(PageId(1));
  EXPECT_EQ(Best(60), PageId(4));
}

TEST_F(PickSourceTest, AQueueTakesOverOnceThePlanHasEveryPage) {
  Start(kGreedy);
  for (int i = 0; i < 10; ++i) (void)Add(1 + i);
  const std::vector<double> intervals(10, 10 * 86400);
  ASSERT_TRUE(source_->SetPolicy(kUniform));
  ASSERT_TRUE(source_->MakeRoom());
  for (uint32_t page = 0; page < 10; ++page) {
    EXPECT_FALSE(Finish(Plan(intervals))) << page << " pages of 10 are filed";
    EXPECT_FALSE(source_->plan_in_force());
    EXPECT_EQ(Best(page), PageId(9)) << "by value";
    EXPECT_FALSE(source_->PlannedAt(PageId(page)));
    File(PageId(page));
  }
  EXPECT_FALSE(source_->plan_in_force()) << "until the plan is staged";
  std::vector<double> first = intervals;
  first[4] = 3600;
  ASSERT_TRUE(Finish(Plan(first)));
  EXPECT_EQ(source_->in_force(), kUniform);
  EXPECT_EQ(Best(10), PageId(4)) << "by the plan";
  EXPECT_EQ(source_->TakeRetired().size(), 1u) << "the index";
  EXPECT_TRUE(source_->TakeRetired().empty());
}

TEST_F(PickSourceTest, AnIndexTakesOverWithTheLastPage) {
  Start(kUniform);
  for (int i = 0; i < 10; ++i) (void)Add(1 + i);
  std::vector<double> intervals(10, 86400);
  intervals[4] = 3600;
  ASSERT_TRUE(Finish(Plan(intervals)));
  // One page stays leased, the other is returned.
  ASSERT_EQ(Take(0), PageId(4));
  const PageId other = Take(0);
  ASSERT_TRUE(source_->SetPolicy(kGreedy));
  ASSERT_TRUE(source_->MakeRoom());
  for (uint32_t page = 0; page < 10; ++page) {
    EXPECT_TRUE(source_->plan_in_force()) << page << " pages of 10 are filed";
    EXPECT_FALSE(source_->BeginPlan(Rate::PerDay(1))) << "nobody waits for a plan";
    File(PageId(page));
    source_->TakeOverByIndex();
    if (page == 5) Return(other);
  }
  EXPECT_FALSE(source_->plan_in_force());
  EXPECT_EQ(source_->in_force(), kGreedy);
  EXPECT_EQ(source_->TakeRetired().size(), 2u) << "the queue, and what plans are made of";
  for (const uint32_t page : {9, 8, 7, 6, 5, 3, 2, 1, 0}) EXPECT_EQ(Take(1), PageId(page));
  EXPECT_FALSE(Best(1));
  Return(PageId(4));
  EXPECT_EQ(Best(1), PageId(4));
}

TEST_F(PickSourceTest, APageThatComesMeanwhileIsFiledInBoth) {
  Start(kGreedy);
  (void)Add(5);
  ASSERT_TRUE(source_->SetPolicy(kUniform));
  (void)Add(6);
  EXPECT_EQ(Best(0), PageId(1)) << "in the index";
  EXPECT_FALSE(Finish(Plan({3600, 86400}))) << "the queue lacks the first";
  File(PageId(0));
  ASSERT_TRUE(Finish(Plan({3600, 86400})));
  EXPECT_EQ(Best(0), PageId(0));
  EXPECT_EQ(Take(0), PageId(0));
  EXPECT_EQ(Best(0), PageId(1)) << "in the queue";
}

TEST_F(PickSourceTest, WhatIsMadeReadyHasNoPagesBeforeThereIsRoomForAll) {
  Start(kGreedy);
  constexpr uint32_t kPages = 70'000;  // more than one call makes room for
  for (uint32_t i = 0; i < kPages; ++i) (void)Add(1 + i);
  ASSERT_TRUE(source_->SetPolicy(kUniform));
  // Filing has no effect while there is not enough room for all pages.
  for (uint32_t i = 0; i < kPages; ++i) File(PageId(i));
  const std::vector<PlannedCrawls> plan = Plan(std::vector<double>(kPages, 86400));
  EXPECT_FALSE(Finish(plan));
  int slices = 1;
  while (!source_->MakeRoom()) ++slices;
  EXPECT_GE(slices, 2);
  EXPECT_FALSE(Finish(plan));
  for (uint32_t i = 0; i < kPages; ++i) File(PageId(i));
  EXPECT_TRUE(Finish(plan));
  EXPECT_TRUE(source_->plan_in_force());
}

TEST_F(PickSourceTest, PagesOfHostsThatAreNotFreeAreLeftOut) {
  for (const CrawlPolicy& policy : {kGreedy, kUniform}) {
    SCOPED_TRACE(CrawlPolicyName(policy));
    pages_ = PageTable();
    hosts_ = HostGate(PolitenessDefaults{.min_delay = kDelay});
    entries_.clear();
    Start(policy);
    const PageId dear = Add(9, "slow.test");
    const PageId cheap = Add(1, "b.test");
    if (policy.plan) {
      ASSERT_TRUE(Finish(Plan({3600, 86400})));
    }
    EXPECT_EQ(Best(0), dear);
    EXPECT_EQ(source_->HostOf(dear), hosts_.Find("slow.test"));
    Block(source_->HostOf(dear), 0);
    EXPECT_EQ(Best(1), cheap);
    Block(source_->HostOf(cheap), 1);
    EXPECT_FALSE(Best(2));
    EXPECT_EQ(Best(kDelay.seconds()), dear) << "its host is free by itself";
  }
}

TEST_F(PickSourceTest, WhatTakesOverKnowsWhichHostsAreNotFree) {
  for (const bool to_plan : {true, false}) {
    SCOPED_TRACE(to_plan ? "to a plan" : "to an index");
    pages_ = PageTable();
    hosts_ = HostGate(PolitenessDefaults{.min_delay = kDelay});
    entries_.clear();
    Start(to_plan ? kGreedy : kUniform);
    const PageId before = Add(9, "before.test");
    const PageId meanwhile = Add(8, "meanwhile.test");
    const PageId free = Add(1, "free.test");
    if (!to_plan) {
      ASSERT_TRUE(Finish(Plan({3600, 3600, 86400})));
    }
    EXPECT_TRUE(Best(0));
    Block(source_->HostOf(before), 0);
    ASSERT_TRUE(source_->SetPolicy(to_plan ? kUniform : kGreedy));
    Block(source_->HostOf(meanwhile), 1);
    for (const PageId page : {before, meanwhile, free}) File(page);
    source_->TakeOverByIndex();
    if (to_plan) {
      ASSERT_TRUE(Finish(Plan({3600, 3600, 86400})));
    }
    ASSERT_EQ(source_->plan_in_force(), to_plan);
    EXPECT_EQ(Best(2), free);
    EXPECT_EQ(Take(kDelay.seconds()), before);
    EXPECT_EQ(Take(kDelay.seconds() + 1), meanwhile);
  }
}

TEST_F(PickSourceTest, APlanSaysWhichPagesSignalsAskFor) {
  Start(kUniform);
  const PageId polled = Add();
  const PageId asked = Add();
  std::vector<PlannedCrawls> crawls = Plan({3600, 3600});
  EXPECT_EQ(source_->SignalProbability(asked), 0) << "a newcomer is polled";
  crawls[asked.value()] = {.page = pages_.number(asked), .probability = 0.25};
  bool refile = false;
  ASSERT_TRUE(source_->BeginPlan(Rate::PerDay(1)));
  ASSERT_TRUE(source_->StagePlan(0, crawls, kStart));
  ASSERT_TRUE(source_->FinishPlan(&refile));
  EXPECT_TRUE(refile) << "what came before the plan counts only now";
  EXPECT_EQ(source_->SignalProbability(polled), 0);
  EXPECT_EQ(source_->SignalProbability(asked), 0.25);
  EXPECT_EQ(source_->PlannedRate(asked), Rate());
  EXPECT_EQ(Best(0), polled);
  source_->File(asked, entries_[asked.value()], kStart);
  // A page that is filed again keeps its place in the order.
  source_->File(asked, entries_[asked.value()], kNever);
  EXPECT_TRUE(source_->PlannedAt(asked) <= kStart);
  EXPECT_EQ(Best(1), asked);
  source_->Crawled(asked);
  EXPECT_EQ(source_->PlannedAt(asked), kNever);
}

TEST_F(PickSourceTest, ALaterPageOfAnIdIsANewcomer) {
  Start(kUniform);
  const PageId page = Add();
  const std::vector<PlannedCrawls> crawls = Plan({3600});
  ASSERT_TRUE(Finish(crawls));
  source_->Remove(page);
  pages_.Remove(page);
  ASSERT_EQ(pages_.Add(MakePageNumber(Slot(0), 2), 5), page);
  File(page);
  const Rate newcomer = source_->PlannedRate(std::nullopt);
  EXPECT_EQ(source_->PlannedRate(page), newcomer);
  ASSERT_TRUE(Finish(crawls));
  EXPECT_EQ(source_->PlannedRate(page), newcomer) << "the plan is of the page before";
}

using PickSourceDeathTest = PickSourceTest;

TEST_F(PickSourceDeathTest, FilesNoPageThatTheTableDoesNotHave) {
  Start(kGreedy);
  const PageId page = Add();
  EXPECT_DEATH(source_->File(PageId(page.value() + 1), entries_[0], kNever), "is not known");
}

// Two of three hosts share a server that allows one fetch at a time. Tested with an index, and with
// a plan, which blocks groups differently.
class PickSourceGroupsTest : public PickSourceTest,
                             public testing::WithParamInterface<CrawlPolicy> {};

TEST_P(PickSourceGroupsTest, HostsOfAGroupWaitForOneAnother) {
  Start(GetParam());
  const auto group = std::make_shared<const HostGroup>(HostGroup{
      .name = "server", .terms = {.min_delay = Duration::Seconds(60), .max_in_flight = 1}});
  const PageId first = Add(3, "a.test");
  const PageId second = Add(2, "b.test");
  const PageId apart = Add(1, "c.test");
  const HostId a = *hosts_.Find("a.test");
  const HostId b = *hosts_.Find("b.test");
  for (const HostId host : {a, b}) {
    hosts_.SetGroup(host, group);
    source_->HostChanged(host);
  }
  std::vector<PageId> picked = {*Best(0)};
  const PageId other = picked.front() == first ? second : first;
  const HostId host = picked.front() == first ? a : b;
  if (picked.front() == apart) {
    (void)Take(0);
    picked.push_back(Take(0));
    ASSERT_NE(picked.back(), apart);
  } else {
    (void)Take(0);
  }
  hosts_.Pick(host, At(0));
  source_->HostChanged(host);
  // The other host of the group waits, whatever its value. The host without a group does not.
  std::optional<PageId> next = Best(1);
  if (next) {
    EXPECT_EQ(next, apart);
    (void)Take(1);
  }
  EXPECT_FALSE(Best(2));
  hosts_.OpenLease(host, At(0));
  source_->HostChanged(host);
  EXPECT_FALSE(Best(300)) << "one is out";
  hosts_.EndLease(host);
  source_->HostChanged(host);
  EXPECT_EQ(Best(301), other);
  // Other shards lease and return pages of the same group.
  const GroupKey key = hosts_.groups().key(hosts_.host(a).group);
  source_->GroupChanged(hosts_.groups().Hear({.key = key, .in_flight = 1}, At(301)));
  EXPECT_FALSE(Best(302));
  source_->GroupChanged(
      hosts_.groups().Hear({.key = key, .in_flight = 0, .delayed_until = At(400)}, At(302)));
  EXPECT_FALSE(Best(399));
  EXPECT_EQ(Best(400), other);
  // A host that leaves the group is free, even if the group is not.
  source_->GroupChanged(hosts_.groups().Hear({.key = key, .in_flight = 5}, At(400)));
  EXPECT_FALSE(Best(401));
  const HostId left = other == first ? a : b;
  hosts_.SetGroup(left, nullptr);
  source_->HostChanged(left);
  EXPECT_EQ(Best(402), other);
}

// The owner of a domain can make names below it at no cost, so a pick must not examine all hosts of
// a group. While the group is not free, several picks block its hosts in parts. Afterwards, pages
// of other hosts are picked.
TEST_P(PickSourceGroupsTest, AGroupOfManyHostsHoldsUpNoPick) {
  Start(GetParam());
  const auto group =
      std::make_shared<const HostGroup>(HostGroup{.name = "domain", .terms = {.max_in_flight = 1}});
  constexpr size_t kHosts = 5000;
  for (size_t i = 0; i < kHosts; ++i) {
    const std::string name = "h" + std::to_string(i) + ".test";
    const PageId page = Add(1, name);
    hosts_.SetGroup(*hosts_.Find(name), group);
    source_->HostChanged(*hosts_.Find(name));
    entries_[page.value()].forced_at = At(1);
    File(page);
  }
  const HostId first = entries_[Take(1).value()].host;
  hosts_.Pick(first, At(1));
  hosts_.OpenLease(first, At(1));
  source_->HostChanged(first);
  size_t blocked = 0;
  for (int pick = 0; pick < 200 && blocked < kHosts - 1; ++pick) {
    EXPECT_FALSE(Best(2)) << "its group is not free";
    EXPECT_LE(source_->hosts_blocked_with_groups() - blocked, 1100U) << "pick " << pick;
    blocked = source_->hosts_blocked_with_groups();
  }
  EXPECT_EQ(blocked, kHosts - 1);
  const PageId other = Add(1e-9, "other.test");
  entries_[other.value()].forced_at = At(2);
  File(other);
  EXPECT_EQ(Best(3), other);
  pages_.Set(other, PageTable::kTaken, true);
  source_->Suspend(other);
  hosts_.EndLease(first);
  source_->HostChanged(first);
  EXPECT_GE(source_->hosts_blocked_with_groups(), kHosts - 100) << "all at once";
  EXPECT_TRUE(Best(100));
  for (int pick = 0; pick < 200; ++pick) (void)Best(100);
  EXPECT_EQ(source_->hosts_blocked_with_groups(), 0U);
}

// If all hosts of a group became free together, each turn of the group would examine all of them
// again.
TEST_F(PickSourceTest, HostsOfAGroupWaitForDifferentTurns) {
  Start(kUniform);
  const auto group = std::make_shared<const HostGroup>(
      HostGroup{.name = "domain", .terms = {.min_delay = Duration::Seconds(60)}});
  constexpr size_t kHosts = 5000;
  for (size_t i = 0; i < kHosts; ++i) {
    const std::string name = "h" + std::to_string(i) + ".test";
    (void)Add(1, name);
    hosts_.SetGroup(*hosts_.Find(name), group);
    source_->HostChanged(*hosts_.Find(name));
  }
  Block(entries_[Take(1).value()].host, 1);
  for (int pick = 0; pick < 10; ++pick) EXPECT_FALSE(Best(2));
  const PageId other = Add(1, "other.test");
  EXPECT_EQ(Take(2), other);
  for (int turn = 1; turn <= 3; ++turn) {
    const double at = 1 + 60 * turn;
    Block(entries_[Take(at).value()].host, at);
    Return(other);
    EXPECT_EQ(Take(at), other) << "the first pick looks at few hosts of the group";
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, PickSourceGroupsTest, testing::Values(kGreedy, kUniform),
                         [](const auto& each) {
                           return std::string(each.param.plan ? "plan" : "index");
                         });

}  // namespace
}  // namespace freshet
