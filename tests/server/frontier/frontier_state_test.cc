// Tests the state machine against a simple twin that searches everything, and over restarts.
#include "server/frontier/frontier_state.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/answer_limits.h"
#include "server/base/limits.h"
#include "server/frontier/frontier_names.h"
#include "tests/server/frontier/frontier_fixture.h"

namespace freshet {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Computes the right answers by searching everything. Thread-compatible.
class Twin {
 public:
  struct Item {
    uint64_t due = 0;
    uint64_t created = 0;
    uint64_t leased_until = 0;  // 0 = not in flight
  };
  struct Queue {
    std::map<std::string, Item> items;
    uint64_t blocked_until = 0;
    uint64_t last_served = 0;
    uint32_t limit = 0;
    std::optional<uint32_t> delay;
  };
  using Name = std::pair<std::string, std::string>;
  std::map<Name, Queue> queues;
  uint32_t default_delay = 1;

  FrontierOutcome Put(const FrontierPut& put, uint64_t now) {
    Queue& queue = queues[{put.crawl, put.key}];
    const auto [it, added] = queue.items.try_emplace(put.url);
    if (!put.known && !added) {
      return it->second.due > 0 ? FrontierOutcome::kKnown : FrontierOutcome::kSkipped;
    }
    if (added) it->second.created = now;
    it->second.due = put.known ? put.due : now;
    it->second.leased_until = 0;
    return FrontierOutcome::kOk;
  }
  void Expire(uint64_t now) {
    for (auto& [name, queue] : queues) {
      for (auto& [url, item] : queue.items) {
        if (item.leased_until <= now) item.leased_until = 0;
      }
    }
  }
  static size_t InFlight(const Queue& queue) {
    return static_cast<size_t>(
        std::count_if(queue.items.begin(), queue.items.end(),
                      [](const auto& each) { return each.second.leased_until > 0; }));
  }
  static size_t Completed(const Queue& queue) {
    return static_cast<size_t>(
        std::count_if(queue.items.begin(), queue.items.end(),
                      [](const auto& each) { return each.second.due == 0; }));
  }
  // Returns the URLs that a queue may give out now, in order.
  std::vector<std::string> Due(const Queue& queue, uint32_t most, uint64_t now) const {
    std::vector<std::pair<uint64_t, std::string>> due;
    if (queue.blocked_until >= now || InFlight(queue) >= most) return {};
    if (queue.limit > 0 && Completed(queue) >= queue.limit) return {};
    if (queue.last_served > 0 && queue.last_served + queue.delay.value_or(default_delay) >= now) {
      return {};
    }
    for (const auto& [url, item] : queue.items) {
      if (item.due > 0 && item.due <= now && item.leased_until == 0)
        due.emplace_back(item.due, url);
    }
    std::sort(due.begin(), due.end());
    std::vector<std::string> urls;
    for (size_t i = 0; i < due.size() && i < most; ++i) urls.push_back(due[i].second);
    return urls;
  }
};

class FrontierStateTest : public FrontierFixture {
 protected:
  void Pass(uint64_t seconds) {
    FrontierFixture::Pass(seconds);
    twin_.Expire(now_);
  }

  // Puts forty queues with one URL each into one crawl id.
  void PutQueuesOf(uint64_t client) {
    std::vector<FrontierPut> puts;
    for (int i = 0; i < 40; ++i) {
      puts.push_back({.crawl = "c", .key = "k" + std::to_string(i), .url = "u"});
      puts.back().claim.client = client;
    }
    (void)state_->Put(puts);
    Commit();
  }

