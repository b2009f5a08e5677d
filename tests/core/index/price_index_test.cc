// Tests the price index by comparison with its twin, a full scan: random operations of every kind,
// and every pick compared.
#include "core/index/price_index.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/index/wake_threshold.h"
#include "core/model/policy.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "lab/common/brute_index.h"
#include "tests/support/index_twins.h"

namespace freshet {
namespace {

constexpr const char* kPolicies[] = {"greedy",          "greedy_cis", "greedy_ncis",
                                     "ncis_approx_2",   "harmonic",   "harmonic_ncis",
                                     "greedy_cis_plus", "new_content"};

std::function<uint64_t()> Seeded(uint64_t seed) {
  return [random = Random(seed)]() mutable { return random.Next(); };
}

// Returns a page that changes 0.2 times a day, or up to `spread` times as often, and that was
// crawled within the last day.
IndexEntry GreedyPage(Random& random, double spread, Instant now) {
  IndexEntry entry;
  entry.policy = *ParsePolicy("greedy");
  const auto rate = static_cast<float>((0.2 + spread * random.Uniform()) / 86400);
  entry.rates = {.importance = static_cast<float>(0.5 + random.Uniform()),
                 .change_rate = rate,
                 .unsignalled_rate = rate,
                 .staleness_rate = rate};
  entry.since = now - Duration::FromSeconds(86400 * random.Uniform());
  return entry;
}

class PriceIndexTest : public ::testing::TestWithParam<const char*> {};

void Agree(IndexTwins& twins, int steps) {
  for (int i = 0; i < steps; ++i) {
    const std::string difference = twins.Step();
    ASSERT_EQ(difference, "") << "step " << i;
  }
}

TEST_P(PriceIndexTest, PicksWhatAFullScanPicks) {
  const Policy policy = *ParsePolicy(GetParam());
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    IndexTwins twins(policy, {.pages = seed == 1 ? 30u : 700u, .hosts = seed == 3 ? 3u : 40u},
                     Seeded(seed));
    ASSERT_NO_FATAL_FAILURE(Agree(twins, 6000));
    EXPECT_GT(twins.picks(), 1000u);
  }
}

// Hosts join and leave groups. Groups and hosts are blocked and become free again.
TEST_P(PriceIndexTest, PicksWhatAFullScanPicksOfGroups) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    IndexTwins twins(*ParsePolicy(GetParam()),
                     {.pages = seed < 3 ? 100u : 700u,
                      .hosts = seed == 3 ? 300u : 40u,
                      .groups = seed == 2 ? 1u : 6u},
                     Seeded(seed));
    ASSERT_NO_FATAL_FAILURE(Agree(twins, 6000));
    EXPECT_GT(twins.picks(), 1000u);
  }
}

// A million operations under all policies. The scan checks one pick in twenty.
TEST_P(PriceIndexTest, SurvivesUpheavals) {
  IndexTwins twins(*ParsePolicy(GetParam()), {.pages = 1000, .hosts = 20, .compare_every = 20},
                   Seeded(11));
  constexpr int kSteps = 125'000 / 10;
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    ASSERT_NO_FATAL_FAILURE(Agree(twins, kSteps));
    twins.ChangeCrawlRate(1.5);
    ASSERT_NO_FATAL_FAILURE(Agree(twins, kSteps));
    twins.ChangeCrawlRate(3);
    ASSERT_NO_FATAL_FAILURE(Agree(twins, kSteps));
    twins.ChangeCrawlRate(1 / 4.5);
    twins.Pause(Duration::Days(1));
    ASSERT_NO_FATAL_FAILURE(Agree(twins, kSteps));
    twins.RemoveTop();
    ASSERT_NO_FATAL_FAILURE(Agree(twins, kSteps));
    twins.AddMissing();
  }
}

