#include "core/plan/plan_queue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr Instant kStart = Instant::FromUnixSeconds(1'700'000'000);

Instant Tick(int64_t j, double rate) {
  return kStart + Duration::FromSeconds(static_cast<double>(j) / rate);
}

TEST(PlanQueue, KeepsEveryPageWithinOneCrawlOfItsPlan) {
  Random random(3);
  constexpr double kRate = 10;
  constexpr size_t kPages = 60;
  std::vector<double> rates(kPages);
  for (double& rate : rates) rate = std::pow(10, random.Uniform(-2, 0));
  const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
  for (double& rate : rates) rate *= kRate / sum;
  PlanQueue queue;
  for (uint32_t i = 0; i < kPages; ++i) queue.Add(PageId(i), {.rate = rates[i]}, kStart, kStart);
  std::vector<int> crawls(kPages);
  for (int64_t j = 1; j <= 20'000; ++j) {
    const Instant at = Tick(j, kRate);
    const auto pick = queue.Best(at);
    ASSERT_TRUE(pick);
    ++crawls[pick->page.value()];
    queue.Crawled(pick->page, at);
    for (size_t i = 0; i < kPages; ++i) {
      // Ticks and due times are in whole microseconds.
      ASSERT_LT(std::abs(crawls[i] - static_cast<double>(j) * rates[i] / kRate), 1.01) << i;
    }
  }
}

TEST(PlanQueue, UsesEveryTickEvenWhenThePlanIsForFewer) {
  PlanQueue queue;
  queue.Add(PageId(0), {.rate = 0.1}, kStart, kStart);
  queue.Add(PageId(1), {.rate = 0.3}, kStart, kStart);
  int crawls[2] = {};
  for (int64_t j = 1; j <= 400; ++j) {
    const auto pick = queue.Best(Tick(j, 1));
    ASSERT_TRUE(pick);
    ++crawls[pick->page.value()];
    queue.Crawled(pick->page, Tick(j, 1));
  }
  EXPECT_GT(crawls[1], 2 * crawls[0]);
  EXPECT_GT(crawls[0], 40) << "no less than planned";
}

TEST(PlanQueue, ForcedPagesGoFirstAndPagesOfRateZeroOnlyThen) {
  PlanQueue queue;
  queue.Add(PageId(0), {.rate = 1}, kStart - Duration::Seconds(100), kStart);
  queue.Add(PageId(1), {.rate = 0, .forced_at = Tick(5, 1)}, kStart, kStart);
  queue.Add(PageId(2), {.rate = 0}, kStart, kStart);
  EXPECT_EQ(queue.Best(Tick(1, 1))->page, PageId(0));
  const auto forced = queue.Best(Tick(5, 1));
  EXPECT_EQ(forced->page, PageId(1));
  EXPECT_TRUE(std::isinf(forced->urgency));
  queue.Suspend(PageId(1));
  EXPECT_EQ(queue.Best(Tick(6, 1))->page, PageId(0));
  queue.Suspend(PageId(0));
  EXPECT_FALSE(queue.Best(Tick(7, 1)));
  queue.Resume(PageId(1));
  EXPECT_EQ(queue.Best(Tick(8, 1))->page, PageId(1));
}

TEST(PlanQueue, WaitsForHostsAndForEligibility) {
  PlanQueue queue;
  queue.SetHostFree(HostId(1), Tick(10, 1));
  queue.Add(PageId(0), {.rate = 1, .host = HostId(1)}, kStart, kStart);
  queue.Add(PageId(1), {.rate = 1, .host = HostId(2), .eligible_from = Tick(4, 1)}, kStart, kStart);
  EXPECT_FALSE(queue.Best(Tick(3, 1)));
  EXPECT_EQ(queue.Best(Tick(4, 1))->page, PageId(1));
  queue.Remove(PageId(1));
  EXPECT_FALSE(queue.Best(Tick(9, 1)));
  queue.SetHostFree(HostId(1), Instant::Infinite());
  EXPECT_FALSE(queue.Best(Tick(11, 1)));
  queue.SetHostFree(HostId(1), Tick(12, 1));
  EXPECT_EQ(queue.Best(Tick(12, 1))->page, PageId(0));
}

TEST(PlanQueue, ASignalThatAsksMakesThePageDue) {
  PlanQueue queue;
  queue.Add(PageId(0), {.rate = 0, .asked_at = Tick(2, 1)}, kStart, kStart);
  queue.Add(PageId(1), {.rate = 0.1}, kStart, kStart);
  const auto pick = queue.Best(Tick(3, 1));
  EXPECT_EQ(pick->page, PageId(0));
  queue.Crawled(PageId(0), Tick(3, 1));
  EXPECT_EQ(queue.Best(Tick(4, 1))->page, PageId(1)) << "asked for once, crawled once";
}

