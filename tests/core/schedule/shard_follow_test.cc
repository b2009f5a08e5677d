// Tests a standby: a shard that was loaded once, follows the records of another shard, and then
// receives its leases. It equals a shard that is loaded from the final records.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/random.h"
#include "core/schedule/crawl_book.h"
#include "core/schedule/followed_changes.h"
#include "core/schedule/host_book.h"
#include "core/schedule/page_book.h"
#include "core/schedule/page_to_load.h"
#include "core/schedule/pick.h"
#include "core/schedule/shard_loading.h"
#include "tests/core/schedule/shard_cycle.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kManyHosts = 12;

ShardOptions Polite(const std::string& policy) {
  ShardOptions options;
  options.politeness.min_delay = Duration::Seconds(2);
  options.policy = *ResolvePolicy(policy);
  return options;
}

std::string HostName(uint64_t i) { return "h" + std::to_string(i) + ".test"; }

PageKey KeyOn(uint64_t host, uint64_t path) {
  return {path % 5 == 0 ? "other" : "DEFAULT",
          "https://" + HostName(host) + "/" + std::to_string(path)};
}

// All records of a shard that a store would have.
struct Records {
  std::map<PageNumber, PageRecord> pages;
  std::map<std::string, HostRecord> hosts;

  [[nodiscard]] FollowedChanges ChangesTo(const Records& later) const {
    FollowedChanges changes;
    for (const auto& [number, page] : later.pages) {
      const auto it = pages.find(number);
      if (it == pages.end() || it->second != page) changes.pages.push_back(page);
    }
    for (const auto& [number, page] : pages) {
      if (!later.pages.contains(number)) changes.removed_pages.push_back(number);
    }
    for (const auto& [name, host] : later.hosts) {
      const auto it = hosts.find(name);
      if (it == hosts.end() || it->second != host) changes.hosts.push_back(host);
    }
    for (const auto& [name, host] : hosts) {
      if (!later.hosts.contains(name)) changes.removed_hosts.push_back(name);
    }
    return changes;
  }
};

std::unique_ptr<ShardState> Load(const Records& records, const std::string& policy, Instant now) {
  auto state = std::make_unique<ShardState>(Polite(policy));
  std::map<std::string, HostId> ids;
  for (const auto& [name, host] : records.hosts) ids[name] = state->loading().LoadHost(host);
  std::vector<PageToLoad> batch;
  for (const auto& [number, page] : records.pages) {
    batch.push_back(state->loading().PrepareLoad(
        number, Fingerprinter().Of(page.key.crawl_id, page.key.url),
        ids.contains(page.host) ? ids[page.host] : state->loading().LoadHost({.host = page.host}),
        page.spec, page.state));
    const StatusOr<CrawlIndex> crawl = state->loading().InternCrawl(page.key.crawl_id);
    EXPECT_TRUE(crawl.ok());
    batch.back().crawl = *crawl;
  }
  EXPECT_TRUE(state->loading().LoadPages(batch, now).ok());
  EXPECT_TRUE(state->loading().FinishLoad().empty());
  return state;
}

// The test parameter is the policy.
class ShardFollowTest : public ShardCycleTest, public testing::WithParamInterface<std::string> {
 protected:
  ShardFollowTest() : ShardCycleTest(Polite(GetParam())) {}