  // --- Random work on both
  std::string Pick(const char* prefix, int of) {
    return prefix + std::to_string(std::uniform_int_distribution<>(1, of)(random_));
  }
  uint64_t Number(uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(random_);
  }
  void PutSome() {
    std::vector<FrontierPut> puts(Number(1, 12));
    for (FrontierPut& put : puts) {
      put = {.crawl = Pick("c", 3), .key = Pick("k", 5), .url = Pick("u", 9)};
      put.known = Number(0, 2) > 0;
      if (put.known) put.due = Number(0, 3) == 0 ? 0 : Number(now_ - 5, now_ + 20);
    }
    const auto outcomes = state_->Put(puts);
    Commit();
    for (size_t i = 0; i < puts.size(); ++i) EXPECT_EQ(outcomes[i], twin_.Put(puts[i], now_));
  }
  void PullSome() {
    FrontierPull pull;
    pull.urls_per_queue = static_cast<uint32_t>(Number(1, 4));
    pull.lease_seconds = static_cast<uint32_t>(Number(1, 12));
    if (Number(0, 1) == 0) pull.crawl = Pick("c", 3);
    if (pull.crawl && Number(0, 2) == 0) pull.key = Pick("k", 5);
    if (Number(0, 2) == 0) pull.queues = static_cast<uint32_t>(Number(1, 6));
    std::map<Twin::Name, std::vector<std::string>> expected;
    for (const auto& [name, queue] : twin_.queues) {
      if (pull.crawl && *pull.crawl != name.first) continue;
      if (!pull.key.empty() && pull.key != name.second) continue;
      auto due = twin_.Due(queue, pull.urls_per_queue, now_);
      if (!due.empty()) expected[name] = std::move(due);
    }
    std::map<Twin::Name, std::vector<std::string>> got;
    for (const FrontierServed& url : Pull(pull, Number(1, 5))) {
      got[{url.crawl, url.key}].push_back(url.url);
      Twin::Queue& queue = twin_.queues[{url.crawl, url.key}];
      queue.items[url.url].leased_until = now_ + pull.lease_seconds;
      queue.last_served = now_;
    }
    EXPECT_EQ(got.size(), std::min<size_t>(expected.size(), pull.queues));
    for (const auto& [name, urls] : got) EXPECT_EQ(urls, expected[name]);
  }
  void SetSomething() {
    const std::string crawl = Pick("c", 3);
    const std::string key = Pick("k", 5);
    Twin::Queue& queue = twin_.queues[{crawl, key}];
    switch (Number(0, 4)) {
      case 0: {
        queue.blocked_until = Number(0, 1) == 0 ? 0 : now_ + Number(1, 9);
        EXPECT_TRUE(state_->BlockUntil(crawl, key, queue.blocked_until).ok());
        break;
      }
      case 1:
        queue.delay = static_cast<uint32_t>(Number(0, 6));
        EXPECT_TRUE(state_->SetDelay(crawl, key, *queue.delay).ok());
        break;
      case 2: {
        const auto limit = static_cast<uint32_t>(Number(0, 5));
        if (state_->SetLimit(crawl, key, limit).ok()) queue.limit = limit;
        break;
      }
      case 3:
        twin_.default_delay = static_cast<uint32_t>(Number(0, 3));
        EXPECT_TRUE(state_->SetDelay("", "", twin_.default_delay).ok());
        break;
      default:
        EXPECT_EQ(state_->DeleteQueue(crawl, key), queue.items.size());
        twin_.queues.erase({crawl, key});
    }
    Commit();
  }
  void CompareCounts() {
    FrontierCounts all;
    std::map<std::string, uint64_t> urls;
    for (const auto& [name, queue] : twin_.queues) {
      all.completed += Twin::Completed(queue);
      all.active += queue.items.size() - Twin::Completed(queue);
      all.in_flight += Twin::InFlight(queue);
      all.queues += queue.items.empty() ? 0 : 1;
      urls[name.first] += queue.items.size();
    }
    const FrontierCounts& counts = state_->table().counts();
    EXPECT_EQ(counts.completed, all.completed);
    EXPECT_EQ(counts.active, all.active);
    EXPECT_EQ(counts.in_flight, all.in_flight);
    EXPECT_EQ(counts.queues, all.queues);
    for (const auto& [crawl, count] : urls) {
      const FrontierCrawl* found = state_->table().FindCrawl(crawl);
      EXPECT_EQ(found == nullptr ? 0 : found->counts.active + found->counts.completed, count);
    }
  }

