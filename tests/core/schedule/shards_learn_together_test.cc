// Tests that a store learns the same with any number of shards: the same pages and events give the
// same rates, to the last bit. The number of divisions of a fleet does not matter either.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/base/url.h"
#include "core/estimate/epoch_sums.h"
#include "core/estimate/host_trust.h"
#include "core/estimate/learned_sites.h"
#include "core/schedule/learning.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/common/memory_shard.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

constexpr double kDaySeconds = 86400;
constexpr uint64_t kHosts = 60;
constexpr uint64_t kPagesPerHost = 8;

// The way in which shards share what they learn.
enum class Together { kAsOneStore, kAsDivisions };

// The shards of one store, or the stores of a fleet with one shard each: slot s is in shard s
// modulo their number. Owner thread only.
class DividedStore {
 public:
  explicit DividedStore(size_t shards, Together together = Together::kAsOneStore)
      : together_(together) {
    ShardOptions options;
    options.estimator.since = kStart;
    for (size_t i = 0; i < shards; ++i) shards_.push_back(std::make_unique<MemoryShard>(options));
  }

  void Apply(const std::string& host, const Event& event, double at) {
    const Reply reply = shards_[SlotOfHost(host).value() % shards_.size()]->Apply(event, At(at));
    ASSERT_TRUE(reply.status.ok()) << reply.status.ToString();
  }
  void RunTimers(double at) {
    for (const auto& shard : shards_) shard->RunTimers(At(at));
  }
  void RunEpoch(double at) {
    std::vector<EpochSums> sums;
    for (const auto& shard : shards_) sums.push_back(shard->CollectEpoch(At(at)));
    if (together_ == Together::kAsDivisions) return LearnAsDivisions(sums, at);
    EpochSums all;
    for (const EpochSums& its : sums) all.Add(its);
    for (const auto& shard : shards_) shard->FinishEpoch(all, At(at));
  }
  // Returns all pages, without the numbers that depend on the shard, which are those of sites and
  // bursts.
  [[nodiscard]] std::map<PageNumber, PageRecord> Pages() const {
    std::map<PageNumber, PageRecord> pages;
    for (const auto& shard : shards_) {
      for (const auto& [number, page] : shard->pages()) {
        PageRecord& copy = pages[number] = page;
        copy.state.rates.site = 0;
        for (BurstSignal& signal : copy.state.bursts) signal.burst = 0;
      }
    }
    return pages;
  }
  [[nodiscard]] std::vector<SourceTrust> Trust(size_t shard) const {
    return TrustIn(shards_[shard]->state().learning().estimator().sites());
  }

 private:
  void LearnAsDivisions(const std::vector<EpochSums>& sums, double at) {
    for (uint32_t own = 0; own < sums.size(); ++own) {
      DivisionTotals others;
      for (uint32_t i = 0; i < sums.size(); ++i) {
        if (i != own) others.emplace(i, sums[i].Totals());
      }
      EpochSums all = sums[own];
      all.SetOthers(own, std::move(others));
      shards_[own]->FinishEpoch(all, At(at));
    }
  }

  const Together together_;
  std::vector<std::unique_ptr<MemoryShard>> shards_;
};

std::string HostOf(uint64_t i) { return fmt::format("host{}.example", i); }
PageKey KeyOf(uint64_t host, uint64_t page) {
  return {"DEFAULT", fmt::format("https://{}/{}", HostOf(host), page)};
}

// Makes a random crawl or signal of some page. Hosts join over time.
void Happen(Random& random, double at, double until, DividedStore& store) {
  const uint64_t host = random.Below(1 + static_cast<uint64_t>((kHosts - 1) * at / until));
  UpsertPage page{.key = KeyOf(host, random.Below(kPagesPerHost)), .host = HostOf(host)};
  page.complete_signals = host == 3;
  store.Apply(page.host, page, at);
  if (random.Below(2) == 0) {
    ReportCrawl report{.key = page.key, .fetched = At(at)};
    const bool changed = random.Uniform() < 0.1 + 0.8 * static_cast<double>(host) / kHosts;
    report.outcome = changed ? CrawlOutcome::kChanged : CrawlOutcome::kUnchanged;
    store.Apply(page.host, report, at);
    return;
  }
  SignalChange signal{.key = page.key, .source = static_cast<uint8_t>(random.Below(2))};
  signal.pages_in_poll = static_cast<uint32_t>(1 + random.Below(4));
  if (signal.pages_in_poll > 2) {
    signal.poll = (1 + static_cast<uint64_t>(at / kDaySeconds / 3)) * kHosts + host;
  }
  signal.changed = At(at - random.Uniform(0, kDaySeconds));
  store.Apply(page.host, signal, at);
}

