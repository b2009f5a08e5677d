// Tests pages of equal value, as in the first crawls of a new corpus. The picks are the same as
// those of a full scan, and each page gets its turn.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/index/price_index.h"
#include "core/model/policy.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "lab/common/brute_index.h"

namespace freshet {
namespace {

struct CorpusOptions {
  std::string policy = "greedy_ncis";
  uint32_t pages = 600;
  uint32_t hosts = 40;
  uint32_t importances = 1;
  uint32_t loaded_at_once = 50;  // number of pages first seen at one instant
  uint32_t before = 600;  // pages loaded before the first pick; the others follow during the crawls
  uint32_t batch = 20;    // pages that are leased together, and whose results arrive together
  double host_delay = 0.03;
  bool unrest = false;  // whether pages and hosts change in between
};

// A corpus in the price index and in a brute-force index, with leases and results like those of a
// shard. Owner thread only.
class EqualCorpus {
 public:
  explicit EqualCorpus(const CorpusOptions& options, uint64_t seed = 1)
      : options_(options), policy_(*ParsePolicy(options.policy)), random_(seed) {}

  // Makes `rounds` times as many crawls as the corpus has pages. Every pick must be the same as
  // that of a full scan.
  void Crawl(int rounds) {
    while (loaded_ < options_.before) Load();
    for (uint64_t end = uint64_t{options_.pages} * rounds; crawled_ < end;) {
      if (loaded_ < options_.pages) Load();
      size_t leased = 0;
      for (uint32_t i = 0; i < options_.batch; ++i) leased += Lease() ? 1 : 0;
      if (testing::Test::HasFatalFailure()) return;
      batches_.push_back(leased);
      if (batches_.size() > 2) Report();
      if (options_.unrest) Disturb();
    }
  }
  [[nodiscard]] const PriceIndex& index() const { return index_; }

 private:
  void Load() {
    const uint32_t end = std::min(options_.pages, loaded_ + options_.loaded_at_once);
    for (; loaded_ < end; ++loaded_) Put(loaded_, HUGE_VAL);
    Pass();
  }
  void Pass() { now_ = now_ + Duration::Micros(1000); }

  void Put(uint32_t page, double exponent) {
    PaperRates rates;
    rates.change_rate = 1.0 / 86400;
    rates.recall = page % 2 == 0 ? 0.5 : 0;
    rates.false_signal_rate = 1.0 / 86400;
    IndexEntry entry;
    entry.policy = policy_;
    entry.rates = MakeIndexRates(1 + page % options_.importances, RatesFromPaper(rates));
    entry.exponent = exponent;
    entry.since = now_;
    entry.host = HostId(page / 3 % options_.hosts);
    index_.Put(PageId(page), entry);
    brute_.Put(PageId(page), entry);
  }
  void SetHostFree(HostId host, Instant at) {
    index_.SetHostFree(host, at);
    brute_.SetHostFree(host, at);
  }

  bool Lease() {
    Pass();
    const auto pick = index_.Best(now_);
    const auto expected = brute_.Best(now_);
    [&] {
      ASSERT_EQ(pick.has_value(), expected.has_value());
      if (!pick || pick->page == expected->page) return;
      // A different page is correct only if the two values differ by rounding. Pages with exactly
      // equal values must be picked in turn.
      const double index_page = brute_.ValueOf(pick->page, now_);
      ASSERT_NE(index_page, expected->value)
          << "page " << pick->page.value() << " out of turn, " << expected->page.value()
          << " was first, after " << crawled_ << " crawls";
      ASSERT_NEAR(index_page, expected->value, 1e-12 * expected->value);
    }();
    if (!pick || testing::Test::HasFatalFailure()) return false;
    ++crawled_;
    out_.emplace_back(pick->page.value(), now_);
    index_.Suspend(pick->page);
    brute_.Suspend(pick->page);
    SetHostFree(index_.Find(pick->page)->host, Instant::Infinite());
    return true;
  }

  void Report() {
    for (; batches_.front() > 0; --batches_.front()) {
      const auto [page, at] = out_.front();
      out_.pop_front();
      const HostId host = index_.Find(PageId(page))->host;
      // One page in twenty comes back without a result.
      if (random_.Below(20) > 0) Put(page, 0);
      index_.Resume(PageId(page));
      brute_.Resume(PageId(page));
      SetHostFree(host, at + Duration::FromSeconds(options_.host_delay));
    }
    batches_.pop_front();
  }