  std::mt19937 random_;
  Twin twin_;
};

TEST_F(FrontierStateTest, DoesWhatItsTwinDoesAlsoAcrossReloads) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    random_.seed(seed);
    for (int step = 0; step < 600 && !HasFailure(); ++step) {
      switch (Number(0, 9)) {
        case 0:
        case 1:
        case 2:
        case 3:
          PutSome();
          break;
        case 4:
        case 5:
        case 6:
          PullSome();
          break;
        case 7:
          SetSomething();
          break;
        case 8:
          Pass(Number(1, 4));
          break;
        default:
          if (Number(0, 4) == 0) Load();
      }
      CompareCounts();
    }
    for (const char* crawl : {"c1", "c2", "c3"}) (void)state_->DeleteCrawl(crawl);
    (void)state_->SetDelay("", "", 1);
    Commit();
    twin_ = Twin();
  }
}

TEST_F(FrontierStateTest, WhatIsGivenBackIsDueAsBefore) {
  const std::vector<FrontierPut> puts = {{.crawl = "c", .key = "k", .url = "a", .metadata = "m"},
                                         {.crawl = "c", .key = "k", .url = "b", .metadata = {}}};
  (void)state_->Put(puts);
  Commit();
  std::vector<FrontierServed> served = Pull({});
  ASSERT_THAT(served, SizeIs(2));
  EXPECT_EQ(served[0].metadata, "m");
  state_->GiveBack(std::span(served).first(1));
  Commit();
  Pass(2);
  const auto again = Pull({});
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].url, "a");
  // The first lease has ended. Returning it again does not end the second one.
  state_->GiveBack(std::span(served).first(1));
  Commit();
  Pass(2);
  EXPECT_THAT(Pull({}), IsEmpty());
}

// Previously, all queues of a crawl id became ready in one turn, and all clients waited for
// seconds.
TEST_F(FrontierStateTest, QueuesThatAreDueAtOnceBecomeReadyInParts) {
  constexpr size_t kAtOnce = FrontierPulls::kPromotedAtOnce;
  std::vector<FrontierPut> puts;
  for (size_t i = 0; i < 2 * kAtOnce; ++i) {
    puts.push_back({.crawl = i == 0 ? "b" : "a",
                    .key = std::to_string(i),
                    .url = "u",
                    .metadata = {},
                    .known = true,
                    .due = kStart + 10});
  }
  EXPECT_THAT(state_->Put(puts), ::testing::Each(FrontierOutcome::kOk));
  Commit();
  Pass(20);
  EXPECT_THAT(Pull({.crawl = "a"}, SIZE_MAX), SizeIs(kAtOnce));
  // Crawl id "b" is served, although many queues of "a" still have to become ready.
  const auto served = Pull({}, SIZE_MAX);
  EXPECT_THAT(served, SizeIs(kAtOnce));
  EXPECT_THAT(served, ::testing::Contains(::testing::Field(&FrontierServed::crawl, "b")));
  EXPECT_THAT(Pull({}), IsEmpty());
}

TEST_F(FrontierStateTest, WhatWasNotCommittedIsGoneAfterALoad) {
  const std::vector<FrontierPut> puts = {{.crawl = "c", .key = "k", .url = "a", .metadata = {}}};
  (void)state_->Put(puts);
  ASSERT_TRUE(state_->Load().ok());
  EXPECT_EQ(state_->table().counts().active, 0u);
  EXPECT_EQ(state_->Put(puts)[0], FrontierOutcome::kOk);
  Commit();
  EXPECT_EQ(state_->Put(puts)[0], FrontierOutcome::kKnown);
}

TEST_F(FrontierStateTest, RemovesEndedUrlsUnlessTheyAreToBeGivenOutAgain) {
  const std::vector<FrontierPut> puts = {{.crawl = "c", .key = "k", .url = "a", .metadata = {}},
                                         {.crawl = "c", .key = "k", .url = "b", .metadata = {}}};
  EXPECT_THAT(state_->Put(puts), ::testing::Each(FrontierOutcome::kOk));
  Commit();
  const FrontierQueueId queue = state_->table().Find("c", "k")->id;
  const std::vector<std::string> urls = {"a", "b"};
  const auto ended = state_->EndOlder(queue, urls, UINT64_MAX);
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(*ended, urls);
  Commit();
  EXPECT_THAT(Pull({}), IsEmpty());
  const std::vector<FrontierName> names = {{"c", "k", "a"}, {"c", "other", "a"}, {"c", "k", "b"}};
  const auto items = state_->Read(names);
  ASSERT_THAT(items, SizeIs(3));
  EXPECT_EQ(items[0]->due, 0U);
  EXPECT_TRUE(absl::IsNotFound(items[1].status()));
  EXPECT_EQ(items[2]->due, 0U);
  // A URL that is put again before the removal stays.
  const FrontierPut again = {
      .crawl = "c", .key = "k", .url = "b", .metadata = {}, .known = true, .due = kStart};
  EXPECT_EQ(state_->Put({&again, 1})[0], FrontierOutcome::kOk);
  Commit();
  const auto removed = state_->RemoveEnded(queue, urls);
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(*removed, 1U);
  Commit();
  EXPECT_EQ(state_->table().counts().active, 1U);
  EXPECT_EQ(state_->table().counts().completed, 0U);
  EXPECT_TRUE(absl::IsNotFound(state_->Read(names)[0].status()));
}

