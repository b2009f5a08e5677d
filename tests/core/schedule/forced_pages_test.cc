// Tests forced pages, which are picked whatever their value: their share of the ticks, and their
// order.
#include "core/schedule/forced_pages.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/schedule/forced_share.h"
#include "core/schedule/pick.h"
#include "fmt/format.h"
#include "tests/core/schedule/shard_cycle.h"

namespace freshet {
namespace {

// Returns the last two labels of a name.
std::string_view LastTwo(std::string_view host) {
  const size_t last = host.rfind('.');
  if (last == std::string_view::npos || last == 0) return host;
  const size_t before = host.rfind('.', last - 1);
  return before == std::string_view::npos ? host : host.substr(before + 1);
}

ShardOptions ByDomain() {
  ShardOptions options;
  options.domain_of = LastTwo;
  return options;
}

class ForcedPagesTest : public ShardCycleTest {
 protected:
  ForcedPagesTest() : ShardCycleTest(ByDomain()) {}

  // Adds a page that was crawled at 0.
  void Add(const std::string& host, double importance, double max_interval_seconds,
           const std::string& crawl_id = "DEFAULT", uint64_t client = 0) {
    UpsertPage event{.key = {crawl_id, "https://" + host + "/"}, .host = host};
    event.claim.client = client;
    event.importance = importance;
    event.last_crawl = At(0);
    if (max_interval_seconds > 0) event.max_interval = Duration::FromSeconds(max_interval_seconds);
    ASSERT_EQ(Apply(event, 0).disposition, Disposition::kCreated);
  }
  std::optional<Pick> Take(double at, bool forced_first) {
    return shard_.state().Take(At(at), kAllClasses, forced_first);
  }
  // Crawls the next page with an immediate result; returns its host, "" = no page.
  std::string Crawl(double at, bool forced_first) {
    const std::optional<Pick> pick = Take(at, forced_first);
    if (!pick) return {};
    was_forced_ = std::isinf(pick->value);
    const Reply reply = Apply(
        LeasePage{
            .page = pick->page, .worker = "w", .at = At(at), .lease = kLease, .value = pick->value},
        at);
    EXPECT_TRUE(reply.assignment) << reply.status;
    EXPECT_EQ(Apply(Result(*reply.assignment, CrawlOutcome::kUnchanged, At(at)), at).disposition,
              Disposition::kApplied);
    return reply.assignment->host;
  }
  // Returns the crawls of `ticks` ticks by domain.
  std::map<std::string, int> CrawlTicks(double from, int ticks, double per_second, double share) {
    ForcedShare forced(share);
    std::map<std::string, int> crawls;
    const std::vector<bool> first = forced.Next(static_cast<size_t>(ticks));
    for (int i = 0; i < ticks; ++i) {
      const std::string host = Crawl(from + i / per_second, first[static_cast<size_t>(i)]);
      ++crawls[std::string(LastTwo(host))];
    }
    return crawls;
  }