  [[nodiscard]] Records Stored() {
    Records records;
    for (const auto& [number, page] : shard_.pages()) records.pages.emplace(number, page);
    for (uint64_t i = 0; i < kManyHosts; ++i) {
      uint32_t in_flight = 0;
      const StatusOr<HostRecord> host = shard_.state().hosts().Find(HostName(i), &in_flight);
      if (host.ok()) records.hosts.emplace(host->host, *host);
    }
    return records;
  }
  // Open leases, including those of removed pages.
  [[nodiscard]] std::vector<LeaseRecord> OpenLeases() {
    std::vector<LeaseRecord> leases;
    for (const LeaseId id : given_out_) {
      if (const std::optional<LeaseRecord> lease = shard_.state().pages().FindLease(id)) {
        leases.push_back(*lease);
        of_removed_ += lease->host.empty() ? 0 : 1;
      }
    }
    return leases;
  }
  // Does one random operation of clients.
  void DoSomething(Random& random, double at) {
    const uint64_t host = random.Below(kManyHosts);
    const PageKey key = KeyOn(host, random.Below(20));
    const uint64_t what = random.Below(100);
    if (what < 35) {
      UpsertPage event{.key = key, .host = HostName(host)};
      event.importance = random.Uniform(0.1, 2);
      if (random.Below(4) == 0) event.min_interval = Duration::Seconds(600);
      Apply(event, at);
    } else if (what < 50) {
      Apply(RemovePage{.key = key}, at);
    } else if (what < 55) {
      // Removes all pages of the host, which is then forgotten.
      for (uint64_t path = 0; path < 20; ++path) Apply(RemovePage{.key = KeyOn(host, path)}, at);
    } else if (what < 65) {
      Apply(SignalChange{.key = key,
                         .source = static_cast<uint8_t>(random.Below(2)),
                         .pages_in_poll = 3,
                         .poll = 1 + random.Below(5)},
            at);
    } else if (what < 70) {
      SetHost event{.host = HostName(host)};
      event.min_delay = std::optional(Duration::Seconds(static_cast<int64_t>(random.Below(9))));
      if (random.Below(3) == 0) event.min_delay = std::optional<Duration>();
      if (random.Below(3) == 0) event.blocked_until = At(at + random.Uniform(0, 500));
      Apply(event, at);
    } else if (what < 73) {
      Apply(RecheckPage{key}, at);
    } else if (const auto assignment = Next(at)) {
      given_out_.push_back(assignment->lease);
      if (random.Below(4) == 0) return shard_.RunTimers(At(at));
      constexpr CrawlOutcome kOutcomes[] = {CrawlOutcome::kChanged, CrawlOutcome::kUnchanged,
                                            CrawlOutcome::kError, CrawlOutcome::kGone};
      Apply(Result(*assignment, kOutcomes[random.Below(4)], At(at)), at);
    }
    shard_.RunTimers(At(at));
  }

  // Expects that both shards pick the same pages at the same times and have the same state.
  static void ExpectSame(ShardState& followed, ShardState& loaded, const Records& records,
                         double at) {
    EXPECT_EQ(followed.counters().pages, loaded.counters().pages);
    EXPECT_EQ(followed.counters().gone_pages, loaded.counters().gone_pages);
    EXPECT_EQ(followed.counters().hosts, loaded.counters().hosts);
    EXPECT_EQ(followed.counters().leases, loaded.counters().leases);
    for (const auto& [name, host] : records.hosts) {
      const StatusOr<HostStatus> its = followed.hosts().Describe(name, At(at));
      const StatusOr<HostStatus> other = loaded.hosts().Describe(name, At(at));
      ASSERT_TRUE(its.ok() && other.ok()) << name;
      EXPECT_EQ(its->record, other->record);
      EXPECT_EQ(its->allowed_at, other->allowed_at) << name;
      EXPECT_EQ(its->pages, other->pages) << name;
      EXPECT_EQ(its->in_flight, other->in_flight) << name;
    }
    for (const auto& [number, page] : records.pages) {
      const Explanation its = followed.Explain(page, At(at));
      const Explanation other = loaded.Explain(page, At(at));
      EXPECT_EQ(its.verdict, other.verdict) << page.key.url;
      EXPECT_EQ(its.lease, other.lease) << page.key.url;
    }
    std::map<std::string, uint64_t> pages_of_crawls[2];
    for (const CrawlStatus& crawl : followed.crawls().Statuses()) {
      pages_of_crawls[0][crawl.crawl_id] = crawl.counters.pages;
    }
    for (const CrawlStatus& crawl : loaded.crawls().Statuses()) {
      pages_of_crawls[1][crawl.crawl_id] = crawl.counters.pages;
    }
    EXPECT_EQ(pages_of_crawls[0], pages_of_crawls[1]);
    size_t picked = 0;
    for (const double later : {0.0, 1.0, 10.0, 700.0, 100'000.0, 1e7}) {
      while (true) {
        const std::optional<Pick> its = followed.Take(At(at + later));
        const std::optional<Pick> other = loaded.Take(At(at + later));
        ASSERT_EQ(its.has_value(), other.has_value()) << "after " << later << " s";
        if (!its) break;
        ASSERT_EQ(its->page, other->page) << "after " << later << " s";
        ASSERT_EQ(its->value, other->value);
        ++picked;
      }
      // A host allows one page at a time, so these pages must be returned before others are picked.
      for (const auto& [number, page] : records.pages) {
        if (followed.Explain(page, At(at + later)).verdict != Verdict::kLeased) continue;
        if (followed.Explain(page, At(at + later)).lease) continue;
        followed.PutBack(number);
        loaded.PutBack(number);
      }
    }
    EXPECT_GT(picked, 0U);
  }

  std::vector<LeaseId> given_out_;
  size_t of_removed_ = 0;
};

TEST_P(ShardFollowTest, IsAsOneThatIsLoadedFromWhatItHasFollowed) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    double at = static_cast<double>(seed) * 1e5;
    for (int i = 0; i < 200; ++i) DoSomething(random, at += random.Uniform(0, 20));
    Records before = Stored();
    const std::unique_ptr<ShardState> followed = Load(before, GetParam(), At(at));
    for (int i = 0; i < 300; ++i) {
      DoSomething(random, at += random.Uniform(0, 20));
      if (random.Below(10) > 0) continue;
      Records now = Stored();
      const FollowedChanges changes = before.ChangesTo(now);
      ASSERT_TRUE(followed->loading().Follow(changes, At(at)).ok());
      // A change sent twice has the same effect as once.
      if (random.Below(5) == 0) {
        ASSERT_TRUE(followed->loading().Follow(changes, At(at)).ok());
      }
      before = std::move(now);
    }
    // Workers might still fetch removed pages.
    for (const LeaseRecord& lease : OpenLeases()) {
      const auto page = shard_.pages().find(lease.page);
      if (page == shard_.pages().end() || random.Below(2) > 0) continue;
      Apply(RemovePage{.key = PageKey(page->second.key)}, at);
    }
    const Records last = Stored();
    ASSERT_TRUE(followed->loading().Follow(before.ChangesTo(last), At(at)).ok());
    const std::unique_ptr<ShardState> loaded = Load(last, GetParam(), At(at));
    for (const LeaseRecord& lease : OpenLeases()) {
      for (ShardState* state : {followed.get(), loaded.get()}) {
        state->loading().LoadAssignment(lease.page, lease.assigned);
        state->loading().LoadLease(lease);
      }
    }
    followed->loading().FinishLeases();
    loaded->loading().FinishLeases();
    ExpectSame(*followed, *loaded, last, at);
    if (HasFailure()) return;
    // The next seed begins without pages.
    for (const auto& [number, page] : last.pages) Apply(RemovePage{.key = page.key}, at);
  }
  EXPECT_GT(of_removed_, 0U);
}