// Earlier releases stored values without a bound.
TEST_F(FrontierStateTest, WhatWasStoredWithoutABoundHasOneSince) {
  const std::vector<FrontierPut> puts = {{.crawl = "c", .key = "k", .url = "a", .metadata = {}},
                                         {.crawl = "c", .key = "l", .url = "b", .metadata = {}}};
  (void)state_->Put(puts);
  Commit();
  ASSERT_THAT(Pull({}), SizeIs(2));
  FrontierBatch batch(*store_);
  const FrontierQueue& leased = *state_->table().Find("c", "k");
  batch.PutLease(leased.id, "a", {.until = now_ + UINT32_MAX, .due = now_});
  FrontierQueueRecord blocked = state_->table().Find("c", "l")->record;
  blocked.blocked_until = uint64_t{1} << 63;
  blocked.delay = UINT32_MAX;
  batch.PutQueue(state_->table().Find("c", "l")->id, blocked);
  batch.PutSettings({.default_delay = UINT32_MAX});
  ASSERT_TRUE(store_->Commit(batch).ok());
  Load();
  EXPECT_EQ(state_->settings().default_delay, limits::kMaxFrontierDelaySeconds);
  Pass(limits::kMaxLeaseSeconds);
  EXPECT_EQ(state_->table().counts().in_flight, 0U);
  Pass(2);
  EXPECT_THAT(Pull({}), SizeIs(1));
  Pass(limits::kMaxBlockSeconds);
  EXPECT_THAT(Pull({}), SizeIs(2));
}

// Other clients find room, whatever one client puts. The client's room is free again after its URLs
// are deleted.
TEST_F(FrontierStateTest, EverythingThatThereIsHasAShareOfEachClient) {
  const FrontierLimits limits = {.urls = 22, .queues = 10, .flights = 5};
  Load(limits);
  const auto put = [this](uint64_t client, const std::string& crawl, const std::string& key,
                          const std::string& url) {
    const FrontierPut one = {.crawl = crawl, .key = key, .url = url, .claim = {.client = client}};
    const FrontierOutcome outcome = state_->Put({&one, 1})[0];
    Commit();
    return outcome;
  };
  using enum FrontierOutcome;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(put(1, "evil", "k" + std::to_string(i), "u"), kOk);
  EXPECT_EQ(put(1, "evil", "one more", "u"), kFailed);
  EXPECT_EQ(put(1, "evil too", "one more", "u"), kFailed) << "whatever it calls its crawl id";
  EXPECT_EQ(put(2, "good", "k", "u"), kOk);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(put(1, "evil", "k0", "more" + std::to_string(i)), kOk);
  EXPECT_EQ(put(1, "evil", "k0", "one more"), kFailed);
  EXPECT_EQ(put(2, "good", "k", "more"), kOk);
  FrontierPull pull;
  pull.crawl = "evil";
  EXPECT_THAT(Pull(pull), SizeIs(2));
  EXPECT_THAT(Pull(pull), IsEmpty());
  pull.crawl = std::nullopt;
  const auto served = Pull(pull);
  ASSERT_THAT(served, SizeIs(1));
  EXPECT_EQ(served[0].crawl, "good");
  // After a restart, the owner of a crawl id is unknown until a client uses it. Until then, the
  // crawl id has a share by itself.
  Load();
  Load(limits);
  EXPECT_EQ(put(1, "evil", "one more", "u"), kFailed);
  EXPECT_EQ(put(1, "evil too", "one more", "u"), kFailed);
  (void)state_->DeleteQueue("evil", "k0");
  Commit();
  EXPECT_EQ(put(1, "evil too", "one more", "u"), kOk);
}