TEST(PriceIndex, SurvivesSwitchesOfThePolicy) {
  IndexTwins twins(*ParsePolicy("greedy_ncis"),
                   {.pages = 5000, .hosts = 100, .pick_interval = Duration::Micros(200)},
                   Seeded(5));
  for (const char* name : kPolicies) {
    SCOPED_TRACE(name);
    twins.SwitchPolicy(*ParsePolicy(name));
    ASSERT_NO_FATAL_FAILURE(Agree(twins, 500));
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, PriceIndexTest, ::testing::ValuesIn(kPolicies),
                         [](const auto& each) { return std::string(each.param); });

// The index splits its band of awake pages according to the rate of the picks
// (core/index/awake_band.h). Bursts and pauses with few pages, and the replacement of all of many
// pages at once, come while the index is half-way through preparing the next split.
TEST(PriceIndex, BearsAnUnevenPace) {
  for (uint64_t seed = 0; seed < 160; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const auto pages = static_cast<uint32_t>(seed % 8 == 7 ? 400 : 1 + random.Below(6));
    PriceIndex index;
    BruteIndex brute;
    Instant now = Instant::FromUnixSeconds(1'700'000'000);
    const auto put = [&](uint32_t page, const IndexEntry& entry) {
      index.Put(PageId(page), entry);
      brute.Put(PageId(page), entry);
    };
    for (uint32_t page = 0; page < pages; ++page) {
      put(page, GreedyPage(random, 5, now));
    }
    double pace = 1;
    for (int step = 0; step < 2500; ++step) {
      if (random.Below(40) == 0) pace = std::pow(10.0, 6.5 * random.Uniform() - 5);
      now = now + Duration::FromSeconds(pace * (0.5 + random.Uniform()));
      const auto pick = index.Best(now);
      const auto expected = brute.Best(now);
      ASSERT_TRUE(pick && expected);
      ASSERT_NEAR(pick->value, expected->value, 1e-11 * expected->value) << "step " << step;
      if (pages > 6 && random.Below(300) == 0) {
        for (uint32_t page = 0; page < pages; ++page) put(page, *brute.Find(PageId(page)));
      }
      index.Restart(pick->page, 0, now);
      brute.Restart(pick->page, 0, now);
    }
  }
}

TEST(Crossing, IsRoundedDownAndNeverWraps) {
  EXPECT_EQ(Crossing(0, 1).exponent(), 0);
  EXPECT_EQ(Crossing(0x1p-60, 1).exponent(), 0);
  EXPECT_EQ(Crossing(0x1p-59, 1).exponent(), 0x1p-59);
  EXPECT_EQ(Crossing(Crossing::kEnd, 1).exponent(), HUGE_VAL);
  EXPECT_EQ(Crossing(HUGE_VAL, 1).exponent(), HUGE_VAL);
  const double last = std::nextafter(Crossing::kEnd, 0);
  Random random(5);
  for (int i = 0; i < 10000; ++i) {
    const double exponent = i == 0 ? last : last * std::pow(2.0, -63 * random.Uniform());
    const Crossing crossing(exponent, 7);
    const auto read = Crossing::FromCode(crossing.code(), crossing.level(), true);
    ASSERT_EQ(read.exponent(), crossing.exponent());
    ASSERT_LE(crossing.exponent(), exponent);
    // A code stores exponents below 2^-59 as 0.
    ASSERT_GE(crossing.exponent(), exponent * (1 - 0x1p-26) - 0x1p-59);
  }
}

// Replaces pages slice by slice, like a change of policy or an epoch.
TEST(PriceIndex, PagesThatAreReplacedLeaveFewEntriesBehind) {
  constexpr uint32_t kPages = 100'000;
  constexpr uint32_t kSlice = 500;
  constexpr Instant kStart = Instant::FromUnixSeconds(1'700'000'000);
  Random random(3);
  PriceIndex index;
  Instant now = kStart;
  uint64_t most = 0;
  for (const char* name : {"greedy", "greedy_ncis", "greedy", "harmonic", "greedy_cis"}) {
    const Policy policy = *ParsePolicy(name);
    for (uint32_t page = 0; page < kPages; ++page) {
      IndexEntry entry;
      entry.policy = policy;
      entry.rates.importance = random.Uniform(0.5, 2);
      entry.rates.change_rate = random.Uniform(0.2, 5) / 86400;
      entry.rates.unsignalled_rate = entry.rates.change_rate / 2;
      entry.rates.signal_rate = entry.rates.change_rate;
      entry.rates.signal_weight = 1;
      entry.rates.staleness_rate = entry.rates.unsignalled_rate;
      entry.since = now - Duration::FromSeconds(random.Uniform(0, 86400));
      index.Put(PageId(page), entry);
      if (page % kSlice != 0) continue;
      now = now + Duration::Millis(1);
      ASSERT_TRUE(index.Best(now));
      most = std::max(most, index.entries());
    }
  }
  EXPECT_GT(most, kPages / 2) << "most pages sleep";
  EXPECT_LT(most, kPages + kPages / 4);
}

// Tests a few pages, which the index files from a list, and more pages than this list holds.
TEST(PriceIndex, FilesAtTheFirstPickWhatWasPutAnywhere) {
  const Instant now = Instant::FromUnixSeconds(1'700'000'000);
  const auto page_of = [](uint32_t i) { return PageId(999'983 - 150 * i); };
  for (const uint32_t pages : {2u, 100u, 5000u}) {
    PriceIndex index;
    index.GrowTo(1'000'000, 1);
    for (uint32_t i = 0; i < pages; ++i) {
      IndexEntry entry;
      entry.policy = *ParsePolicy("greedy");
      entry.rates.importance = 1 + i;
      entry.rates.change_rate = entry.rates.unsignalled_rate = 1.0 / 86400;
      entry.rates.staleness_rate = entry.rates.unsignalled_rate;
      entry.since = now - Duration::Days(1);
      index.Put(page_of(i), entry);
      index.Put(page_of(i), entry);
    }
    index.Suspend(page_of(pages - 1));
    index.Remove(page_of(pages - 2));
    for (uint32_t i = pages - 2; i-- > 0;) {
      const auto best = index.Best(now);
      ASSERT_TRUE(best);
      ASSERT_EQ(best->page, page_of(i)) << "the next by importance";
      index.Remove(best->page);
    }
    EXPECT_FALSE(index.Best(now));
    EXPECT_EQ(index.size(), 1u) << "the one suspended";
  }
}

TEST(PriceIndex, APageMayNeverBeEligible) {
  PriceIndex index;
  IndexEntry entry;
  entry.policy = *ParsePolicy("greedy");
  entry.rates = {.importance = 1, .change_rate = 1, .unsignalled_rate = 1, .staleness_rate = 1};
  entry.eligible_from = Instant::Infinite();
  index.Put(PageId(0), entry);
  EXPECT_FALSE(index.Best(Instant::FromUnixSeconds(1)));
  EXPECT_EQ(index.Find(PageId(0))->eligible_from, Instant::Infinite());
  entry.eligible_from = Instant();
  index.Put(PageId(1), entry);
  const auto best = index.Best(Instant::FromUnixSeconds(2));
  ASSERT_TRUE(best);
  EXPECT_EQ(best->page, PageId(1));
}

TEST(PriceIndex, OneThatStartsSmallLetsItsPagesSleep) {
  constexpr uint32_t kPages = 12'000;
  Random random(3);
  PriceIndex index;
  Instant now = Instant::FromUnixSeconds(1'700'000'000);
  for (uint32_t page = 0; page < kPages; ++page) {
    index.Put(PageId(page), GreedyPage(random, 2, now));
    if (page == 0) {
      ASSERT_TRUE(index.Best(now));
    }
  }
  for (uint32_t pick = 0; pick < 2 * kPages; ++pick) {
    now = now + Duration::FromSeconds(86400.0 / kPages);
    const auto best = index.Best(now);
    ASSERT_TRUE(best);
    index.Restart(best->page, 0, now);
  }
  EXPECT_LT(index.awake(), kPages / 5);
}

TEST(PriceIndex, DoesNotLookAtEveryPage) {
  constexpr int kPages = 4000;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  PriceIndex index;
  Instant now = Instant::FromUnixSeconds(1);
  const Policy policy = *ParsePolicy("greedy");
  for (uint32_t i = 0; i < kPages; ++i) {
    IndexEntry entry;
    PageRates rates;
    rates.change_rate = rates.unsignalled_rate = rates.staleness_rate = uniform(random);
    entry.policy = policy;
    entry.rates = MakeIndexRates(uniform(random), rates);
    entry.since = now;
    index.Put(PageId(i), entry);
  }
  const auto run = [&](int picks) {
    for (int i = 0; i < picks; ++i) {
      now = now + Duration::Micros(2500);  // 400 crawls per second
      const auto best = index.Best(now);
      ASSERT_TRUE(best);
      index.Restart(best->page, 0, now);
    }
  };
  run(20'000);
  const uint64_t before = index.evaluations();
  run(4000);
  EXPECT_LT(static_cast<double>(index.evaluations() - before) / 4000, 100);
}

TEST(PriceIndex, EqualPagesTakeTurns) {
  PriceIndex index;
  PageRates rates;
  rates.change_rate = rates.unsignalled_rate = rates.staleness_rate = 1;
  Instant now = Instant::FromUnixSeconds(1);
  for (uint32_t i = 0; i < 5; ++i) {
    IndexEntry entry;
    entry.policy = *ParsePolicy("greedy");
    entry.rates = MakeIndexRates(1, rates);
    entry.exponent = HUGE_VAL;
    entry.since = now + Duration::Micros(i);
    index.Put(PageId(4 - i), entry);
  }
  for (uint32_t i = 0; i < 5; ++i) {
    now = now + Duration::Seconds(1);
    const auto best = index.Best(now);
    ASSERT_TRUE(best);
    EXPECT_EQ(best->page, PageId(4 - i));
    index.Remove(best->page);
  }
  EXPECT_FALSE(index.Best(now));
}

// Pages of an import: all were crawled on one day, and have the rates of unknown pages.
TEST(PriceIndex, ThousandsOfEqualPagesTakeTurnsAmongOthers) {
  constexpr uint32_t kEqual = 3'000;
  constexpr uint32_t kPages = 10'000;
  Random random(5);
  PriceIndex index;
  BruteIndex brute;
  Instant now = Instant::FromUnixSeconds(1'700'000'000);
  for (uint32_t page = 0; page < kPages; ++page) {
    IndexEntry entry = GreedyPage(random, 2, now);
    if (page % 3 == 0 && page < 3 * kEqual) {
      PageRates rates;
      rates.change_rate = rates.unsignalled_rate = rates.staleness_rate = 1e-5;
      entry.rates = MakeIndexRates(1, rates);
      entry.exponent = 5;
      entry.since = now;
    }
    index.Put(PageId(page), entry);
    brute.Put(PageId(page), entry);
  }
  uint64_t equal = 0;
  for (int pick = 0; pick < 300; ++pick) {
    now = now + Duration::Seconds(7);
    const auto best = index.Best(now);
    const auto expected = brute.Best(now);
    ASSERT_TRUE(best && expected);
    ASSERT_EQ(best->page, expected->page) << "pick " << pick;
    EXPECT_EQ(best->value, expected->value);
    if (best->page.value() % 3 == 0) ++equal;
    index.Restart(best->page, 0, now);
    brute.Restart(best->page, 0, now);
  }
  EXPECT_GT(equal, 200U);
}

// A client can set new times for its pages again and again.
TEST(PriceIndexAlarms, AreNoMoreThanThePagesThatWait) {
  Random random(5);
  Instant now = Instant::FromMicros(1'000'000'000);
  PriceIndex index;
  constexpr uint32_t kPages = 1000;
  IndexEntry entry = GreedyPage(random, 1, now);
  for (uint32_t i = 0; i < 400'000; ++i) {
    const Instant first = now + Duration::Hours(1) - Duration::Micros(i);
    // Some times repeat, even with other times in between, and some pages have no time.
    entry.eligible_from = i % 7 == 0 ? Instant() : i % 3 == 0 ? now + Duration::Hours(2) : first;
    entry.forced_at = i % 5 == 0 ? first + Duration::Hours(1) : Instant::Infinite();
    index.Put(PageId(i % kPages), entry);
    if (i % 100 == 0) (void)index.Best(now);
    ASSERT_LT(index.alarms(), 2 * (size_t{1} << 17)) << i;
  }
}

// A client can have any number of pages that become eligible at the same instant.
TEST(PriceIndexAlarms, OfOneInstantRingInParts) {
  Random random(6);
  const Instant now = Instant::FromMicros(1'000'000'000);
  const Instant then = now + Duration::Hours(1);
  PriceIndex index;
  constexpr uint32_t kPages = 10'000;
  IndexEntry entry = GreedyPage(random, 0, now);
  index.Put(PageId(0), entry);
  entry.eligible_from = then;
  for (uint32_t page = 1; page < kPages; ++page) {
    entry.rates.importance = static_cast<float>(page + 1);
    index.Put(PageId(page), entry);
  }
  ASSERT_EQ(index.Best(now)->page, PageId(0));
  const std::optional<IndexPick> first = index.Best(then);
  ASSERT_TRUE(first);
  EXPECT_NE(first->page, PageId(kPages - 1)) << "one pick had all the work";
  for (uint32_t page = 0; page < kPages; page += 2048) (void)index.Best(then);
  EXPECT_EQ(index.Best(then)->page, PageId(kPages - 1));
}

// A site with many pages of equal or almost equal value. One page is taken each second.
class OneHostTest : public ::testing::TestWithParam<double> {
 protected:
  static constexpr uint32_t kPages = 10'000;
  static constexpr Instant kStart = Instant::FromMicros(1'000'000'000'000);
};

TEST_P(OneHostTest, APickLooksAtFewOfItsPages) {
  Random random(8);
  PriceIndex index;
  BruteIndex twin;
  IndexEntry entry = GreedyPage(random, 0, kStart);
  const auto put = [&](uint32_t page) {
    index.Put(PageId(page), entry);
    twin.Put(PageId(page), entry);
  };
  for (uint32_t i = 0; i < kPages; ++i) {
    entry.since = kStart - Duration::FromSeconds(86400 * (1 + GetParam() * random.Uniform()));
    put(i);
  }
  // Pages of another host, which are picked while the site is not free.
  entry.host = HostId(1);
  entry.rates.importance /= 2;
  for (uint32_t i = kPages; i < kPages + 300; ++i) put(i);
  uint64_t evaluations = 0;
  for (int tick = 0; tick < 240; ++tick) {
    const Instant now = kStart + Duration::Millis(250 * tick);
    const uint64_t before = index.evaluations();
    const std::optional<IndexPick> pick = index.Best(now);
    ASSERT_TRUE(pick);
    if (tick >= 40) evaluations += index.evaluations() - before;
    if (tick % 8 == 0) {
      const std::optional<IndexPick> best = twin.Best(now);
      ASSERT_GE(pick->value, best->value * (1 - 0x1p-7)) << "tick " << tick;
    }
    index.Suspend(pick->page);
    twin.Suspend(pick->page);
    if (index.HostOf(pick->page) != HostId()) continue;
    index.SetHostFree(HostId(), now + Duration::Seconds(1));
    twin.SetHostFree(HostId(), now + Duration::Seconds(1));
  }
  EXPECT_LT(evaluations, 100'000U) << "500 a pick";
}

INSTANTIATE_TEST_SUITE_P(Spreads, OneHostTest, ::testing::Values(0.0, 0.005, 1.0));

// All pages of a site were crawled on one day, and are filed when the server starts. Previously,
// while the site was not free, the time of a pick grew with the square of the number of these
// pages.
TEST(PriceIndex, PagesOfATakenHostAreLeftOutAtOnce) {
  constexpr uint32_t kPages = 400'000;
  constexpr Instant kStart = Instant::FromMicros(10'000'000'000'000);
  Random random(9);
  PriceIndex index;
  IndexEntry entry = GreedyPage(random, 0, kStart);
  const float importance = entry.rates.importance;
  for (uint32_t page = 0; page < kPages; ++page) {
    entry.rates.importance = importance * static_cast<float>(1 + 1e-6 * random.Uniform());
    entry.since = kStart - Duration::Hours(720) + Duration::FromSeconds(random.Uniform());
    index.Put(PageId(page), entry);
  }
  for (int tick = 0; tick < 100; ++tick) {
    const Instant now = kStart + Duration::Seconds(tick);
    const std::optional<IndexPick> pick = index.Best(now);
    ASSERT_TRUE(pick);
    index.Suspend(pick->page);
    index.SetHostFree(HostId(), now + Duration::Seconds(1));
    for (int other = 1; other < 10; ++other) {
      EXPECT_FALSE(index.Best(now + Duration::Millis(100 * other)));
    }
  }
}

// Makes ten picks a second. After each pick, the host of the page is blocked for a second. Expects
// that host 0, whose pages are worth more than all others, has each tenth pick, and that every
// other pick finds a page of another host.
void PickBesideASite(PriceIndex& index, Instant start) {
  for (int tick = 0; tick < 200; ++tick) {
    const Instant now = start + Duration::Millis(100 * tick);
    const std::optional<IndexPick> pick = index.Best(now);
    ASSERT_TRUE(pick) << "tick " << tick;
    const HostId host = index.HostOf(pick->page);
    EXPECT_EQ(host == HostId(0), tick % 10 == 0) << "the site is worth more when it is free";
    index.Suspend(pick->page);
    index.SetHostFree(host, now + Duration::Seconds(1));
  }
}

// Pages that share a line with a page whose host is taken can be on free hosts. Previously, they
// were left out together with that page, and a pick found nothing.
TEST(PriceIndex, EqualPagesOfTakenHostsHideNoneOfFreeHosts) {
  constexpr uint32_t kOfOneHost = 1000;
  constexpr uint32_t kOfOthers = 250;
  constexpr Instant kStart = Instant::FromMicros(10'000'000'000'000);
  Random random(9);
  PriceIndex index;
  IndexEntry entry = GreedyPage(random, 0, kStart);
  entry.since = kStart - Duration::Hours(720);
  for (uint32_t page = 0; page < kOfOneHost; ++page) index.Put(PageId(page), entry);
  entry.rates.importance /= 1024;
  for (uint32_t page = kOfOneHost; page < kOfOneHost + kOfOthers; ++page) {
    entry.host = HostId(1 + page % 50);
    index.Put(PageId(page), entry);
  }
  PickBesideASite(index, kStart);
}

// Pages that were never crawled, most of them of one site that comes first. Previously, a pick
// moved 256 pages of the site out of the way, and found nothing while more of them were left.
TEST(PriceIndex, NewPagesOfATakenHostHideNoneOfFreeHosts) {
  constexpr uint32_t kOfOneHost = 100'000;
  constexpr uint32_t kOfOthers = 2000;
  constexpr Instant kStart = Instant::FromMicros(10'000'000'000'000);
  Random random(9);
  for (const bool picked_before : {false, true}) {
    PriceIndex index;
    IndexEntry entry = GreedyPage(random, 0, kStart);
    entry.exponent = std::numeric_limits<double>::infinity();
    entry.rates.importance = 1;
    for (uint32_t page = 0; page < kOfOthers; ++page) {
      entry.host = HostId(1 + page);
      index.Put(PageId(page), entry);
    }
    if (picked_before) index.Suspend(index.Best(kStart)->page);
    entry.host = HostId(0);
    entry.rates.importance = 2;
    for (uint32_t page = kOfOthers; page < kOfOthers + kOfOneHost; ++page) {
      index.Put(PageId(page), entry);
    }
    ASSERT_NO_FATAL_FAILURE(PickBesideASite(index, kStart));
  }
}

}  // namespace
}  // namespace freshet