TEST_P(ShardFollowTest, WhatDoesNotFitIsRefused) {
  ShardOptions options;
  options.max_pages = 2;
  ShardState state(options);
  ASSERT_TRUE(state.loading().FinishLoad().empty());
  for (int i = 0; i < 3; ++i) Apply(Upsert(std::to_string(i)), 0);
  FollowedChanges changes;
  for (const auto& [number, page] : shard_.pages()) changes.pages.push_back(page);
  EXPECT_THAT(state.loading().Follow(changes, At(1)).message(), HasSubstr("at most 2 pages"));
  FollowedChanges no_host;
  no_host.removed_hosts = {"never.test"};
  EXPECT_TRUE(state.loading().Follow(no_host, At(2)).ok());
  no_host.removed_hosts = {"example.com"};
  EXPECT_THAT(state.loading().Follow(no_host, At(3)).message(), HasSubstr("has pages"));
}

// The clock of a standby can be behind all the time while it follows.
TEST_P(ShardFollowTest, APageThatIsAheadIsWrittenOnce) {
  ShardState state(ShardOptions{});
  ASSERT_TRUE(state.loading().FinishLoad().empty());
  const auto written = [&] {
    std::vector<Event> events;
    state.TakeDueTimers(At(10), 100, &events);
    return std::count_if(events.begin(), events.end(), [](const Event& event) {
      return std::holds_alternative<EnterAgeBin>(event);
    });
  };
  Apply(Upsert("page"), 100);
  FollowedChanges changes;
  changes.pages.push_back(shard_.pages().begin()->second);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(state.loading().Follow(changes, At(10)).ok());
  EXPECT_EQ(written(), 1);
  ASSERT_TRUE(state.loading().Follow(changes, At(10)).ok());
  FollowedChanges removed;
  removed.removed_pages = {changes.pages[0].number};
  ASSERT_TRUE(state.loading().Follow(removed, At(10)).ok());
  EXPECT_EQ(written(), 0);
}

INSTANTIATE_TEST_SUITE_P(Policies, ShardFollowTest,
                         testing::Values("default", "greedy_ncis", "lambda_crawl", "uniform"));

}  // namespace
}  // namespace freshet
