// The price index against its twin: random operations of every kind, the pick compared at every
// step.
#include "core/index/price_index.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/index/brute_index.h"
#include "core/model/policy.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

class Twins {
 public:
  Twins(const std::string& policy, int pages, int hosts, uint64_t seed)
      : policy_(*ParsePolicy(policy)), hosts_(hosts), random_(seed) {
    for (int i = 0; i < pages; ++i) Put(PageId(static_cast<uint32_t>(i)), RandomEntry(now_));
  }

  // One random operation, then a pick that both must agree on.
  void Step() {
    const PageId page(Uniform(static_cast<uint32_t>(rates_.size())));
    switch (Uniform(20)) {
      case 0:
        Put(page, RandomEntry(now_));
        break;
      case 1:
        product_.Remove(page);
        twin_.Remove(page);
        break;
      case 2:
        BlockHost(HostId(Uniform(hosts_)));
        break;
      case 3:
        FreeHost(HostId(Uniform(hosts_)));
        break;
      case 4:
      case 5:
      case 6:
        Signal(page);
        break;
      case 7:
        // A pause: everything that sleeps may be due.
        if (Uniform(50) == 0) now_ = now_ + Duration::Days(1);
        break;
      default:
        break;
    }
    now_ = now_ + Duration::Micros(Uniform(Uniform(10) == 0 ? 100'000 : 2'000));
    Pick();
  }

  [[nodiscard]] uint64_t picks() const { return picks_; }
  [[nodiscard]] const PriceIndex& product() const { return product_; }

 private:
  uint32_t Uniform(uint32_t n) {
    return std::uniform_int_distribution<uint32_t>(0, n - 1)(random_);
  }
  double Real() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  PageRates RandomRates() {
    PaperRates rates;
    rates.importance = 1;
    rates.change_rate = Uniform(30) == 0 ? 0 : std::exp(4 * Real() - 3);
    rates.recall = Uniform(4) == 0 ? 0 : Uniform(4) == 0 ? 1 : Real();
    rates.false_signal_rate = Uniform(5) == 0 ? 0 : 0.5 * Real();
    return RatesFromPaper(rates);
  }

  IndexEntry RandomEntry(Instant since) {
    const PageRates rates = RandomRates();
    const double importance = Uniform(20) == 0 ? 0 : std::exp(3 * Real());
    IndexEntry entry;
    entry.value = MakeValueParameters(policy_, importance, rates);
    entry.exponent = Uniform(10) == 0 ? HUGE_VAL : Uniform(3) == 0 ? 2 * Real() : 0;
    entry.since = since;
    entry.host = HostId(Uniform(3) == 0 ? Uniform(hosts_) : 0);
    if (Uniform(10) == 0) entry.eligible_from = since + Duration::Millis(Uniform(500));
    if (Uniform(20) == 0) entry.forced_at = since + Duration::Millis(Uniform(3000));
    return entry;
  }

  void Put(PageId page, const IndexEntry& entry) {
    if (page.value() >= rates_.size()) rates_.resize(page.value() + 1);
    product_.Put(page, entry);
    twin_.Put(page, entry);
  }

  void Signal(PageId page) {
    const IndexEntry* old = product_.Find(page);
    if (old == nullptr) return;
    IndexEntry entry = *old;
    entry.exponent = ExponentAt(*old, now_) + entry.value.jump;
    entry.since = now_;
    Put(page, entry);
  }

  void BlockHost(HostId host) {
    const Instant until =
        Uniform(4) == 0 ? Instant::Infinite() : now_ + Duration::Millis(Uniform(50));
    product_.SetHostFree(host, until);
    twin_.SetHostFree(host, until);
  }

  void FreeHost(HostId host) {
    product_.SetHostFree(host, Instant());
    twin_.SetHostFree(host, Instant());
  }

  void Pick() {
    const auto got = product_.Best(now_);
    const auto expected = twin_.Best(now_);
    ASSERT_EQ(got.has_value(), expected.has_value());
    if (!got) return;
    ++picks_;
    if (got->page != expected->page) {
      // Ties within rounding are no mismatch.
      ASSERT_NEAR(got->value, expected->value, 1e-12 * std::abs(expected->value));
    }
    IndexEntry entry = *product_.Find(got->page);
    entry.exponent = 0;
    entry.since = now_;
    if (!entry.forced_at.infinite()) entry.forced_at = now_ + Duration::Millis(1000);
    Put(got->page, entry);
  }

  Policy policy_;
  uint32_t hosts_;
  std::mt19937_64 random_;
  PriceIndex product_;
  BruteIndex twin_;
  std::vector<char> rates_;
  Instant now_ = Instant::FromUnixSeconds(1'000'000);
  uint64_t picks_ = 0;
};

class PriceIndexTest : public testing::TestWithParam<std::string> {};

TEST_P(PriceIndexTest, PicksWhatAFullScanPicks) {
  for (const uint64_t seed : {1, 2, 3}) {
    Twins twins(GetParam(), seed == 1 ? 30 : 700, seed == 3 ? 3 : 40, seed);
    for (int i = 0; i < 6000; ++i) {
      ASSERT_NO_FATAL_FAILURE(twins.Step()) << "seed " << seed << " step " << i;
    }
    EXPECT_GT(twins.picks(), 1000u);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, PriceIndexTest,
                         testing::Values("greedy", "greedy_cis", "greedy_ncis", "ncis_approx_2",
                                         "greedy_cis_plus", "harmonic", "harmonic_ncis",
                                         "new_content"),
                         [](const auto& each) { return each.param; });

TEST(PriceIndex, DoesNotLookAtEveryPage) {
  constexpr int kPages = 20'000;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  PriceIndex index;
  Instant now = Instant::FromUnixSeconds(1);
  const Policy policy = *ParsePolicy("greedy");
  for (uint32_t i = 0; i < kPages; ++i) {
    IndexEntry entry;
    PageRates rates;
    rates.change_rate = rates.unsignalled_rate = rates.staleness_rate = uniform(random);
    entry.value = MakeValueParameters(policy, uniform(random), rates);
    entry.since = now;
    index.Put(PageId(i), entry);
  }
  const auto run = [&](int picks) {
    for (int i = 0; i < picks; ++i) {
      now = now + Duration::Micros(500);  // 2,000 crawls per second
      const auto best = index.Best(now);
      ASSERT_TRUE(best);
      IndexEntry entry = *index.Find(best->page);
      entry.since = now;
      index.Put(best->page, entry);
    }
  };
  run(100'000);
  const uint64_t before = index.evaluations();
  run(20'000);
  EXPECT_LT(static_cast<double>(index.evaluations() - before) / 20'000, 100);
}

TEST(PriceIndex, EqualPagesTakeTurns) {
  PriceIndex index;
  PageRates rates;
  rates.change_rate = rates.unsignalled_rate = rates.staleness_rate = 1;
  Instant now = Instant::FromUnixSeconds(1);
  for (uint32_t i = 0; i < 5; ++i) {
    IndexEntry entry;
    entry.value = MakeValueParameters(*ParsePolicy("greedy"), 1, rates);
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

}  // namespace
}  // namespace freshet