TEST(PlanQueue, ALongBlockIsNotFollowedByABurst) {
  PlanQueue queue;
  queue.SetHostFree(HostId(0), Tick(1000, 1));
  queue.Add(PageId(0), {.rate = 0.5, .host = HostId(0)}, kStart, kStart);
  queue.Add(PageId(1), {.rate = 0.5, .host = HostId(1)}, kStart, kStart);
  int crawls = 0;
  for (int64_t j = 1; j <= 1100; ++j) {
    const auto pick = queue.Best(Tick(j, 1));
    ASSERT_TRUE(pick);
    crawls += pick->page == PageId(0) ? 1 : 0;
    queue.Crawled(pick->page, Tick(j, 1));
  }
  EXPECT_NEAR(crawls, 50, 3);
}

TEST(PlanQueue, AnotherRateKeepsTheShareOfTheWay) {
  PlanQueue queue;
  queue.Add(PageId(0), {.rate = 1.0 / 128}, kStart, kStart);
  queue.Update(PageId(0), {.rate = 1.0 / 16}, Tick(64, 1));
  EXPECT_EQ(queue.Due(PageId(0)), Tick(72, 1));
  queue.Update(PageId(0), {.rate = 0}, Tick(64, 1));
  EXPECT_TRUE(queue.Due(PageId(0)).infinite());
  queue.Update(PageId(0), {.rate = 1.0 / 16}, Tick(80, 1));
  EXPECT_EQ(queue.Due(PageId(0)), Tick(96, 1));
}

TEST(PlanQueue, ARateBeyondTheResolutionOfTimeIsAsFastAsItCanShow) {
  PlanQueue queue;
  queue.Add(PageId(0), {.rate = 1e9}, kStart, kStart);
  queue.Update(PageId(0), {.rate = 0.1}, kStart);
  EXPECT_LE(queue.Due(PageId(0)), kStart + Duration::Seconds(10));
  EXPECT_GE(queue.Due(PageId(0)), kStart - Duration::Seconds(10));
}

TEST(PlanQueue, ForcedPagesGoInTheOrderInWhichTheyAreForced) {
  PlanQueue queue;
  for (uint32_t i = 0; i < 5; ++i) {
    queue.Add(PageId(i), {.rate = 1, .forced_at = Tick(10 - i, 1)}, kStart, kStart);
  }
  for (uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(queue.Best(Tick(20, 1))->page, PageId(4 - i));
    queue.Suspend(PageId(4 - i));
  }
}

// Makes the same schedule by scanning all pages.
class PlainQueue {
 public:
  struct Page {
    PlanEntry entry;
    Instant due = Instant::Infinite();
    bool in = false;
    bool suspended = false;
  };

  PlainQueue(size_t pages, size_t hosts) : pages_(pages), free_at_(hosts) {}

  void Add(PageId page, const PlanEntry& entry, Instant fresh_at, Instant now) {
    Hear(now);
    Page& added = pages_[page.value()] = {.entry = Rounded(entry), .in = true};
    if (entry.rate == 0) return;
    added.due = fresh_at + IntervalOf(added);
    // A page is overdue by at most one interval.
    if (!IntervalOf(added).infinite()) added.due = std::max(added.due, now - IntervalOf(added));
  }
  void Update(PageId page, const PlanEntry& entry, Instant now) {
    Hear(now);
    Page& updated = pages_[page.value()];
    const Duration before = IntervalOf(updated);
    updated.entry = Rounded(entry);
    const Duration after = IntervalOf(updated);
    if (before == after) return;
    if (after.infinite()) {
      updated.due = Instant::Infinite();
    } else if (before.infinite()) {
      updated.due = now + after;
    } else {
      const double part = (updated.due - now).seconds() / before.seconds();
      updated.due = now + Duration::FromSeconds(part * after.seconds());
    }
  }
  void Crawled(PageId page, Instant now) {
    Hear(now);
    Page& crawled = pages_[page.value()];
    crawled.entry.asked_at = Instant::Infinite();
    const Duration interval = IntervalOf(crawled);
    if (interval.infinite()) return;
    const Instant front = front_ == Instant() ? now : front_;
    crawled.due = std::max(crawled.due, front - interval) + interval;
    crawled.due = std::min(crawled.due, now + interval + interval);
  }
  void SetHostFree(HostId host, Instant free_at) { free_at_[host.value()] = free_at; }
  Page& operator[](PageId page) { return pages_[page.value()]; }

