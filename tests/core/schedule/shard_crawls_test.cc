// Tests crawl ids: their settings and counts, and the deletion of crawl ids and hosts.
#include <map>
#include <set>

#include "core/base/limits.h"
#include "core/base/url.h"
#include "core/schedule/crawl_book.h"
#include "core/schedule/host_book.h"
#include "core/schedule/page_book.h"
#include "core/schedule/page_to_load.h"
#include "core/schedule/pick.h"
#include "core/schedule/shard_loading.h"
#include "tests/core/schedule/shard_cycle.h"

namespace freshet {
namespace {

using testing::HasSubstr;

class ShardCrawlsTest : public ShardCycleTest {
 protected:
  static UpsertPage PageOf(const std::string& crawl_id, int i, const std::string& host) {
    return {.key = {crawl_id, "https://" + host + "/" + std::to_string(i)}, .host = host};
  }
  void AddPages(const std::string& crawl_id, int count, const std::string& host, double at) {
    std::vector<Event> events;
    for (int i = 0; i < count; ++i) events.emplace_back(PageOf(crawl_id, i, host));
    for (const Reply& reply : shard_.Apply(events, At(at))) {
      ASSERT_EQ(reply.disposition, Disposition::kCreated) << reply.status;
    }
  }
  static SetCrawl Set(const CrawlRecord& record, CrawlClass crawl_class = 0) {
    SetCrawl event{.terms = {.record = record, .crawl_class = crawl_class, .quota = nullptr}};
    if (record.max_pages) {
      event.terms.quota = std::make_shared<Quota>();
      event.terms.quota->SetMost(*record.max_pages);
    }
    return event;
  }
  // Runs the timers at short intervals for `seconds`.
  void RunFor(double from, double seconds) {
    for (double at = from; at < from + seconds; at += 0.011) shard_.RunTimers(At(at));
  }
  std::map<std::string, CrawlCounters> Crawls() {
    std::map<std::string, CrawlCounters> crawls;
    for (const CrawlStatus& crawl : shard_.state().crawls().Statuses()) {
      crawls[crawl.crawl_id] = crawl.counters;
    }
    return crawls;
  }
};

// Previously, listing a few of 65,535 names took a shard as long as listing all.
TEST_F(ShardCrawlsTest, ListsSomeByName) {
  for (const char* crawl_id : {"d", "b", "e", "a", "c"}) AddPages(crawl_id, 1, "a.test", 0);
  const auto names = [this](std::string_view after, size_t most) {
    std::string names;
    for (const auto& crawl : shard_.state().crawls().Statuses(after, most)) names += crawl.crawl_id;
    return names;
  };
  EXPECT_EQ(names("", 10), "abcde");
  EXPECT_EQ(names("", 2), "ab");
  EXPECT_EQ(names("b", 2), "cd");
  EXPECT_EQ(names("bb", 1), "c");
  EXPECT_EQ(names("e", 1), "");
  EXPECT_EQ(names("", 0), "");
  const auto crawl = shard_.state().crawls().StatusOf("c");
  ASSERT_TRUE(crawl);
  EXPECT_EQ(crawl->crawl_id, "c");
  EXPECT_EQ(crawl->counters.pages, 1U);
  EXPECT_FALSE(shard_.state().crawls().StatusOf("f"));
}

TEST_F(ShardCrawlsTest, CountsWhatHappensToTheirPages) {
  AddPages("shop", 3, "a.test", 0);
  AddPages("shop", 2, "b.test", 0);
  AddPages("news", 2, "b.test", 0);
  const auto assignment = Next(10);
  ASSERT_TRUE(assignment);
  const std::string crawl_id = assignment->key.crawl_id;
  EXPECT_EQ(Crawls()[crawl_id].out, 1U);
  EXPECT_EQ(Crawls()[crawl_id].assignments, 1U);
  Apply(Result(*assignment, CrawlOutcome::kChanged, At(11)), 11);
  ReportCrawl failed{.key = PageOf("news", 1, "b.test").key, .fetched = At(12)};
  failed.outcome = CrawlOutcome::kError;
  Apply(failed, 12);
  const auto crawls = Crawls();
  EXPECT_EQ(crawls.at(crawl_id).out, 0U);
  EXPECT_EQ(crawls.at(crawl_id).crawls, 1U);
  EXPECT_EQ(crawls.at(crawl_id).changes, 0U) << "the first crawl has nothing to compare with";
  EXPECT_EQ(crawls.at("news").errors, 1U);
  EXPECT_EQ(crawls.at("shop").pages, 5U);
  EXPECT_EQ(crawls.at("shop").hosts, 2U);
  EXPECT_EQ(crawls.at("news").hosts, 1U);
}

TEST_F(ShardCrawlsTest, PagesOfAShadowAreNotPickedUntilItIsNone) {
  AddPages("shop", 3, "a.test", 0);
  AddPages("news", 2, "b.test", 0);
  SetCrawl shadow = Set({.crawl_id = "shop"});
  shadow.terms.shadow = true;
  Apply(shadow, 1);
  Apply(PageOf("shop", 3, "a.test"), 2);
  Apply(RecheckPage{PageOf("shop", 0, "a.test").key}, 2);
  const auto take = [this](double at) {
    std::multiset<std::string> taken;
    for (double end = at + 20; at < end; ++at) {
      if (const auto assignment = Next(at)) taken.insert(assignment->key.crawl_id);
    }
    return taken;
  };
  EXPECT_EQ(take(10), (std::multiset<std::string>{"news", "news"}));
  // Results are still accepted.
  ReportCrawl report{.key = PageOf("shop", 1, "a.test").key, .fetched = At(40)};
  report.outcome = CrawlOutcome::kChanged;
  EXPECT_TRUE(Apply(report, 40).status.ok());
  EXPECT_EQ(Crawls()["shop"].crawls, 1U);
  // Without shadow mode the pages are filed again.
  shadow.terms.shadow = false;
  Apply(shadow, 50);
  for (int i = 0; i < 4; ++i) {
    std::vector<PageNumber> numbers;
    shard_.state().pages().FindNumbers(PageOf("shop", i, "a.test").key, &numbers);
    for (const PageNumber number : numbers) Apply(Reestimate{number}, 51);
  }
  EXPECT_EQ(take(60).count("shop"), 4U);
}

TEST_F(ShardCrawlsTest, RefusesThePageAfterTheLastThatACrawlIdMayHave) {
  AddPages("shop", 2, "a.test", 0);
  Apply(Set({.crawl_id = "shop", .max_pages = 3}), 1);
  // The maximum includes existing pages. A batch cannot exceed it either.
  const std::vector<Event> events = {PageOf("shop", 2, "a.test"), PageOf("shop", 3, "a.test"),
                                     PageOf("other", 3, "a.test")};
  const auto replies = shard_.Apply(events, At(2));
  EXPECT_EQ(replies[0].disposition, Disposition::kCreated);
  EXPECT_TRUE(absl::IsResourceExhausted(replies[1].status));
  EXPECT_THAT(std::string(replies[1].status.message()),
              HasSubstr("shop already has 3 pages, the maximum"));
  EXPECT_EQ(replies[2].disposition, Disposition::kCreated);
  // Existing pages can still change.
  UpsertPage change = PageOf("shop", 0, "a.test");
  change.importance = 9;
  EXPECT_TRUE(Apply(change, 3).status.ok());
  // A removed page frees a place for another.
  Apply(RemovePage{PageOf("shop", 0, "a.test").key}, 4);
  EXPECT_EQ(Apply(PageOf("shop", 4, "a.test"), 5).disposition, Disposition::kCreated);
  EXPECT_TRUE(absl::IsResourceExhausted(Apply(PageOf("shop", 5, "a.test"), 6).status));
}

TEST_F(ShardCrawlsTest, PlacesOfABatchThatIsNotCommittedComeBack) {
  SetCrawl set = Set({.crawl_id = "shop", .max_pages = 1});
  Apply(set, 0);
  {
    Transaction refused;
    EXPECT_EQ(shard_.state().Step(PageOf("shop", 0, "a.test"), At(1), refused).disposition,
              Disposition::kCreated);
    EXPECT_TRUE(absl::IsResourceExhausted(
        shard_.state().Step(PageOf("shop", 1, "a.test"), At(1), refused).status));
  }
  EXPECT_EQ(Apply(PageOf("shop", 2, "a.test"), 2).disposition, Disposition::kCreated);
}

TEST_F(ShardCrawlsTest, DeletesACrawlIdInSlicesAndTellsWhenItIsEmpty) {
  AddPages("shop", 1000, "a.test", 0);
  AddPages("shop", 1000, "b.test", 0);
  AddPages("news", 1000, "b.test", 0);
  Apply(Set({.crawl_id = "shop", .deleting = true}), 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(Apply(PageOf("shop", 7777, "a.test"), 1).status));
  EXPECT_TRUE(absl::IsFailedPrecondition(Apply(PageOf("shop", 7, "a.test"), 1).status));
  // Each run of the timers removes at most one slice, and the next slice waits a while.
  uint64_t before = 2000;
  shard_.RunTimers(At(2));
  shard_.RunTimers(At(2));
  EXPECT_EQ(Crawls()["shop"].pages, before - limits::kDeletionSlice);
  EXPECT_TRUE(shard_.state().TakeCrawlNews().emptied.empty());
  RunFor(3, 1);
  EXPECT_EQ(Crawls()["shop"].pages, 0U);
  EXPECT_THAT(shard_.state().TakeCrawlNews().emptied, testing::ElementsAre("shop"));
  EXPECT_EQ(Crawls()["news"].pages, 1000U);
  EXPECT_EQ(counters().hosts, 1U);  // a.test was forgotten with its last page
  // The crawl id accepts no pages until ForgetCrawl.
  EXPECT_TRUE(absl::IsFailedPrecondition(Apply(PageOf("shop", 1, "a.test"), 5).status));
  Apply(ForgetCrawl{.crawl_id = "shop"}, 6);
  EXPECT_EQ(Crawls().count("shop"), 0U);
  EXPECT_EQ(Apply(PageOf("shop", 1, "a.test"), 7).disposition, Disposition::kCreated);
  shard_.RunTimers(At(7));
  EXPECT_GT(shard_.state().next_timer(), At(7));
}

TEST_F(ShardCrawlsTest, APageThatIsOutWhenItIsDeletedKeepsItsHostBusyUntilItIsAnswered) {
  shard_.state().SetPoliteness({.max_in_flight = 1});
  AddPages("shop", 1, "a.test", 0);
  AddPages("news", 1, "a.test", 0);
  const auto assignment = Next(1);
  ASSERT_TRUE(assignment);
  Apply(Set({.crawl_id = assignment->key.crawl_id, .deleting = true}), 2);
  RunFor(3, 1);
  EXPECT_EQ(Crawls()[assignment->key.crawl_id].pages, 0U);
  EXPECT_EQ(Crawls()[assignment->key.crawl_id].out, 0U);
  EXPECT_FALSE(Next(5));
  Apply(Result(*assignment, CrawlOutcome::kUnchanged, At(6)), 6);
  EXPECT_TRUE(Next(7));
}

TEST_F(ShardCrawlsTest, AStoredDeletionGoesOnAfterAStart) {
  ShardState state{ShardOptions()};
  ASSERT_TRUE(state.loading()
                  .LoadCrawl({.record = {.crawl_id = "shop", .deleting = true}, .quota = nullptr})
                  .ok());
  const HostId host = state.loading().LoadHost({.host = "a.test"});
  PageToLoad page = state.loading().PrepareLoad(MakePageNumber(SlotOfHost("a.test"), 1), 7, host,
                                                PageSpec(), PageState());
  page.crawl = *state.loading().InternCrawl("shop");
  ASSERT_TRUE(state.loading().LoadPages({&page, 1}).ok());
  state.loading().FinishLoad();
  ASSERT_LE(state.next_timer(), kStart);
  std::vector<Event> events;
  state.TakeDueTimers(kStart, 100, &events);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<RemoveDeleted>(events[0]).page, page.number);
}

TEST_F(ShardCrawlsTest, DeletesAHostWithItsSettingsAndKeepsWhatItAskedFor) {
  AddPages("shop", 500, "a.test", 0);
  AddPages("news", 500, "a.test", 0);
  AddPages("news", 5, "b.test", 0);
  SetHost limits{.host = "a.test"};
  limits.min_delay.emplace(Duration::Seconds(7));
  limits.blocked_until = At(100);
  Apply(limits, 1);
  EXPECT_TRUE(absl::IsNotFound(Apply(DeleteHost{"c.test"}, 2).status));
  EXPECT_TRUE(Apply(DeleteHost{"a.test"}, 2).status.ok());
  const Reply refused = Apply(PageOf("shop", 7777, "a.test"), 2);
  EXPECT_THAT(std::string(refused.status.message()), HasSubstr("host: a.test is being deleted"));
  EXPECT_EQ(shard_.state().hosts().Describe("a.test", At(0))->pages, 1000U);
  RunFor(3, 1);
  const auto host = shard_.state().hosts().Describe("a.test", At(0));
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(host->pages, 0U);
  EXPECT_EQ(host->record, (HostRecord{.host = "a.test", .blocked_until = At(100)}));
  EXPECT_EQ(Crawls()["news"].pages, 5U);
  RunFor(101, 0.1);
  EXPECT_TRUE(absl::IsNotFound(shard_.state().hosts().Describe("a.test", At(0)).status()));
  EXPECT_EQ(Apply(PageOf("shop", 1, "a.test"), 110).disposition, Disposition::kCreated);
}

TEST_F(ShardCrawlsTest, ListsHostsBySearchAPartAtATime) {
  for (int i = 0; i < 50; ++i) AddPages("shop", 1, "h" + std::to_string(i) + ".one.test", 0);
  for (int i = 0; i < 50; ++i) AddPages("shop", 2, "h" + std::to_string(i) + ".two.test", 0);
  const auto list = [this](const HostQuery& query, size_t most) {
    std::set<std::string> names;
    for (uint32_t next = 0; next < shard_.state().hosts().gate.id_limit();) {
      std::vector<HostStatus> hosts;
      next = shard_.state().hosts().List(query, next, most, At(0), &hosts);
      EXPECT_LE(hosts.size(), most);
      for (const HostStatus& host : hosts) EXPECT_TRUE(names.insert(host.record.host).second);
    }
    return names;
  };
  EXPECT_EQ(list({}, 7).size(), 100U);
  EXPECT_EQ(list({.prefix = "h1"}, 7).size(), 22U);
  EXPECT_EQ(list({.part = "two"}, 1000).size(), 50U);
  EXPECT_EQ(list({.prefix = "h3.", .part = "one"}, 3), std::set<std::string>{"h3.one.test"});
}

TEST_F(ShardCrawlsTest, AHostFollowsTheStrictestOfItsCrawlIds) {
  shard_.state().SetPoliteness({.min_delay = Duration::Seconds(2), .max_in_flight = 4});
  Apply(Set({.crawl_id = "quick", .min_delay = Duration::Millis(100), .max_in_flight = 9}), 0);
  Apply(Set({.crawl_id = "slow", .min_delay = Duration::Seconds(30)}), 0);
  const auto defaults = [this](const std::string& host) {
    shard_.RunTimers(At(1));
    return shard_.state().hosts().Describe(host, At(1))->terms;
  };
  AddPages("quick", 1, "a.test", 1);
  EXPECT_EQ(defaults("a.test").min_delay.value, Duration::Millis(100));
  EXPECT_EQ(defaults("a.test").max_in_flight.value, 9U);
  AddPages("plain", 1, "a.test", 1);
  EXPECT_EQ(defaults("a.test").min_delay.value, Duration::Seconds(2));
  EXPECT_EQ(defaults("a.test").max_in_flight.value, 4U);
  AddPages("slow", 1, "a.test", 1);
  EXPECT_EQ(defaults("a.test").min_delay.value, Duration::Seconds(30));
  Apply(RemovePage{PageOf("slow", 0, "a.test").key}, 1);
  EXPECT_EQ(defaults("a.test").min_delay.value, Duration::Seconds(2));
  Apply(RemovePage{PageOf("plain", 0, "a.test").key}, 1);
  EXPECT_EQ(defaults("a.test").min_delay.value, Duration::Millis(100));
  Apply(ForgetCrawl{.crawl_id = "quick"}, 1);
  EXPECT_EQ(defaults("a.test").min_delay.value, Duration::Seconds(2));
}

TEST_F(ShardCrawlsTest, TheIntervalOfItsPagesHolds) {
  Apply(Set({.crawl_id = "slow", .min_page_interval = Duration::Hours(1)}), 0);
  for (const char* crawl_id : {"slow", "plain"}) {
    UpsertPage page = PageOf(crawl_id, 0, std::string(crawl_id) + ".test");
    page.last_crawl = At(0);
    page.known_change_rate = Rate::PerSecond(1);
    Apply(page, 0);
  }
  const auto first = Next(600);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->key.crawl_id, "plain");
  EXPECT_FALSE(Next(600));
  const auto second = Next(3601);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->key.crawl_id, "slow");
}

