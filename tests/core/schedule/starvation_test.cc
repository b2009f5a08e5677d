// Tests that every policy crawls each page that has a max interval, and that the policy harmonic
// also crawls pages without one. Simulates months, tick by tick.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/schedule/crawl_policy.h"
#include "gtest/gtest.h"
#include "lab/common/memory_shard.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

constexpr int kPages = 60;
constexpr Duration kTick = Duration::Hours(1);

// Pages whose importance spans `decades` powers of ten. At most one page is crawled at each tick.
// Records the longest time that each page has gone without a crawl.
class StarvingWorld {
 public:
  StarvingWorld(const std::string& policy, Duration max_interval, double decades = 9)
      : shard_(OptionsOf(policy)) {
    shard_.set_crawl_rate(Rate::PerSecond(1 / kTick.seconds()));
    for (int i = 0; i < kPages; ++i) {
      UpsertPage page{.key = Key(i), .host = "example.com"};
      page.importance = std::pow(10, -decades * i / kPages);
      page.known_change_rate = Rate::PerDay(1);
      page.max_interval = max_interval;
      page.last_crawl = kStart;
      shard_.Apply(page, kStart);
      last_.push_back(kStart);
      longest_.emplace_back();
    }
    shard_.RunEpoch(kStart);
  }

  void Run(int ticks) {
    for (int j = 1; j <= ticks; ++j) {
      const Instant at = kStart + kTick * j;
      shard_.RunTimers(at);
      const auto assignment = shard_.Next(at, Duration::Hours(1));
      // lc_compl does not poll, so only the max interval makes it crawl.
      if (!assignment) continue;
      const auto i = static_cast<size_t>(std::stoi(assignment->key.url.substr(20)));
      longest_[i] = std::max(longest_[i], at - last_[i]);
      last_[i] = at;
      ReportCrawl report{.key = assignment->key, .lease = assignment->lease, .fetched = at};
      report.outcome = CrawlOutcome::kChanged;
      shard_.Apply(report, at);
      if (j % 500 == 0) shard_.RunEpoch(at);
    }
    for (size_t i = 0; i < longest_.size(); ++i) {
      longest_[i] = std::max(longest_[i], kStart + kTick * ticks - last_[i]);
    }
  }

  [[nodiscard]] Duration longest() const {
    return *std::max_element(longest_.begin(), longest_.end());
  }

 private:
  static ShardOptions OptionsOf(const std::string& policy) {
    ShardOptions options;
    options.policy = *ParseCrawlPolicy(policy);
    return options;
  }
  static PageKey Key(int i) { return {"DEFAULT", "https://example.com/" + std::to_string(i)}; }

  MemoryShard shard_;
  std::vector<Instant> last_;
  std::vector<Duration> longest_;
};

class EveryPolicy : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryPolicy, CrawlsAPageWithinItsMaxInterval) {
  std::string policy(GetParam());
  if (policy == "ncis_approx_J") policy = "ncis_approx_3";
  StarvingWorld world(policy, Duration::Days(10));
  world.Run(3000);
  // All pages can become due at the same time. The last one then waits for the others.
  EXPECT_LE(world.longest(), Duration::Days(10) + kTick * (kPages + 1));
}

INSTANTIATE_TEST_SUITE_P(All, EveryPolicy, testing::ValuesIn(CrawlPolicyNames()),
                         [](const auto& test) { return std::string(test.param); });

TEST(Starvation, HarmonicCrawlsEveryPage) {
  // The value grows without bound, eventually in proportion to importance x time. Importance spans
  // two powers of ten here, so no page waits more than about a hundred times as long as another.
  StarvingWorld world("harmonic", Duration(), 2);
  world.Run(10'000);
  EXPECT_LT(world.longest(), kTick * 2000);
}

TEST(Starvation, GreedyStarvesWithoutAMaxInterval) {
  StarvingWorld world("greedy", Duration(), 2);
  world.Run(3000);
  EXPECT_EQ(world.longest(), kTick * 3000) << "else the tests above prove nothing";
}

}  // namespace
}  // namespace freshet