  std::optional<PageId> Best(Instant at) {
    Hear(at);
    std::optional<Turn> best;
    for (uint32_t i = 0; i < pages_.size(); ++i) {
      const std::optional<Turn> turn = TurnOf(i);
      if (turn && (!best || *turn < *best)) best = turn;
    }
    if (!best) return std::nullopt;
    const Page& page = pages_[best->page];
    if (page.entry.forced_at > now_) front_ = std::max(front_, std::min(DueOf(page), now_));
    return PageId(best->page);
  }

 private:
  struct Turn {
    int rank;  // 0 = forced, 1 = released, 2 = not yet released
    Instant time;
    uint32_t page;
    auto operator<=>(const Turn&) const = default;
  };
  static PlanEntry Rounded(PlanEntry entry) {
    entry.rate = static_cast<float>(entry.rate);
    return entry;
  }
  static Duration IntervalOf(const Page& page) {
    return page.entry.rate > 0 ? Duration::FromSeconds(1 / page.entry.rate) : Duration::Infinite();
  }
  void Hear(Instant at) { now_ = std::max(now_, at); }
  [[nodiscard]] bool Asked(const Page& page) const { return page.entry.asked_at <= now_; }
  [[nodiscard]] Instant DueOf(const Page& page) const {
    return Asked(page) ? std::min(page.due, page.entry.asked_at) : page.due;
  }
  [[nodiscard]] std::optional<Turn> TurnOf(uint32_t i) const {
    const Page& page = pages_[i];
    const PlanEntry& entry = page.entry;
    if (!page.in || page.suspended || entry.eligible_from > now_) return {};
    if (free_at_[entry.host.value()] > now_) return {};
    if (entry.forced_at <= now_) return Turn{0, entry.forced_at, i};
    if (DueOf(page).infinite()) return {};
    const Instant release = page.due.infinite() ? page.due : page.due - IntervalOf(page);
    if (Asked(page) || release <= now_) return Turn{1, DueOf(page), i};
    return Turn{2, release, i};
  }

  std::vector<Page> pages_;
  std::vector<Instant> free_at_;
  Instant now_;
  Instant front_;
};

// Applies the same random operations to both queues, and expects that all picks and due times
// agree.
class Twins {
 public:
  Twins(uint64_t seed, uint32_t pages, uint32_t hosts)
      : random_(seed), pages_(pages), hosts_(hosts), plain_(pages, hosts) {}

  void Run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) Step();
  }
  [[nodiscard]] int picks() const { return picks_; }
  [[nodiscard]] int barren() const { return barren_; }

 private:
  Instant Later(double seconds) {
    return now_ + Duration::FromSeconds(random_.Uniform() * seconds);
  }
  PlanEntry RandomEntry() {
    PlanEntry entry;
    if (random_.Uniform() < 0.9) entry.rate = std::pow(10, random_.Uniform(-3, 0));
    // Half of all pages are on one host.
    entry.host = HostId(random_.Uniform() < 0.5 ? 0 : uint32_t(random_.Below(hosts_)));
    if (random_.Uniform() < 0.1) entry.eligible_from = Later(100);
    if (random_.Uniform() < 0.1) entry.forced_at = Later(1000);
    if (random_.Uniform() < 0.05) entry.asked_at = Later(10);
    if (random_.Uniform() < 0.05) entry.asked_at = now_ - Duration::Seconds(3);
    return entry;
  }
  void Pick() {
    const auto pick = queue_.Best(now_);
    const auto plain = plain_.Best(now_);
    ASSERT_EQ(pick.has_value(), plain.has_value());
    if (!pick) {
      ++barren_;
      return;
    }
    ++picks_;
    ASSERT_EQ(pick->page, *plain);
    const HostId host = plain_[pick->page].entry.host;
    const Instant free_at = random_.Uniform() < 0.7   ? Later(5)
                            : random_.Uniform() < 0.1 ? Instant::Infinite()
                                                      : now_;
    queue_.SetHostFree(host, free_at);
    plain_.SetHostFree(host, free_at);
    if (random_.Uniform() < 0.1) return;  // the crawl failed, so the page stays due
    queue_.Crawled(pick->page, now_);
    plain_.Crawled(pick->page, now_);
    if (plain_[pick->page].entry.forced_at > now_) return;
    PlanEntry entry = plain_[pick->page].entry;
    entry.forced_at = Later(1000);
    queue_.Update(pick->page, entry, now_);
    plain_.Update(pick->page, entry, now_);
  }
  void Step() {
    now_ = now_ + Duration::Micros(static_cast<int64_t>(random_.Below(2'000'000)));
    if (random_.Uniform() < 0.002) now_ = now_ + Duration::Hours(2);
    const PageId page(static_cast<uint32_t>(random_.Below(pages_)));
    const double kind = random_.Uniform();
    const bool in = plain_[page].in;
    ASSERT_EQ(queue_.Has(page), in);
    if (kind < 0.5) {
      Pick();
    } else if (kind < 0.65) {
      const HostId host(static_cast<uint32_t>(random_.Below(hosts_)));
      const Instant free_at = random_.Uniform() < 0.5 ? now_ : Later(50);
      queue_.SetHostFree(host, free_at);
      plain_.SetHostFree(host, free_at);
    } else if (!in) {
      const PlanEntry entry = RandomEntry();
      const Instant fresh = now_ - Duration::FromSeconds(random_.Uniform() * 500);
      queue_.Add(page, entry, fresh, now_);
      plain_.Add(page, entry, fresh, now_);
    } else if (kind < 0.8) {
      const PlanEntry entry = RandomEntry();
      queue_.Update(page, entry, now_);
      plain_.Update(page, entry, now_);
    } else if (kind < 0.95) {
      plain_[page].suspended = !plain_[page].suspended;
      plain_[page].suspended ? queue_.Suspend(page) : queue_.Resume(page);
    } else {
      queue_.Remove(page);
      plain_[page].in = false;
    }
  }

  Random random_;
  uint32_t pages_;
  uint32_t hosts_;
  PlanQueue queue_;
  PlainQueue plain_;
  Instant now_ = kStart;
  int picks_ = 0;
  int barren_ = 0;
};