// Previously, another client could set delays and blocks of queues that do not exist. These queues
// used up the share of the crawl id's owner for ever.
TEST_F(FrontierStateTest, NobodyMakesQueuesOfAnothersCrawlId) {
  const FrontierPut put = {.crawl = "news", .key = "k", .url = "u", .claim = {.client = 1}};
  EXPECT_EQ(state_->Put({&put, 1})[0], FrontierOutcome::kOk);
  Commit();
  using enum SetBy;
  for (int i = 0; i < 5; ++i) {
    const std::string key = std::to_string(i);
    EXPECT_TRUE(state_->SetDelay("news", key, 30, {.client = 2}, kClient).ok());
    EXPECT_TRUE(state_->BlockUntil("news", key, now_ + 60, {.client = 2}, kClient).ok());
  }
  EXPECT_TRUE(state_->SetDelay("news", "k", 30, {.client = 2}, kClient).ok());
  Commit();
  EXPECT_EQ(state_->table().counts().kept_queues, 1U);
  EXPECT_EQ(state_->table().Find("news", "k")->record.asked_delay, 30U);
  EXPECT_TRUE(state_->SetDelay("news", "own", 30, {.client = 1}, kClient).ok());
  Commit();
  EXPECT_EQ(state_->table().counts().kept_queues, 2U);
}

// --- Clients that take URLs of others

// A client that puts nothing cannot take all URLs from others, however long its leases are and
// however many queues it asks for.
TEST_F(FrontierStateTest, WhoeverTakesWhatIsAnothersLeavesSomeForOthers) {
  Load(FrontierLimits{.uncovered_flights = 16});
  PutQueuesOf(1);
  const auto pull_of = [](const Claim& taker) {
    FrontierPull pull;
    pull.lease_seconds = UINT32_MAX;
    pull.taker = taker;
    return pull;
  };
  const auto taken = Pull(pull_of({.client = 2}));
  EXPECT_THAT(taken, SizeIs(6));
  EXPECT_THAT(Pull(pull_of({.client = 2})), IsEmpty());
  EXPECT_THAT(Pull(pull_of({.client = 3})), SizeIs(3));
  // URLs of a discarded pull do not count for any client.
  std::vector<FrontierServed> refused;
  FrontierPull fourth = pull_of({.client = 4});
  ASSERT_TRUE(state_->Pull(&fourth, 7, &refused).ok());
  EXPECT_THAT(refused, SizeIs(2));
  state_->Discard();
  EXPECT_EQ(state_->table().ends().takers().uncovered(), 9U);
  // After each result, the client may take more.
  std::vector<FrontierPut> results;
  for (size_t i = 0; i < 2; ++i) {
    results.push_back({.crawl = "c", .key = taken[i].key, .url = "u", .known = true, .due = 0});
  }
  (void)state_->Put(results);
  state_->Discard();
  EXPECT_THAT(Pull(pull_of({.client = 2})), IsEmpty()) << "no result was kept";
  (void)state_->Put(results);
  Commit();
  EXPECT_THAT(Pull(pull_of({.client = 2})), SizeIs(3));
  // The owner and an admin may take all URLs.
  EXPECT_THAT(Pull(pull_of({.client = 5, .admin = true})), SizeIs(28));
  Pass(limits::kMaxLeaseSeconds);
  EXPECT_EQ(state_->table().ends().takers().remembered(), 0U);
  EXPECT_THAT(Pull(pull_of({.client = 1})), SizeIs(38));
}

// The URLs of a deleted crawl id are no longer in flight.
TEST_F(FrontierStateTest, ADeletedCrawlIdHoldsNoSharesOfTakers) {
  Load(FrontierLimits{.uncovered_flights = 16});
  const auto take = [this] {
    PutQueuesOf(1);
    FrontierPull pull;
    pull.lease_seconds = 100;
    pull.taker = {.client = 2};
    return Pull(std::move(pull));
  };
  EXPECT_THAT(take(), SizeIs(6));
  EXPECT_EQ(state_->DeleteCrawl("c"), 40U);
  state_->Discard();
  EXPECT_EQ(state_->table().ends().takers().held(2), 6U) << "the crawl id is still there";
  EXPECT_EQ(state_->DeleteCrawl("c"), 40U);
  Commit();
  EXPECT_EQ(state_->table().ends().takers().remembered(), 0U);
  EXPECT_THAT(take(), SizeIs(6));
}