  void Disturb() {
    for (int i = 0; i < 8; ++i) {
      const auto page = static_cast<uint32_t>(random_.Below(loaded_));
      const bool is_out =
          std::any_of(out_.begin(), out_.end(), [&](const auto& out) { return out.first == page; });
      if (is_out) continue;
      const IndexEntry entry = *brute_.Find(PageId(page));
      switch (random_.Below(4)) {
        case 0:  // unchanged; the page keeps its turn
          index_.Put(PageId(page), entry);
          brute_.Put(PageId(page), entry);
          break;
        case 1:
          index_.Remove(PageId(page));
          brute_.Remove(PageId(page));
          Put(page, HUGE_VAL);
          break;
        case 2: {
          const double jump = ValueOf(entry).jump;
          const double exponent = brute_.ExponentOf(PageId(page), now_) + jump;
          index_.Restart(PageId(page), exponent, now_);
          brute_.Restart(PageId(page), exponent, now_);
          break;
        }
        default:
          Put(page, std::isinf(entry.exponent) ? HUGE_VAL : 0);
      }
    }
  }

  CorpusOptions options_;
  Policy policy_;
  Random random_;
  PriceIndex index_;
  BruteIndex brute_;
  Instant now_ = Instant::FromUnixSeconds(1'700'000'000);
  uint32_t loaded_ = 0;
  uint64_t crawled_ = 0;
  std::deque<std::pair<uint32_t, Instant>> out_;
  std::deque<size_t> batches_;
};

class EqualPagesTest : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static CorpusOptions Options() { return {.policy = GetParam()}; }
};

TEST_P(EqualPagesTest, TakeTurnsFromTheFirstCrawlOn) { EqualCorpus(Options()).Crawl(5); }

TEST_P(EqualPagesTest, TakeTurnsWhereEachIsFirstSeenAtAnInstantOfItsOwn) {
  CorpusOptions options = Options();
  options.loaded_at_once = 1;
  EqualCorpus(options).Crawl(3);
}

TEST_P(EqualPagesTest, TakeTurnsOnAFewHosts) {
  CorpusOptions options = Options();
  options.hosts = 3;
  options.host_delay = 0.001;
  EqualCorpus(options).Crawl(3);
}

TEST_P(EqualPagesTest, TakeTurnsWhileMoreAreLoaded) {
  CorpusOptions options = Options();
  options.before = 50;
  options.importances = 3;
  EqualCorpus(options).Crawl(4);
}

TEST_P(EqualPagesTest, TakeTurnsThroughChanges) {
  for (const uint64_t seed : {1, 2, 3}) {
    CorpusOptions options = Options();
    options.pages = options.before = seed == 3 ? 3000 : 400;
    options.importances = 2;
    options.unrest = true;
    EqualCorpus(options, seed).Crawl(seed == 3 ? 2 : 12);
  }
}

// This is the purpose of the price index: a pick evaluates only a few pages.
TEST_P(EqualPagesTest, AreNotEvaluatedAgainAndAgain) {
  CorpusOptions options = Options();
  options.pages = options.before = 3000;
  options.hosts = 300;
  EqualCorpus corpus(options);
  constexpr int kRounds = 3;
  corpus.Crawl(kRounds);
  // Under policies other than greedy, a page wakes before its value reaches the price, and is
  // evaluated several times before each crawl. The limit allows for this.
  EXPECT_LT(corpus.index().evaluations(), 12u * kRounds * options.pages);
}

INSTANTIATE_TEST_SUITE_P(Policies, EqualPagesTest,
                         ::testing::Values("greedy", "greedy_ncis", "harmonic", "new_content"),
                         [](const auto& each) { return std::string(each.param); });

// There are more equal pages than fit into any queue of the index. While they wait, random pages
// are put again. Each of these pages then waits behind all others.
TEST(EqualPages, WaitInTurnHoweverManyTheyAre) {
  constexpr uint32_t kPages = 20'000;
  PriceIndex index;
  Random random(3);
  Instant now = Instant::FromUnixSeconds(1'700'000'000);
  std::vector<std::pair<Instant, uint32_t>> turns(kPages);
  const auto put = [&](uint32_t page) {
    PaperRates rates;
    rates.change_rate = 1.0 / 86400;
    IndexEntry entry;
    entry.rates = MakeIndexRates(1, RatesFromPaper(rates));
    entry.exponent = HUGE_VAL;
    entry.since = now;
    index.Put(PageId(page), entry);
    turns[page] = {now, page};
  };
  for (uint32_t page = 0; page < kPages; ++page) {
    put(page);
    if (page % 100 == 0) now = now + Duration::Micros(1);
  }
  ASSERT_TRUE(index.Best(now));
  for (uint32_t i = 0; i < 2 * kPages; ++i) {
    now = now + Duration::Micros(1);
    put(static_cast<uint32_t>(random.Below(kPages)));
  }
  std::sort(turns.begin(), turns.end());
  for (const auto& [since, page] : turns) {
    now = now + Duration::Micros(1);
    const auto pick = index.Best(now);
    ASSERT_TRUE(pick);
    ASSERT_EQ(pick->page, PageId(page));
    index.Remove(pick->page);
  }
  EXPECT_FALSE(index.Best(now));
}

}  // namespace
}  // namespace freshet