// A share is set and removed while some pages are leased, some wait, and others are added. The
// pages change their class, and none is lost.
TEST_F(ShardCrawlsTest, PagesFollowTheClassOfTheirCrawlId) {
  AddPages("shop", 5000, "a.test", 0);
  AddPages("news", 5000, "a.test", 0);
  const auto out = Next(1);
  ASSERT_TRUE(out);
  for (const CrawlClass crawl_class : {CrawlClass{2}, CrawlClass{0}, CrawlClass{2}}) {
    Apply(Set({.crawl_id = "shop", .share = 0.5}, crawl_class), 2);
    AddPages("shop", 0, "a.test", 2);
    for (int i = 0; i < 20; ++i) shard_.RunTimers(At(2));
    const auto pick = shard_.state().Take(At(3), SetOf(2));
    EXPECT_EQ(pick.has_value(), crawl_class == 2);
    if (pick) shard_.state().PutBack(pick->page);
    const auto common = shard_.state().Take(At(3), SetOf(0));
    ASSERT_TRUE(common);
    EXPECT_EQ(common->crawl_class, 0);
    shard_.state().PutBack(common->page);
  }
  Apply(Result(*out, CrawlOutcome::kChanged, At(4)), 4);
  std::set<std::string> urls;
  for (int i = 0; i < 10'000; ++i) {
    const auto next = Next(5);
    ASSERT_TRUE(next) << i;
    urls.insert(next->key.crawl_id + next->key.url);
  }
  EXPECT_EQ(urls.size(), 10'000U);
}

// If a client invents crawl ids, places remain for other clients, and for crawl ids that are named
// in limits.
TEST_F(ShardCrawlsTest, OneClientDoesNotUseUpTheTable) {
  const auto add = [this](const Claim& claim, const std::string& crawl_id, double at) {
    UpsertPage page = PageOf(crawl_id, 0, "a.test");
    page.claim = claim;
    return Apply(page, at);
  };
  uint64_t made = 0;
  for (uint64_t asked = 0; asked < limits::kMaxCrawls; asked += 1000) {
    std::vector<Event> events;
    for (int i = 0; i < 1000; ++i) {
      events.emplace_back(PageOf("made" + std::to_string(made + events.size()), 0, "evil.test"));
      std::get<UpsertPage>(events.back()).claim.client = 1;
    }
    for (const Reply& reply : shard_.Apply(events, At(1))) {
      if (reply.disposition == Disposition::kCreated) {
        ++made;
        continue;
      }
      EXPECT_TRUE(absl::IsResourceExhausted(reply.status)) << reply.status;
      EXPECT_THAT(std::string(reply.status.message()),
                  HasSubstr("crawl ids, the maximum for one client while"));
    }
  }
  const uint64_t usual = limits::kMaxCrawls - limits::kMaxCrawls / 4;
  EXPECT_EQ(made, (usual - usual / 4 + 1) / 2);
  EXPECT_EQ(add({.client = 2}, "honest", 2).disposition, Disposition::kCreated);
  EXPECT_EQ(add({.client = 1, .named = true}, "of_its_limits", 2).disposition,
            Disposition::kCreated);
  EXPECT_EQ(add({}, "of_an_operator", 2).disposition, Disposition::kCreated);
  // A known crawl id needs no new place, and a forgotten one frees its place.
  EXPECT_EQ(add({.client = 1}, "honest", 3).disposition, Disposition::kApplied);
  EXPECT_EQ(add({.client = 1}, "another", 3).disposition, Disposition::kRefused);
  for (const char* crawl_id : {"made0", "made1", "made2", "made3"}) {
    Apply(RemovePage{.key = PageOf(crawl_id, 0, "evil.test").key, .as_sent = std::nullopt}, 4);
  }
  EXPECT_EQ(add({.client = 1}, "another", 5).disposition, Disposition::kCreated);
}

}  // namespace
}  // namespace freshet