TEST_F(FrontierStateTest, QueuesOfAnothersCrawlIdsAreNotDelayedForLong) {
  const FrontierPut put = {.crawl = "c", .key = "k", .url = "u", .claim = {.client = 1}};
  (void)state_->Put({&put, 1});
  Commit();
  const auto delay = [this](const Claim& claim) {
    EXPECT_TRUE(state_->SetDelay("c", "k", UINT32_MAX, claim).ok());
    Commit();
    return state_->table().Find("c", "k")->record.delay.value_or(0);
  };
  EXPECT_EQ(delay({.client = 2}), limits::kMaxFrontierDelaySecondsOfOthers);
  EXPECT_EQ(delay({.client = 1}), limits::kMaxFrontierDelaySeconds);
  EXPECT_EQ(delay({.client = 2, .admin = true}), limits::kMaxFrontierDelaySeconds);
}

// Previously, a queue that had only a block stayed for ever, and belonged to no client after a
// restart.
TEST_F(FrontierStateTest, QueuesAreSweptOnceTheirBlocksAreOver) {
  for (int i = 0; i < 20; ++i) {
    const std::string crawl = "c" + std::to_string(i % 5);
    ASSERT_TRUE(state_
                    ->BlockUntil(crawl, std::to_string(i), now_ + 5 + (i == 0 ? 100 : 0),
                                 {.client = 1}, SetBy::kClient)
                    .ok());
  }
  ASSERT_TRUE(state_->SetDelay("c1", "slow", 5, {.client = 1}).ok());
  const FrontierPut put = {.crawl = "c2", .key = "k", .url = "u", .claim = {.client = 1}};
  EXPECT_EQ(state_->Put({&put, 1}).front(), FrontierOutcome::kOk);
  Commit();
  const auto sweep = [this] {
    for (int i = 0; i < 10; ++i) {
      state_->mend().Sweep(3);
      Commit();
    }
  };
  sweep();
  EXPECT_EQ(state_->table().counts().kept_queues, 22U);
  Pass(6);
  // A removal that is not committed has no effect.
  state_->mend().Sweep(100);
  state_->Discard();
  EXPECT_EQ(state_->table().counts().kept_queues, 22U);
  Load();
  sweep();
  EXPECT_EQ(state_->table().counts().kept_queues, 3U);
  EXPECT_THAT(state_->table().crawls(), SizeIs(3));
  Load();
  EXPECT_EQ(state_->table().counts().kept_queues, 3U);
  Pass(100);
  sweep();
  EXPECT_EQ(state_->table().counts().kept_queues, 2U);
}

// --- Settings of operators

TEST_F(FrontierStateTest, OtherClientsOnlyAddToWhatAnOperatorHasSet) {
  const FrontierPut put = {.crawl = "c", .key = "k", .url = "u", .claim = {.client = 1}};
  (void)state_->Put({&put, 1});
  const Claim worker = {.client = 1};
  const auto block = [&](uint64_t until, SetBy by) {
    EXPECT_TRUE(state_->BlockUntil("c", "k", until, worker, by).ok());
    Commit();
    Load();
    return state_->table().Find("c", "k")->record.block_end();
  };
  EXPECT_EQ(block(now_ + 50, SetBy::kOperator), now_ + 50);
  EXPECT_EQ(block(0, SetBy::kClient), now_ + 50);
  EXPECT_EQ(block(now_ + 1, SetBy::kClient), now_ + 50);
  EXPECT_EQ(block(now_ + 90, SetBy::kClient), now_ + 90);
  // A client can end a client's block, but not the operator's.
  EXPECT_EQ(block(0, SetBy::kClient), now_ + 50);
  EXPECT_EQ(block(now_ + 90, SetBy::kClient), now_ + 90);
  EXPECT_EQ(block(now_ + 20, SetBy::kOperator), now_ + 20);
  EXPECT_EQ(block(0, SetBy::kOperator), 0U);
  const auto delay = [&](uint32_t seconds, SetBy by) {
    EXPECT_TRUE(state_->SetDelay("c", "k", seconds, worker, by).ok());
    Commit();
    Load();
    return state_->table().Find("c", "k")->record.longest_delay();
  };
  EXPECT_EQ(delay(30, SetBy::kClient), 30U);
  EXPECT_EQ(delay(0, SetBy::kClient), 0U);
  EXPECT_EQ(delay(60, SetBy::kOperator), 60U);
  EXPECT_EQ(delay(1, SetBy::kClient), 60U);
  EXPECT_EQ(delay(90, SetBy::kClient), 90U);
  EXPECT_EQ(delay(2, SetBy::kOperator), 2U);
}