  static constexpr uint64_t kClient = 77;
  static constexpr uint64_t kOther = 79;
  bool was_forced_ = false;
};

// Previously, a client with many forced pages of one domain took nine of ten ticks.
TEST_F(ForcedPagesTest, OfOneClientLeaveTheRestToWhatPagesAreWorth) {
  for (int i = 0; i < 300; ++i) Add(fmt::format("h{}.good.test", i), 1000, 0);
  for (int i = 0; i < 400; ++i) Add(fmt::format("h{}.evil.test", i), 1e-9, 1);
  const std::map<std::string, int> crawls = CrawlTicks(100, 400, 50, 0.25);
  EXPECT_EQ(crawls.at("good.test"), 300);
  EXPECT_EQ(crawls.at("evil.test"), 100);
}

TEST_F(ForcedPagesTest, GoOutAtAllTicksWhereNothingElseIsToBeCrawled) {
  for (int i = 0; i < 400; ++i) Add(fmt::format("h{}.evil.test", i), 0, 1);
  EXPECT_EQ(CrawlTicks(100, 400, 50, 0.25).at("evil.test"), 400);
}

TEST_F(ForcedPagesTest, OfDomainsGoInTurnHoweverManyHostsOneHas) {
  for (int i = 0; i < 400; ++i) Add(fmt::format("h{}.evil.test", i), 1e-9, 1);
  for (int i = 0; i < 3; ++i) Add(fmt::format("h{}.good.test", i), 1e-9, 99);
  Add("late.test", 1e-9, 99.5);
  const std::map<std::string, int> crawls = CrawlTicks(100, 9, 1000, 1);
  EXPECT_EQ(crawls.at("late.test"), 1);
  EXPECT_EQ(crawls.at("good.test"), 3);
  EXPECT_EQ(crawls.at("evil.test"), 5);
}

TEST_F(ForcedPagesTest, OfADomainGoByLateness) {
  Add("a.site.test", 1000, 30);
  Add("b.site.test", 1, 10);
  Add("c.site.test", 1, 20);
  EXPECT_EQ(Crawl(40, true), "b.site.test");
  EXPECT_EQ(Crawl(40.1, true), "c.site.test");
  EXPECT_EQ(Crawl(40.2, true), "a.site.test");
}

// If turns were shared between domains alone, a crawl id with many domains would take all turns.
TEST_F(ForcedPagesTest, OfACrawlIdWithManyDomainsLeaveOtherCrawlIdsTheirTurns) {
  for (int i = 0; i < 2000; ++i) Add(fmt::format("h.d{}.test", i), 1e-9, 1, "many", kClient);
  for (int i = 0; i < 300; ++i) Add(fmt::format("h{}.good.test", i), 1e-9, 90, "few", kClient);
  for (int i = 0; i < 300; ++i) Add(fmt::format("w{}.worth.test", i), 1000, 0, "few", kClient);
  const std::map<std::string, int> crawls = CrawlTicks(100, 400, 50, 0.25);
  EXPECT_EQ(crawls.at("worth.test"), 300);
  EXPECT_NEAR(crawls.at("good.test"), 50, 2);
}

TEST_F(ForcedPagesTest, OfADomainGainNothingByManyCrawlIds) {
  for (int i = 0; i < 1000; ++i) {
    Add(fmt::format("h{}.evil.test", i), 1e-9, 1, fmt::format("c{}", i));
  }
  for (int i = 0; i < 300; ++i) Add(fmt::format("h{}.good.test", i), 1e-9, 90, "good", kClient);
  const std::map<std::string, int> crawls = CrawlTicks(100, 200, 50, 1);
  EXPECT_NEAR(crawls.at("good.test"), 100, 2);
}

// After a restart no crawl id has a known owner.
TEST_F(ForcedPagesTest, OfADomainGainNothingByManyCrawlIdsOfNobody) {
  for (int i = 0; i < 200; ++i) {
    Add(fmt::format("h{}.evil.test", i), 1e-9, 1, fmt::format("c{}", i));
  }
  for (int i = 0; i < 100; ++i) Add(fmt::format("h{}.good.test", i), 1e-9, 90, "good");
  EXPECT_NEAR(CrawlTicks(100, 100, 50, 1).at("good.test"), 50, 2);
}

TEST_F(ForcedPagesTest, OfAClientGainNothingByManyCrawlIdsAndDomains) {
  for (int i = 0; i < 1000; ++i) {
    Add(fmt::format("h.d{}.test", i), 1e-9, 1, fmt::format("c{}", i), kClient);
  }
  for (int i = 0; i < 100; ++i) Add(fmt::format("h{}.good.test", i), 1e-9, 90, "good", kOther);
  EXPECT_NEAR(CrawlTicks(100, 100, 50, 1).at("good.test"), 50, 2);
}

// An operator's settings give a crawl id separate turns, whichever client added its pages.
TEST_F(ForcedPagesTest, OfACrawlIdThatAnOperatorHasSetSomethingForHaveTheirOwnTurns) {
  for (int i = 0; i < 500; ++i) Add(fmt::format("h.d{}.test", i), 1e-9, 1, fmt::format("c{}", i));
  SetCrawl set{.terms = {.record = {.crawl_id = "good"}}};
  set.terms.record.max_pages = 1000;
  (void)Apply(set, 1);
  for (int i = 0; i < 100; ++i) Add(fmt::format("h{}.good.test", i), 1e-9, 90, "good");
  EXPECT_NEAR(CrawlTicks(100, 100, 50, 1).at("good.test"), 50, 2);
}

TEST_F(ForcedPagesTest, GoOutHoweverManyCrawlIdsThereAre) {
  constexpr int kCrawlIds = 2 * static_cast<int>(ForcedPages::kMostLots);
  for (int i = 0; i < kCrawlIds; ++i) {
    Add(fmt::format("h.d{}.test", i), 0, 50, fmt::format("c{}", i), i % 2 == 0 ? kClient : kOther);
  }
  EXPECT_EQ(CrawlTicks(100, kCrawlIds, 1000, 1).size(), kCrawlIds);
}

// At a tick that is not for forced pages, a forced page competes like any other.
TEST_F(ForcedPagesTest, CompeteByTheirWorthOutOfTurn) {
  Add("a.late.test", 1000, 10);
  Add("b.late.test", 1, 5);
  Add("other.test", 10, 0);
  EXPECT_EQ(Crawl(100, false), "a.late.test");
  EXPECT_FALSE(was_forced_) << "it is worth most";
  EXPECT_EQ(Crawl(100.1, false), "other.test");
  EXPECT_EQ(Crawl(100.2, true), "b.late.test");
  EXPECT_TRUE(was_forced_);
}

TEST_F(ForcedPagesTest, SayWhenTheyAreOutOfTurn) {
  Add("a.test", 0, 10);
  const std::optional<Pick> pick = Take(100, false);
  ASSERT_TRUE(pick);
  EXPECT_TRUE(pick->out_of_turn);
  EXPECT_EQ(pick->forced.since, At(10));
  shard_.state().PutBack(pick->page);
  const std::optional<Pick> again = Take(100, true);
  ASSERT_TRUE(again) << "a page that is put back is forced as before";
  EXPECT_FALSE(again->out_of_turn);
  EXPECT_EQ(again->page, pick->page);
}

// Pages with a requested recheck wait for their turns, too.
TEST_F(ForcedPagesTest, AreThoseThatSomebodyAskedForAsWell) {
  for (int i = 0; i < 50; ++i) Add(fmt::format("h{}.good.test", i), 1000, 0);
  for (int i = 0; i < 50; ++i) {
    const std::string host = fmt::format("h{}.evil.test", i);
    Add(host, 1e-9, 0);
    Apply(RecheckPage{{"DEFAULT", "https://" + host + "/"}}, 1);
  }
  const std::map<std::string, int> crawls = CrawlTicks(100, 40, 50, 0.25);
  EXPECT_EQ(crawls.at("good.test"), 30);
  EXPECT_EQ(crawls.at("evil.test"), 10);
}

// Pages, politeness and crawl ids change in random order. No ineligible page is picked, and every
// late page is eventually picked.
TEST_F(ForcedPagesTest, AreNeverLostWhateverChanges) {
  Random random(4);
  constexpr int kHosts = 40;
  const auto host_of = [](uint64_t i) { return fmt::format("h{}.s{}.test", i, i % 7); };
  const auto crawl_of = [](uint64_t i) { return fmt::format("c{}", i % 3); };
  for (uint64_t i = 0; i < kHosts; ++i) Add(host_of(i), i % 3 == 0 ? 0 : 1, 5, crawl_of(i));
  ForcedShare share(0.25);
  std::map<std::string, double> last;
  for (int i = 1; i <= 4000; ++i) {
    const double at = 10 + i / 20.0;
    const uint64_t number = random.Below(kHosts);
    const std::string some = host_of(number);
    UpsertPage event{.key = {crawl_of(number), "https://" + some + "/"}, .host = some};
    switch (random.Below(8)) {
      case 0:
        event.importance = static_cast<double>(random.Below(3));
        event.max_interval = Duration::Seconds(5);
        (void)Apply(event, at);
        break;
      case 1:
        (void)Apply(RecheckPage{event.key}, at);
        break;
      case 2: {
        SetHost slow{.host = some};
        slow.min_delay = Duration::Millis(static_cast<int64_t>(random.Below(1000)));
        (void)Apply(slow, at);
        break;
      }
      case 3:
        (void)Apply(RemovePage{event.key}, at);
        Add(some, 1, 5, event.key.crawl_id);
        break;
      case 4: {
        SetCrawl set{.terms = {.record = {.crawl_id = event.key.crawl_id}}};
        set.terms.crawl_class = static_cast<CrawlClass>(random.Below(2) * (1 + number % 3));
        (void)Apply(set, at);
        break;
      }
      default:
        break;
    }
    const std::string host = Crawl(at, share.Next(1).front());
    if (!host.empty()) last[host] = at;
  }
  for (uint64_t i = 0; i < kHosts; ++i) EXPECT_GT(last[host_of(i)], 190) << host_of(i);
}

// Each crawl id with forced pages has a lot, an index that takes 30 KB. Clients can invent crawl
// ids, so the number of lots is limited.
TEST(ForcedPages, ShareOutLotsAndGiveThemBack) {
  HostGate gate{PolitenessDefaults()};
  CrawlTable crawls;
  ForcedPages forced(gate, &crawls);
  const HostId host = gate.Intern("a.test");
  const auto add = [&](uint32_t page, const std::string& crawl_id, uint64_t client) {
    const CrawlIndex crawl = *crawls.Intern(crawl_id);
    crawls.Own(crawl, client);
    crawls.Add(PageId(page), host, crawl, page + 1, /*placed=*/false);
    IndexEntry entry{.host = host};
    entry.forced_at = entry.eligible_from = At(1);
    forced.Put(PageId(page), entry);
  };
  constexpr uint32_t kPages = 1000;
  for (uint32_t i = 0; i < kPages; ++i) add(i, fmt::format("c{}", i), 77);
  EXPECT_EQ(forced.lots(), 1 + ForcedPages::kMostLots * 3 / 8) << "and one that the others share";
  add(kPages, "other", 79);
  EXPECT_EQ(forced.lots(), 2 + ForcedPages::kMostLots * 3 / 8);
  for (uint32_t i = 0; i <= kPages; ++i) forced.Remove(PageId(i));
  EXPECT_EQ(forced.lots(), 0);
  add(0, "again", 77);
  EXPECT_EQ(forced.lots(), 1);
}

// Previously, the removal of the last page of a crawl id with a million hosts stopped the shard for
// a second.
TEST(ForcedPages, ForgetTheHostsOfAnEmptyLotInManySteps) {
  HostGate gate{PolitenessDefaults()};
  ForcedPages forced(gate, nullptr);
  constexpr uint32_t kPages = 1000;
  const auto put = [&](uint32_t page) {
    IndexEntry entry{.host = gate.Intern(fmt::format("h{}.test", page))};
    entry.forced_at = entry.eligible_from = At(1);
    forced.Put(PageId(page), entry);
    return entry.host;
  };
  for (uint32_t i = 0; i < kPages; ++i) (void)put(i);
  EXPECT_EQ(forced.hosts(), kPages);
  for (uint32_t i = 0; i < kPages; ++i) forced.Remove(PageId(i));
  EXPECT_EQ(forced.lots(), 0U);
  EXPECT_GT(forced.hosts(), kPages * 9 / 10);
  // A host of the dropped lot can also be in the new lot.
  const HostId host = put(0);
  EXPECT_EQ(forced.lots(), 1U);
  forced.SetHostFree(host, At(10));
  EXPECT_FALSE(forced.Best(At(9), kAllClasses));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(forced.Best(At(10), kAllClasses));
  EXPECT_EQ(forced.hosts(), 1U);
  forced.SetHostFree(host, At(20));
  EXPECT_FALSE(forced.Best(At(19), kAllClasses));
  forced.Remove(PageId(0));
  EXPECT_EQ(forced.hosts(), 0U);
}

// Previously, each pick went through hundreds of hosts of the same busy domain.
TEST(ForcedPages, ADomainThatIsPassedOverIsNotPickedAtThatInstant) {
  HostGate gate{PolitenessDefaults(), nullptr, Duration::Seconds(300),
                [](std::string_view host) { return GroupId(host.ends_with("a.test") ? 1 : 2); }};
  ForcedPages forced(gate, nullptr);
  uint32_t pages = 0;
  const auto put = [&](const std::string& host) {
    IndexEntry entry{.host = gate.Intern(host)};
    entry.forced_at = entry.eligible_from = At(1);
    forced.Put(PageId(pages), entry);
    return PageId(pages++);
  };
  for (int i = 0; i < 10; ++i) (void)put(fmt::format("h{}.a.test", i));
  std::optional<ClassedPick> first = forced.Best(At(2), kAllClasses);
  ASSERT_TRUE(first);
  forced.PassOver(first->page, At(2));
  EXPECT_FALSE(forced.Best(At(2), kAllClasses));
  const PageId other = put("b.test");
  first = forced.Best(At(2), kAllClasses);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->page, other);
  forced.Remove(other);
  EXPECT_TRUE(forced.Best(At(3), kAllClasses)) << "the domain has its turn again";
}

TEST(ForcedShare, IsMetWithinOneTick) {
  for (const double share : {0.0, 0.1, 0.25, 0.5, 0.75, 1.0}) {
    ForcedShare forced(share);
    double count = 0;
    for (int i = 1; i <= 1000; ++i) {
      count += forced.Next(1).front() ? 1 : 0;
      EXPECT_NEAR(count, share * i, 1) << share << " after " << i;
    }
  }
}

}  // namespace
}  // namespace freshet