TEST(PlanQueue, PicksWhatAScanOfAllPagesPicks) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Twins twins(seed, seed % 2 == 0 ? 300 : 40, seed % 3 == 0 ? 3 : 25);
    twins.Run(10'000);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
    EXPECT_GT(twins.picks(), 1000) << "seed " << seed;
  }
}

// Makes ticks at the rate of the plan. Hosts are busy for a while after each crawl. Returns the
// maximum number of heap entries that a tick visits.
uint64_t MostOperationsOfATick(uint32_t pages, uint32_t hosts, int busy_ticks) {
  PlanQueue queue;
  Random random(5);
  for (uint32_t i = 0; i < pages; ++i) {
    const PlanEntry entry = {.rate = 1.0 / pages, .host = HostId(i % hosts)};
    queue.Add(PageId(i), entry, kStart - Duration::FromSeconds(random.Uniform() * pages), kStart);
  }
  uint64_t most = 0;
  int crawls = 0;
  for (int64_t j = 1; j <= 5000; ++j) {
    const uint64_t before = queue.operations();
    if (const auto pick = queue.Best(Tick(j, 1))) {
      queue.SetHostFree(queue.Entry(pick->page).host, Tick(j + busy_ticks, 1));
      queue.Crawled(pick->page, Tick(j, 1));
      ++crawls;
    }
    // Another host is blocked, and later becomes free again.
    const HostId other(static_cast<uint32_t>(random.Below(hosts)));
    queue.SetHostFree(other, Instant::Infinite());
    queue.SetHostFree(other, Tick(j, 1));
    most = std::max(most, queue.operations() - before);
  }
  EXPECT_GT(crawls, 1000);
  return most;
}

TEST(PlanQueue, ATickCostsAFewHeapOperationsWhateverTheNumberOfPages) {
  for (const uint32_t hosts : {1U, 4U, 1000U}) {
    const uint64_t few = MostOperationsOfATick(1000, hosts, 2);
    const uint64_t many = MostOperationsOfATick(256'000, hosts, 2);
    // With 256,000 pages, the heap has four more levels than with 1,000. Its nodes have four
    // children, so these levels take about thirty more operations.
    EXPECT_LT(many, few + 1000) << hosts << " hosts";
    EXPECT_LT(many, 2000U) << hosts << " hosts";
  }
}

TEST(PlanQueue, AHostThatIsFreeAfterLongCostsNoMoreThanAnother) {
  constexpr uint32_t kPages = 100'000;
  PlanQueue queue;
  for (uint32_t i = 0; i < kPages; ++i) {
    queue.Add(PageId(i), {.rate = 1.0 / kPages, .host = HostId(1)}, kStart - Duration::Seconds(i),
              kStart);
  }
  queue.Add(PageId(kPages), {.rate = 1, .host = HostId(2)}, kStart, kStart);
  queue.SetHostFree(HostId(1), Tick(60'000, 1));
  for (int64_t j = 1; j < 60'000; ++j) {
    ASSERT_EQ(queue.Best(Tick(j, 1))->page, PageId(kPages));
    queue.Crawled(PageId(kPages), Tick(j, 1));
  }
  const uint64_t before = queue.operations();
  EXPECT_EQ(queue.Best(Tick(60'000, 1))->page, PageId(kPages - 1)) << "due first";
  EXPECT_LT(queue.operations() - before, 500U);
}

}  // namespace
}  // namespace freshet