// --- Clients that report nothing

TEST_F(FrontierStateTest, WhoeverMayNotReportTakesNothingFromThoseWhoFetch) {
  FrontierPut put = {.crawl = "c", .key = "k", .url = "u", .metadata = "old"};
  (void)state_->Put({&put, 1});
  Commit();
  FrontierPull pull;
  pull.lease_seconds = 10;
  std::vector<FrontierServed> served = Pull(pull);
  ASSERT_THAT(served, SizeIs(1));
  put.known = true;
  put.reports = false;
  put.due = now_ + 100;
  put.metadata = "new";
  EXPECT_EQ(state_->Put({&put, 1})[0], FrontierOutcome::kOk);
  Commit();
  EXPECT_EQ(state_->table().counts().in_flight, 1U);
  const FrontierName name = {"c", "k", "u"};
  EXPECT_EQ(state_->Read({&name, 1}).front()->metadata, "new");
  // A client that may not report cannot complete the URL either.
  put.due = 0;
  EXPECT_EQ(state_->Put({&put, 1})[0], FrontierOutcome::kFailed);
  Commit();
  Load();
  EXPECT_EQ(state_->table().counts().in_flight, 1U);
  // After the lease has ended, the URL waits for its new date.
  Pass(10);
  EXPECT_EQ(state_->table().counts().in_flight, 0U);
  EXPECT_THAT(Pull({}), IsEmpty());
  Pass(90);
  EXPECT_THAT(Pull({}), SizeIs(1));
  // The result of the fetching client ends the lease. Afterwards any client may set the date.
  put = {.crawl = "c", .key = "k", .url = "u", .known = true, .due = now_ + 5};
  EXPECT_EQ(state_->Put({&put, 1})[0], FrontierOutcome::kOk);
  EXPECT_EQ(state_->table().counts().in_flight, 0U);
  put.reports = false;
  put.due = 0;
  EXPECT_EQ(state_->Put({&put, 1})[0], FrontierOutcome::kOk);
  Commit();
  EXPECT_EQ(state_->table().counts().completed, 1U);
}

// --- Bytes of a pull

