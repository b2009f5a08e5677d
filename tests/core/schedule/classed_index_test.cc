// Tests the index by comparison with one brute-force index over all pages, which is searched for
// the best page of some classes.
#include "core/schedule/classed_index.h"

#include <map>

#include "core/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

constexpr uint32_t kPagesOfClasses = 400;
constexpr uint32_t kHostsOfClasses = 12;
constexpr CrawlClass kClasses = 4;

// The expected content of the index, searched page by page. Thread-compatible.
struct Twin {
  struct Page {
    IndexEntry entry;
    CrawlClass crawl_class = 0;
    bool suspended = false;
  };

  [[nodiscard]] double Best(Instant at, ClassSet among) const {
    double best = -1;
    for (const auto& [id, page] : pages) {
      const auto free = free_at.find(page.entry.host);
      if (page.suspended || page.entry.eligible_from > at) continue;
      if ((among & SetOf(page.crawl_class)) == 0) continue;
      if (free != free_at.end() && free->second > at) continue;
      best = std::max(best, DecidingValue(page.entry, at));
    }
    return best;
  }

  std::map<PageId, Page> pages;
  std::map<HostId, Instant> free_at;
};

class ClassedIndexTest : public testing::Test {
 protected:
  ClassedIndexTest() {
    for (uint32_t i = 0; i < kHostsOfClasses; ++i) (void)gate_.Intern("h" + std::to_string(i));
  }

  IndexEntry Entry(Instant now) {
    PageRates rates;
    rates.change_rate = rates.unsignalled_rate = rates.staleness_rate =
        1e-4 * (1 + random_.Uniform());
    IndexEntry entry;
    entry.policy = {.kind = PolicyKind::kGreedy};
    entry.rates = MakeIndexRates(static_cast<float>(0.1 + random_.Uniform()), rates);
    entry.since = now - Duration::FromSeconds(1e4 * random_.Uniform());
    entry.host = HostId(static_cast<uint32_t>(random_.Below(kHostsOfClasses)));
    return entry;
  }
  void Put(PageId id, Instant now) {
    const auto crawl_class = static_cast<CrawlClass>(random_.Below(kClasses));
    const IndexEntry entry = Entry(now);
    const bool suspended = twin_.pages.contains(id) && twin_.pages[id].suspended;
    index_.Put(id, entry, crawl_class);
    // A page that changes its class is no longer suspended.
    if (suspended) index_.Suspend(id);
    twin_.pages[id] = {entry, crawl_class, suspended};
  }
  void Change(PageId id, Instant now) {
    const auto it = twin_.pages.find(id);
    if (it == twin_.pages.end()) return Put(id, now);
    Twin::Page& page = it->second;
    switch (random_.Below(5)) {
      case 0:
        index_.Remove(id);
        twin_.pages.erase(it);
        break;
      case 1:
        page.suspended ? index_.Resume(id) : index_.Suspend(id);
        page.suspended = !page.suspended;
        break;
      case 2:
        page.crawl_class = static_cast<CrawlClass>(random_.Below(kClasses));
        index_.Move(id, page.crawl_class, page.suspended);
        break;
      default:
        Put(id, now);
    }
  }
  void SetFree(HostId host, Instant at) {
    HostRecord record{.host = "h" + std::to_string(host.value()), .blocked_until = at};
    gate_.Put(record);
    index_.SetHostFree(host, gate_.FreeAt(host));
    twin_.free_at[host] = at;
  }

  Random random_{7};
  HostGate gate_{PolitenessDefaults()};
  ClassedIndex index_{gate_};
  Twin twin_;
};

TEST_F(ClassedIndexTest, GivesTheExactBestAmongAnyClasses) {
  Instant now = kStart;
  int found = 0;
  for (int step = 0; step < 20'000; ++step) {
    now = now + Duration::FromSeconds(random_.Uniform());
    Change(PageId(static_cast<uint32_t>(random_.Below(kPagesOfClasses))), now);
    if (random_.Below(10) == 0) {
      SetFree(HostId(static_cast<uint32_t>(random_.Below(kHostsOfClasses))),
              now + Duration::FromSeconds(5 * random_.Uniform() - 1));
    }
    const ClassSet among = random_.Below(3) == 0 ? kAllClasses : random_.Below(1 << kClasses);
    const auto pick = index_.Best(now, among);
    const double best = twin_.Best(now, among);
    ASSERT_EQ(pick.has_value(), best >= 0) << "step " << step;
    if (!pick) continue;
    ++found;
    const Twin::Page& page = twin_.pages.at(pick->page);
    ASSERT_EQ(pick->crawl_class, page.crawl_class);
    ASSERT_TRUE((among & SetOf(page.crawl_class)) != 0);
    ASSERT_FALSE(page.suspended);
    // Rates have single precision.
    ASSERT_NEAR(DecidingValue(page.entry, now), best, 1e-6 * best) << "step " << step;
    ASSERT_EQ(index_.HostOf(pick->page), page.entry.host);
  }
  EXPECT_EQ(index_.size(), twin_.pages.size());
  EXPECT_GT(found, 10'000);
}

}  // namespace
}  // namespace freshet