DividedStore After(size_t shards, double days, Together together = Together::kAsOneStore) {
  DividedStore store(shards, together);
  Random random(7);
  constexpr double kStep = 0.05;
  int steps = 0;
  for (double day = kStep; day < days; day += kStep) {
    Happen(random, day * kDaySeconds, days * kDaySeconds, store);
    store.RunTimers(day * kDaySeconds);
    if (++steps % 1000 == 0) store.RunEpoch(day * kDaySeconds);
  }
  return store;
}

TEST(ShardsLearnTogether, TheSameWhateverTheirNumber) {
  constexpr double kDays = 320;
  const DividedStore one = After(1, kDays);
  const auto pages = one.Pages();
  ASSERT_GT(pages.size(), kHosts * 3);
  ASSERT_EQ(one.Trust(0).size(), 4u) << "two sources, alone and in bursts";
  for (const size_t shards : {size_t{2}, size_t{4}}) {
    const DividedStore several = After(shards, kDays);
    const auto same = several.Pages();
    ASSERT_EQ(same.size(), pages.size());
    for (const auto& [number, page] : pages) {
      ASSERT_EQ(same.at(number), page) << page.key.url << " in " << shards
                                       << " shards: " << same.at(number).state.rates.change_rate
                                       << " and " << page.state.rates.change_rate;
    }
    for (size_t i = 0; i < shards; ++i) {
      ASSERT_EQ(several.Trust(i).size(), 4u);
      EXPECT_EQ(several.Trust(i)[0].precision, one.Trust(0)[0].precision);
      EXPECT_EQ(several.Trust(i)[0].signals, one.Trust(0)[0].signals);
    }
  }
}

// Divisions add up their sums in a different order than slots, so rates can differ slightly. All
// divisions have the same sums.
TEST(ShardsLearnTogether, TheSameInEveryDivisionOfAFleet) {
  constexpr double kDays = 320;
  const DividedStore one = After(1, kDays);
  const DividedStore fleet = After(3, kDays, Together::kAsDivisions);
  const auto pages = one.Pages();
  const auto same = fleet.Pages();
  ASSERT_EQ(same.size(), pages.size());
  for (const auto& [number, page] : pages) {
    const double rate = page.state.rates.change_rate;
    ASSERT_NEAR(same.at(number).state.rates.change_rate, rate, 0.02 * rate) << page.key.url;
  }
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(fleet.Trust(i).size(), 4u);
    EXPECT_EQ(fleet.Trust(i)[0].precision, fleet.Trust(0)[0].precision);
    EXPECT_NEAR(fleet.Trust(i)[0].precision, one.Trust(0)[0].precision, 1e-9);
    EXPECT_NEAR(fleet.Trust(i)[0].signals, one.Trust(0)[0].signals, 1e-6);
  }
}

// Makes sure that the tests above depend on sharing: without an epoch in common the rates differ.
TEST(ShardsLearnTogether, WhatOthersShowedCounts) {
  DividedStore one(1);
  DividedStore two(2);
  Random random(3);
  for (double day = 1; day < 200; day += 0.1) {
    Random again = random;
    Happen(random, day * kDaySeconds, 200 * kDaySeconds, one);
    Happen(again, day * kDaySeconds, 200 * kDaySeconds, two);
  }
  one.RunEpoch(200 * kDaySeconds);
  EXPECT_NE(one.Pages(), two.Pages());
  two.RunEpoch(200 * kDaySeconds);
  EXPECT_EQ(one.Pages(), two.Pages());
}

// An epoch writes only pages whose rates have changed notably.
TEST(ShardsLearnTogether, RatesAreTakenWhereTheyDifferNotably) {
  MemoryShard shard({});
  Random random(5);
  for (int i = 0; i < 50; ++i) {
    const UpsertPage page{.key = KeyOf(1, random.Below(10)), .host = HostOf(1)};
    shard.Apply(page, At(i * kDaySeconds));
    ReportCrawl report{.key = page.key, .fetched = At(i * kDaySeconds)};
    report.outcome = random.Below(3) == 0 ? CrawlOutcome::kChanged : CrawlOutcome::kUnchanged;
    shard.Apply(report, At(i * kDaySeconds));
  }
  shard.RunEpoch(At(50 * kDaySeconds));
  for (const auto& [number, stored] : shard.pages()) {
    PageRecord page = stored;
    EXPECT_FALSE(shard.state().learning().TakeNewRates(page, At(50 * kDaySeconds)));
    page.state.rates.change_rate *= 1.005;
    EXPECT_FALSE(shard.state().learning().TakeNewRates(page, At(50 * kDaySeconds)));
    page.state.rates.change_rate *= 1.02;
    ASSERT_TRUE(shard.state().learning().TakeNewRates(page, At(50 * kDaySeconds)));
    EXPECT_NEAR(page.state.rates.change_rate, stored.state.rates.change_rate,
                0.011 * stored.state.rates.change_rate);
  }
}

}  // namespace
}  // namespace freshet