TEST_F(FrontierStateTest, APullGivesSoManyBytesAtMostAndLosesNothing) {
  std::vector<FrontierPut> puts;
  for (int i = 0; i < 60; ++i) {
    puts.push_back({.crawl = "c",
                    .key = "k" + std::to_string(i % 3),
                    .url = "u" + std::to_string(i),
                    .metadata = std::string(i % 4 == 0 ? 60'000 : 3000, 'x')});
  }
  (void)state_->Put(puts);
  Commit();
  FrontierPull pull;
  std::set<std::string> urls;
  while (!pull.over) {
    std::vector<FrontierServed> served;
    ASSERT_TRUE(state_->Pull(&pull, 128, &served).ok());
    Commit();
    size_t bytes = 0;
    for (const FrontierServed& url : served) {
      bytes += BytesOf(url);
      urls.insert(url.url);
    }
    EXPECT_LE(bytes, limits::kMaxBytesPerPull);
  }
  EXPECT_THAT(urls, SizeIs(60));
}

// If the limits of a client name a crawl id, its queues count for this client, even if another
// client used the crawl id before.
TEST_F(FrontierStateTest, ACrawlIdIsTheClientsWhoseLimitsNameIt) {
  Load(FrontierLimits{.queues = 10});
  const auto put = [this](const Claim& claim, const std::string& crawl, const std::string& key) {
    const FrontierPut one = {.crawl = crawl, .key = key, .url = "u", .claim = claim};
    const FrontierOutcome outcome = state_->Put({&one, 1})[0];
    Commit();
    return outcome;
  };
  EXPECT_EQ(put({.client = 1}, "news", "k"), FrontierOutcome::kOk);
  for (const char* key : {"a", "b", "c"}) {
    EXPECT_EQ(put({.client = 1}, "evil", key), FrontierOutcome::kOk);
  }
  EXPECT_EQ(put({.client = 1}, "news", "more"), FrontierOutcome::kFailed);
  EXPECT_EQ(put({.client = 2, .named = true}, "news", "more"), FrontierOutcome::kOk);
  EXPECT_EQ(state_->table().OwnerOf(1).counts.kept_queues, 3U);
  EXPECT_EQ(state_->table().OwnerOf(2).counts.kept_queues, 2U);
}

TEST_F(FrontierStateTest, OneClientDoesNotUseUpTheCrawlIds) {
  std::vector<FrontierPut> puts;
  for (size_t i = 0; i < limits::kMaxFrontierCrawls; ++i) {
    puts.push_back({.crawl = "c" + std::to_string(i), .key = "k", .url = "u"});
    puts.back().claim.client = 1;
  }
  const auto outcomes = state_->Put(puts);
  Commit();
  const auto made = std::count(outcomes.begin(), outcomes.end(), FrontierOutcome::kOk);
  EXPECT_EQ(static_cast<size_t>(made), (limits::kMaxFrontierCrawls * 9 / 16 + 1) / 2);
  for (const Claim& claim : {Claim{.client = 2}, Claim{.client = 1, .named = true}}) {
    const FrontierPut one = {
        .crawl = "of" + std::to_string(claim.client), .key = "k", .url = "u", .claim = claim};
    EXPECT_THAT(state_->Put({&one, 1}), ::testing::ElementsAre(FrontierOutcome::kOk));
    Commit();
  }
}

TEST_F(FrontierStateTest, QueuesThatAreNotDueAreNotLookedAt) {
  // If each of these pulls walked through all queues, the test would take minutes.
  std::vector<FrontierPut> puts;
  for (int i = 0; i < 20'000; ++i) {
    puts.push_back({.crawl = "c",
                    .key = "k" + std::to_string(i),
                    .url = "u",
                    .metadata = {},
                    .known = true,
                    .due = now_ + (i % 20 == 0 ? 0 : 1'000'000)});
  }
  (void)state_->Put(puts);
  Commit();
  for (int i = 0; i < 1000; ++i) {
    FrontierPull pull;
    pull.queues = 1;
    EXPECT_THAT(Pull(pull), SizeIs(1));
  }
  for (int i = 0; i < 10'000; ++i) EXPECT_THAT(Pull({}), IsEmpty());
}

TEST(FrontierNames, HostsAreCutOutOfUrls) {
  const std::pair<const char*, const char*> cases[] = {
      {"http://a.test/x", "a.test"},
      {"http://A.test", "A.test"},
      {"http://a.test:80/", "a.test"},
      {"http://a.test?x=/", "a.test"},
      {"http://a.test&x", "a.test"},
      {"http://a.test#x@y", "a.test"},
      {"http://u:p@a.test:80/", "a.test"},
      {"http://u@v@a.test/", "a.test"},
      {"http://[::1]:80/x", "[::1]"},
      {"http://u:p@[::1]/", "[::1]"},
      {"http://[::1", ""},
      {"http://", ""},
      {"http:///x", ""},
      {"a.test/x", ""},
      {"", ""},
      {"x://a_b.test/http://c.test/", "a_b.test"},
  };
  for (const auto& [url, host] : cases) EXPECT_EQ(FrontierHostOf(url), host) << url;
}

TEST(FrontierNames, BlankIsTheDefault) {
  EXPECT_EQ(FrontierCrawlName(""), "DEFAULT");
  EXPECT_EQ(FrontierCrawlName(" \t"), "DEFAULT");
  EXPECT_EQ(FrontierCrawlName(" x"), " x");
}

}  // namespace
}  // namespace freshet
