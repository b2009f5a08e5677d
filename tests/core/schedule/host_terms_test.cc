// Tests caps and hours of hosts, crawl delays and addresses that workers report, and pages that
// robots.txt forbids. Random runs are compared with lists of assignments.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/schedule/crawl_book.h"
#include "core/schedule/explanation.h"
#include "core/schedule/host_book.h"
#include "core/schedule/host_gate.h"
#include "core/schedule/shard_state.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/common/memory_shard.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

using testing::HasSubstr;

constexpr Duration kTermLease = Duration::Seconds(600);
// A midnight, in seconds since kStart.
constexpr double kMidnight = 6400;
static_assert((kStart.micros() / 1'000'000 + static_cast<int64_t>(kMidnight)) % 86400 == 0);

// Returns the largest number of `times` (rising) in any window (t - per, t].
size_t MostInWindow(const std::vector<Instant>& times, Duration per) {
  size_t most = 0;
  size_t first = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    while (times[first] + per <= times[i]) ++first;
    most = std::max(most, i - first + 1);
  }
  return most;
}

std::shared_ptr<const HostRules> RulesOf(std::vector<HostRule> rules, GroupTerms by_address = {}) {
  return *HostRules::Make(std::move(rules), {.by_address = by_address});
}

// Picks are put back or become leases. After a kill, only what was committed remains.
TEST(HostTerms, ACapHoldsInEveryWindowWhateverHappens) {
  std::mt19937_64 random(11);
  for (int run = 0; run < 60; ++run) {
    const CrawlCap cap = {.count = static_cast<uint32_t>(1 + random() % 12),
                          .per = Duration::Seconds(static_cast<int64_t>(20 + random() % 2000))};
    const DayHours hours = random() % 2 == 0 ? DayHours() : *ParseDayHours("23:00-05:00+01:00");
    const auto rules =
        RulesOf({{.name = "capped", .suffix = "test", .max_crawls = cap, .hours = hours}});
    const auto fresh = [&] { return std::make_unique<HostGate>(PolitenessDefaults(), rules); };
    auto gate = fresh();
    HostRecord stored = {.host = "a.test"};
    HostId host = gate->Put(stored);
    std::vector<Instant> out;
    std::vector<Instant> picks;
    Instant now = At(kMidnight + 79'000);  // minutes before the hours begin
    for (int i = 0; i < 4000; ++i) {
      now = now + Duration::Millis(static_cast<int64_t>(random() % 20'000));
      gate->Hear(now);
      const uint64_t dice = random() % 10;
      if (dice < 6 && gate->FreeAt(host) <= now) {
        ASSERT_TRUE(hours.Has(now));
        gate->Pick(host, now);
        picks.push_back(now);
      } else if (!picks.empty() && dice == 6) {
        gate->PutBack(host);
        picks.pop_back();
      } else if (!picks.empty() && dice >= 7) {
        CountCrawl(cap, picks.front(), &stored.recent_crawls);
        gate->Put(stored);
        gate->OpenLease(host, picks.front());
        gate->EndLease(host);
        out.push_back(picks.front());
        picks.erase(picks.begin());
      }
      if (random() % 100 == 0) {
        gate = fresh();
        host = gate->Put(stored);
        picks.clear();
      }
    }
    std::sort(out.begin(), out.end());
    EXPECT_GT(out.size(), cap.count) << run;
    ASSERT_LE(MostInWindow(out, cap.per), cap.count) << run;
  }
}

class HostTermsTest : public testing::Test {
 protected:
  void Start(const ShardOptions& options) { shard_ = std::make_unique<MemoryShard>(options); }
  void Add(const std::string& url, double at = 0) {
    UpsertPage event{.key = {"DEFAULT", "http://" + url}, .host = url.substr(0, url.find('/'))};
    ASSERT_TRUE(Apply(event, at).status.ok());
  }
  Reply Apply(const Event& event, double at) { return shard_->Apply(event, At(at)); }
  std::optional<Assignment> Next(double at) { return shard_->Next(At(at), kTermLease, "w"); }
  Reply Report(const Assignment& assignment, double at, CrawlOutcome outcome) {
    ReportCrawl report{.lease = assignment.lease, .fetched = At(at)};
    report.outcome = outcome;
    return Apply(report, at);
  }
  HostStatus Host(const std::string& host, double at = 0) {
    return *shard_->state().hosts().Describe(host, At(at));
  }
  Explanation Explain(const std::string& url, double at) {
    return shard_->state().Explain(*shard_->Find({"DEFAULT", "http://" + url}), At(at));
  }

  std::unique_ptr<MemoryShard> shard_;
};

TEST_F(HostTermsTest, ARuleIsToldOfAHostWithoutPages) {
  ShardOptions options;
  options.host_rules = RulesOf({{.name = "slow",
                                 .suffix = "slow.test",
                                 .min_delay = Duration::Seconds(7),
                                 .group = GroupTerms{.min_delay = Duration::Seconds(2)}}});
  Start(options);
  const HostStatus status = Host("www.slow.test");
  EXPECT_EQ(status.record.host, "www.slow.test");
  EXPECT_EQ(status.rule, "slow");
  EXPECT_EQ(status.terms.min_delay.value, Duration::Seconds(7));
  EXPECT_EQ(status.terms.min_delay.origin, TermOrigin::kRule);
  ASSERT_NE(status.group, nullptr);
  EXPECT_EQ(status.group->terms.min_delay, Duration::Seconds(2));
  EXPECT_EQ(status.pages, 0U);
  // Asking for a host does not create it. A host without a matching rule is unknown.
  EXPECT_TRUE(absl::IsNotFound(shard_->state().hosts().Describe("fast.test", At(0)).status()));
  Add("www.slow.test/1");
  EXPECT_EQ(Host("www.slow.test").pages, 1U);
  EXPECT_EQ(Host("www.slow.test").terms, status.terms);
}

// Tests the whole cycle: workers report, return pages or never answer, hosts have a cap or none,
// and hours end while pages are ready.
TEST_F(HostTermsTest, NoHostGetsMoreThanItsCapNorOutsideItsHours) {
  const CrawlCap cap = {.count = 5, .per = Duration::Hours(1)};
  const DayHours hours = *ParseDayHours("02:00-02:30");
  ShardOptions options;
  options.host_rules =
      RulesOf({{.name = "capped", .hosts = {"a.test", "b.test"}, .max_crawls = cap},
               {.name = "night", .hosts = {"n.test"}, .hours = hours},
               {.name = "both",
                .hosts = {"c.test"},
                .max_crawls = CrawlCap{.count = 9, .per = Duration::Hours(1)},
                .hours = hours}});
  Start(options);
  for (const char* host : {"a.test", "b.test", "n.test", "c.test", "free.test"}) {
    for (int i = 0; i < 50; ++i) Add(std::string(host) + "/" + std::to_string(i));
  }
  std::mt19937_64 random(5);
  std::map<std::string, std::vector<Instant>> assigned;
  std::vector<Assignment> open;
  double now = 1;
  while (now < 4 * 86400) {
    now += static_cast<double>(random() % 60) + 0.25;
    if (random() % 50 == 0) shard_->RunTimers(At(now));
    for (uint64_t burst = random() % 6; burst > 0; --burst) {
      const std::optional<Assignment> next = Next(now);
      if (!next) break;
      assigned[next->host].push_back(next->at);
      open.push_back(*next);
    }
    while (!open.empty() && random() % 4 != 0) {
      const Assignment last = open.back();
      open.pop_back();
      if (random() % 5 == 0) Apply(ReturnLease{last.lease}, now);
      if (random() % 5 != 0) Report(last, now, CrawlOutcome::kUnchanged);
    }
  }
  for (const char* host : {"a.test", "b.test"}) {
    EXPECT_EQ(MostInWindow(assigned[host], cap.per), cap.count) << host;
    EXPECT_GT(assigned[host].size(), 4 * 24 * 5 * 16 / 17 / 2U) << host;
  }
  for (const char* host : {"n.test", "c.test"}) {
    EXPECT_GT(assigned[host].size(), 20U) << host;
    for (const Instant at : assigned[host]) ASSERT_TRUE(hours.Has(at)) << host;
  }
  EXPECT_EQ(MostInWindow(assigned["c.test"], cap.per), 9U);
  EXPECT_GT(assigned["free.test"].size(), 5000U);
}

// A cap limits assignments, not pages in flight. So more pages are assigned although all earlier
// leases are still open.
TEST_F(HostTermsTest, ACapIsUsedUpWhileAllIsStillOut) {
  ShardOptions options;
  options.politeness.max_crawls = {.count = 3, .per = Duration::Seconds(100)};
  Start(options);
  for (int i = 0; i < 20; ++i) Add("a.test/" + std::to_string(i));
  for (const double at : {10, 110, 210}) {
    EXPECT_FALSE(at > 10 && Next(at - 0.001));
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(Next(at)) << at << " " << i;
    EXPECT_FALSE(Next(at));
  }
}

// When the hours of very many hosts end at once, the shard closes a part of the hosts at a time.
// Meanwhile no page is handed out.
TEST_F(HostTermsTest, ManyHostsCloseTogether) {
  ShardOptions options;
  options.politeness.hours = *ParseDayHours("00:00-01:00");
  Start(options);
  constexpr int kHosts = 10'000;
  double now = kMidnight;
  for (int i = 0; i < kHosts; ++i) Add("h" + std::to_string(i) + ".test/", now);
  ASSERT_TRUE(Next(now));
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(Next(now + 3600));
  EXPECT_FALSE(Next(now + 86399.9));
  for (int i = 1; i < 1000; ++i) ASSERT_TRUE(Next(now + 86400)) << i;
  EXPECT_FALSE(Next(now + 86400 + 3600));
}

TEST_F(HostTermsTest, ExplanationsSayWhichTermAHostWaitsFor) {
  ShardOptions options;
  options.host_rules =
      RulesOf({{.name = "night", .suffix = "night.test", .hours = *ParseDayHours("02:00-03:00")},
               {.name = "capped",
                .hosts = {"c.test"},
                .max_crawls = CrawlCap{.count = 1, .per = Duration::Hours(1)}}});
  Start(options);
  Add("a.night.test/1");
  EXPECT_FALSE(Next(10)) << "its first page comes outside its hours";
  EXPECT_THAT(Explain("a.night.test/1", 100).why, HasSubstr("only in the hours 02:00-03:00"));
  EXPECT_EQ(Explain("a.night.test/1", 100).verdict, Verdict::kHostBusy);
  const double two = kMidnight + 7200;
  EXPECT_EQ(Explain("a.night.test/1", 100).next_crawl, At(two));
  EXPECT_FALSE(Next(two - 0.001));
  ASSERT_TRUE(Next(two));
  const double later = two + 100;
  Add("c.test/1", later);
  Add("c.test/2", later);
  const auto one = Next(later);
  ASSERT_TRUE(one);
  Report(*one, later, CrawlOutcome::kUnchanged);
  EXPECT_FALSE(Next(later + 100));
  const std::string other = one->key.url == "http://c.test/1" ? "c.test/2" : "c.test/1";
  EXPECT_THAT(Explain(other, later + 100).why, HasSubstr("has had 1 crawl within 3600 s"));
  EXPECT_FALSE(Next(later + 3599));
  EXPECT_TRUE(Next(later + 3600));
}

TEST_F(HostTermsTest, TermsOfTheHostGoBeforeItsRule) {
  ShardOptions options;
  options.host_rules =
      RulesOf({{.name = "night", .suffix = "test", .hours = *ParseDayHours("02:00-03:00")}});
  Start(options);
  Add("a.test/1");
  EXPECT_FALSE(Next(10));
  SetHost set{.host = "a.test"};
  set.hours.emplace(DayHours());
  set.max_crawls.emplace(CrawlCap{.count = 1, .per = Duration::Days(1)});
  Apply(set, 20);
  EXPECT_EQ(Host("a.test").terms.hours.origin, TermOrigin::kHost);
  EXPECT_EQ(Host("a.test").rule, "night");
  ASSERT_TRUE(Next(20));
  EXPECT_EQ(Host("a.test").record.recent_crawls.size(), 1U);
  set.hours.emplace();
  set.max_crawls.emplace();
  Apply(set, 20);
  EXPECT_EQ(Host("a.test").terms.hours.origin, TermOrigin::kRule);
  EXPECT_EQ(Host("a.test", 30).allowed_at, At(kMidnight + 7200));
}

TEST_F(HostTermsTest, ACrawlDelayHoldsUntilAnotherIsReported) {
  ShardOptions options;
  options.politeness.min_delay = Duration::Seconds(2);
  options.max_crawl_delay = Duration::Seconds(100);
  Start(options);
  for (int i = 0; i < 9; ++i) Add("a.test/" + std::to_string(i));
  const auto fetch = [&](double at, std::optional<Duration> delay) {
    const std::optional<Assignment> next = Next(at);
    ASSERT_TRUE(next) << at;
    ReportCrawl report{.lease = next->lease, .fetched = At(at)};
    report.outcome = CrawlOutcome::kUnchanged;
    report.crawl_delay = delay;
    ASSERT_TRUE(Apply(report, at).status.ok());
  };
  fetch(10, Duration::Seconds(30));
  EXPECT_FALSE(Next(39.9));
  fetch(40, std::nullopt);
  EXPECT_FALSE(Next(69.9)) << "what is not said again still holds";
  EXPECT_EQ(Host("a.test").terms.min_delay.origin, TermOrigin::kReported);
  fetch(70, Duration::Seconds(1));
  EXPECT_EQ(Host("a.test").terms.min_delay.origin, TermOrigin::kDefault);
  fetch(72, Duration::Days(366));
  EXPECT_EQ(Host("a.test").record.crawl_delay, Duration::Days(366));
  EXPECT_FALSE(Next(171.9));
  fetch(172, Duration());
  EXPECT_EQ(Host("a.test").record.crawl_delay, Duration());
  fetch(174, std::nullopt);
}

TEST_F(HostTermsTest, AReportedAddressPutsAHostIntoItsGroup) {
  ShardOptions options;
  options.host_rules = RulesOf({}, {.max_in_flight = 3});
  Start(options);
  Add("a.test/1");
  const auto next = Next(10);
  ASSERT_TRUE(next);
  EXPECT_EQ(Host("a.test").group, nullptr);
  ReportCrawl report{.lease = next->lease, .fetched = At(10)};
  report.outcome = CrawlOutcome::kError;
  report.address = *ParseIpAddress("192.0.2.7");
  Apply(report, 10);
  ASSERT_NE(Host("a.test").group, nullptr);
  EXPECT_EQ(Host("a.test").group->name, "address 192.0.2.7");
}

// The worker did not fetch the page, so the server learns nothing. Only a recheck shortens the
// wait.
TEST_F(HostTermsTest, AForbiddenPageWaitsLong) {
  ShardOptions options;
  options.robots_backoff = Duration::Hours(10);
  options.max_robots_backoff = Duration::Hours(30);
  Start(options);
  Add("a.test/1");
  double now = 10;
  const auto deny = [&] {
    const std::optional<Assignment> next = Next(now);
    ASSERT_TRUE(next) << now;
    const Reply reply = Report(*next, now, CrawlOutcome::kRobotsDenied);
    EXPECT_EQ(reply.outcome, CrawlOutcome::kRobotsDenied);
  };
  const PageRecord before = *shard_->Find({"DEFAULT", "http://a.test/1"});
  for (const double wait : {10, 20, 30, 30}) {
    deny();
    EXPECT_THAT(Explain("a.test/1", now + 1).why,
                HasSubstr("robots.txt of its host forbids the page"));
    EXPECT_EQ(Explain("a.test/1", now + 1).verdict, Verdict::kTooEarly);
    SignalChange signal{.key = {"DEFAULT", "http://a.test/1"}};
    Apply(signal, now + 1);
    now += wait * 3600;
    EXPECT_FALSE(Next(now - 1));
  }
  deny();
  Apply(RecheckPage{.key = {"DEFAULT", "http://a.test/1"}}, now + 10);
  now += 10;
  deny();
  EXPECT_FALSE(Next(now + 1000));
  const PageRecord after = *shard_->Find({"DEFAULT", "http://a.test/1"});
  EXPECT_EQ(after.detail.statistics, before.detail.statistics);
  EXPECT_EQ(after.detail.denials, 6);
  EXPECT_FALSE(after.state.gone);
  EXPECT_EQ(after.state.errors, 0);
  EXPECT_EQ(shard_->state().counters().robots_denied, 6U);
  EXPECT_EQ(shard_->state().counters().errors, 0U);
  EXPECT_EQ(shard_->state().crawls().Statuses().front().counters.robots_denied, 6U);
  now += 30.0 * 3600;
  const auto found = Next(now);
  ASSERT_TRUE(found);
  Report(*found, now, CrawlOutcome::kChanged);
  EXPECT_EQ(shard_->Find({"DEFAULT", "http://a.test/1"})->detail.denials, 0);
}

// A host without pages is remembered exactly as long as its crawls count for its cap.
TEST_F(HostTermsTest, AHostWithoutPagesIsForgottenOnceItsCapIs) {
  ShardOptions options;
  options.politeness.max_crawls = {.count = 2, .per = Duration::Hours(1)};
  Start(options);
  Add("a.test/1");
  const auto next = Next(10);
  ASSERT_TRUE(next);
  ReportCrawl report{.lease = next->lease, .fetched = At(10)};
  report.outcome = CrawlOutcome::kUnchanged;
  report.crawl_delay = Duration::Seconds(5);
  report.address = *ParseIpAddress("192.0.2.7");
  Apply(report, 10);
  Apply(RemovePage{.key = {"DEFAULT", "http://a.test/1"}}, 20);
  shard_->RunTimers(At(3600));
  EXPECT_EQ(shard_->state().counters().hosts, 1U);
  shard_->RunTimers(At(3611));
  EXPECT_EQ(shard_->state().counters().hosts, 0U);
}

}  // namespace
}  // namespace freshet
