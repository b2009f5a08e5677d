// Tests that a refused batch leaves no trace in a shard's counts or in what it has learned.
#include <array>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/base/units.h"
#include "core/estimate/host_trust.h"
#include "core/schedule/crawl_book.h"
#include "core/schedule/host_book.h"
#include "core/schedule/learning.h"
#include "core/schedule/page_book.h"
#include "core/schedule/pick.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/schedule/shard_cycle.h"

namespace freshet {
namespace {

constexpr double kBatchNow = 90'000;

std::string PrintState(const ShardCounters& counters) {
  using Numbers = std::array<uint64_t, sizeof(counters) / sizeof(uint64_t)>;
  std::string text = "counters";
  for (const uint64_t number : std::bit_cast<Numbers>(counters)) text += fmt::format(" {}", number);
  return text + "\n";
}

std::string PrintCrawls(const ShardState& state) {
  std::string text;
  for (const CrawlStatus& crawl : state.crawls().Statuses()) {
    const CrawlCounters& its = crawl.counters;
    text += fmt::format("crawl {} {} {} {} {} {} {} {} {} {}\n", crawl.crawl_id, its.pages,
                        its.hosts, its.out, its.assignments, its.crawls, its.changes, its.errors,
                        its.gone, its.robots_denied);
  }
  return text;
}

std::string PrintTrust(ShardState& state) {
  std::string text;
  WorstHosts worst("", SourceSet().set(), 100);
  while (worst.Look(state.learning().estimator())) continue;
  for (const HostTrust& trust : worst.Take()) {
    const SourceStanding& lately = trust.lately;
    text += fmt::format("trust {} {} {} {} {} {} {} {} {} {}\n", trust.host, trust.source,
                        trust.signals, trust.precision, lately.signals, lately.believed,
                        lately.proved, lately.shift, lately.suspicion, lately.last.micros());
  }
  return text;
}

// Returns all visible state of a shard as text.
std::string PrintState(MemoryShard& shard, double now) {
  ShardState& state = shard.state();
  std::string text = PrintState(state.counters()) + PrintCrawls(state) + PrintTrust(state);
  std::map<PageNumber, PageRecord> pages(shard.pages().begin(), shard.pages().end());
  for (const auto& [number, page] : pages) {
    const Explanation why = state.Explain(page, At(now));
    text += fmt::format("page {:x} {} {} {} {} {} {} {}\n", number.value(), page.key.url, why.value,
                        why.staleness, why.estimate.rates.change_rate, why.estimate.observations,
                        page.state.bursts[0].burst, why.why);
    const auto host = state.hosts().Describe(page.host, At(now));
    if (!host.ok()) continue;
    text += fmt::format("host {} {} {} {} {}\n", page.host, host->pages, host->in_flight,
                        host->allowed_at.micros(), host->record.throttles);
  }
  return text +
         fmt::format("price {} timer {}\n", state.pages().price(), state.next_timer().micros());
}

std::string PrintState(const std::vector<Reply>& replies) {
  std::string text;
  for (const Reply& reply : replies) {
    text += fmt::format("{} {} {}\n", static_cast<int>(reply.disposition), reply.status.ToString(),
                        reply.assignment ? reply.assignment->lease.value() : 0);
  }
  return text;
}

// A shard with a history: single signals and bursts, crawls of all outcomes, leases.
class World {
 public:
  World() {
    for (int i = 0; i < 30; ++i) {
      UpsertPage page = Upsert(fmt::format("{}", i));
      page.last_crawl = At(0);
      Apply(page, 0);
    }
    for (const char* host : {"going.test", "resting.test", "empty.test"}) {
      UpsertPage page{.key = {"other", fmt::format("https://{}/", host)}, .host = host};
      Apply(page, 0);
    }
    for (int i = 0; i < 30; ++i) {
      const double at = 20'000 + 1000.0 * i;
      SignalChange signal = Signal(fmt::format("{}", i), static_cast<uint8_t>(i % 2));
      signal.poll = i % 3 == 0 ? 7 : 0;
      signal.pages_in_poll = i % 3 == 0 ? 10 : 1;
      signal.signal_id_hash = 1000 + static_cast<uint64_t>(i);
      Apply(signal, at);
      if (i % 2 == 0) Apply(Unordered(i, CrawlOutcome::kChanged, at + 500), at + 500);
      if (i % 5 == 0) Apply(Unordered(i, CrawlOutcome::kGone, at + 600), at + 600);
    }
    Apply(RemovePage{.key = {"other", "https://empty.test/"}}, 60'000);
    Apply(DeleteHost{.host = "going.test"}, 60'001);
    for (int i = 0; i < 8; ++i) assignments_.push_back(*shard_.Next(At(70'000 + i), kLease, "w"));
    for (int i = 0; i < 3; ++i)
      Apply(ExpireLease{assignments_[static_cast<size_t>(i)].lease}, 80'000);
    pick_ = *shard_.state().Take(At(kBatchNow - 1));
  }

  MemoryShard& shard() { return shard_; }
  // Returns a batch with at least one event of each kind, in the order of the variants.
  [[nodiscard]] std::vector<Event> Batch() const;

 private:
  static ReportCrawl Unordered(int page, CrawlOutcome outcome, double at) {
    ReportCrawl report{.key = Key(fmt::format("{}", page)), .fetched = At(at)};
    report.outcome = outcome;
    return report;
  }
  void Apply(const Event& event, double at) {
    const Reply reply = shard_.Apply(event, At(at));
    EXPECT_TRUE(reply.status.ok()) << reply.status.ToString();
  }
  void AddResults(std::vector<Event>* batch) const;
  void AddSignals(std::vector<Event>* batch) const;

  MemoryShard shard_{ShardOptions{}};
  std::vector<Assignment> assignments_;
  Pick pick_;
};

void World::AddResults(std::vector<Event>* batch) const {
  for (int i = 0; i < 30; ++i) {
    batch->push_back(Unordered(i, i % 3 == 0 ? CrawlOutcome::kUnchanged : CrawlOutcome::kChanged,
                               kBatchNow - 10));
  }
  batch->push_back(batch->back());  // a duplicate
  batch->push_back(Unordered(1, CrawlOutcome::kGone, kBatchNow - 5));
  batch->push_back(Unordered(2, CrawlOutcome::kMoved, kBatchNow - 5));
  batch->push_back(Unordered(3, CrawlOutcome::kRobotsDenied, kBatchNow - 5));
  ReportCrawl throttled = Unordered(4, CrawlOutcome::kError, kBatchNow - 5);
  throttled.http_status = 429;
  throttled.retry_after = Duration::Seconds(90);
  batch->push_back(throttled);
  batch->push_back(Result(assignments_[0], CrawlOutcome::kChanged, At(kBatchNow - 20)));  // late
  batch->push_back(Result(assignments_[4], CrawlOutcome::kUnchanged, At(70'010)));
}

void World::AddSignals(std::vector<Event>* batch) const {
  for (int i = 0; i < 12; ++i) {
    SignalChange signal = Signal(fmt::format("{}", i + 5), 1);
    signal.poll = i < 6 ? 99 : 0;
    signal.pages_in_poll = i < 6 ? 6 : 1;
    signal.signal_id_hash = 5000 + static_cast<uint64_t>(i % 10);  // two are duplicates
    batch->push_back(signal);
  }
  batch->push_back(Signal("nowhere"));
  SignalChange stale = Signal("22");
  stale.changed = At(42'200);
  batch->push_back(stale);
}

std::vector<Event> World::Batch() const {
  std::vector<Event> batch = {
      UpsertPage{.key = Key("new"), .host = "example.com"},
      UpsertPage{.key = {"third", "https://new.test/"}, .host = "new.test"},
      Upsert("7", 3),
      UpsertPage{.key = {"other", "https://going.test/x"}, .host = "going.test"},  // refused
      RecheckPage{Key("8")},
  };
  AddSignals(&batch);
  AddResults(&batch);
  const std::vector<Event> others = {
      LeasePage{.page = pick_.page, .key = {}, .worker = "w", .at = At(kBatchNow), .lease = kLease},
      RemovePage{.key = assignments_[5].key},
      RemovePage{.key = Key("9")},
      ReturnLease{assignments_[6].lease},
      ExpireLease{assignments_[7].lease},
      SetHost{.host = "example.com", .min_delay = Duration::Seconds(3)},
      BlockHost{.host = "example.com",
                .crawl_id = "DEFAULT",
                .until = At(kBatchNow + 100),
                .asked = true},
      ForgetHost{"empty.test"},
      SetSource{{.name = "later", .index = 3}},
      ChangeSettings{{.paused = true, .pause_reason = "why not"}},
      SetCrawl{.terms = {.record = {.crawl_id = "fourth", .min_delay = Duration::Seconds(9)}}},
      ForgetCrawl{.crawl_id = "other"},
      DeleteHost{"resting.test"},
      RemoveDeleted{shard_.pages().begin()->first},
      EndHostDeletion{"empty.test"},
  };
  batch.insert(batch.end(), others.begin(), others.end());
  const std::map<PageNumber, PageRecord> pages(shard_.pages().begin(), shard_.pages().end());
  batch[batch.size() - 2] = RemoveDeleted{pages.begin()->first};
  for (const auto& [number, page] : pages) {
    batch.emplace_back(EnterAgeBin{number});
    batch.emplace_back(ReweighSignals{number});
    batch.emplace_back(Reestimate{number});
  }
  return batch;
}

TEST(RefusedBatch, LeavesNoTraceOfAnyEvent) {
  World refused;
  World fine;
  const std::vector<Event> batch = refused.Batch();
  std::set<size_t> kinds;
  for (const Event& event : batch) kinds.insert(event.index());
  ASSERT_EQ(kinds.size(), std::variant_size_v<Event>) << "an event is not tried";

  const std::string before = PrintState(refused.shard(), kBatchNow);
  ASSERT_EQ(before, PrintState(fine.shard(), kBatchNow));
  const std::string first = PrintState(refused.shard().Refuse(batch, At(kBatchNow)));
  EXPECT_EQ(PrintState(refused.shard(), kBatchNow), before);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(PrintState(refused.shard().Refuse(batch, At(kBatchNow))), first)
        << "answered otherwise";
  }
  EXPECT_EQ(PrintState(refused.shard(), kBatchNow), before);
  EXPECT_THAT(refused.shard().state().learning().TakeQuarantineNews(), testing::IsEmpty());

  // A batch that is applied after refusals has the same effect as one applied at once.
  EXPECT_EQ(PrintState(refused.shard().Apply(batch, At(kBatchNow))), first);
  EXPECT_EQ(PrintState(fine.shard().Apply(batch, At(kBatchNow))), first);
  const std::string after = PrintState(fine.shard(), kBatchNow);
  EXPECT_NE(after, before);
  EXPECT_EQ(PrintState(refused.shard(), kBatchNow), after);
  for (World* world : {&refused, &fine}) {
    world->shard().RunTimers(At(kBatchNow + 100));
    world->shard().RunEpoch(At(kBatchNow + 200));
    world->shard().RunTimers(At(kBatchNow + 300));
  }
  EXPECT_EQ(PrintState(refused.shard(), kBatchNow + 300),
            PrintState(fine.shard(), kBatchNow + 300));
  EXPECT_EQ(refused.shard().pages(), fine.shard().pages());
}

// A ping that was refused fifty times is one ping, not a burst.
TEST(RefusedBatch, MakesNoBurstOfASinglePing) {
  World world;
  UpsertPage page{.key = {"DEFAULT", "https://quiet.test/"}, .host = "quiet.test"};
  page.last_crawl = At(kBatchNow - 10);
  (void)world.shard().Apply(page, At(kBatchNow));
  const std::vector<Event> ping = {SignalChange{.key = page.key, .source = 1}};
  const uint64_t applied = world.shard().state().counters().signals_applied;
  for (int i = 0; i < 50; ++i) (void)world.shard().Refuse(ping, At(kBatchNow + 1));
  EXPECT_EQ(world.shard().state().counters().signals_applied, applied);
  (void)world.shard().Apply(ping, At(kBatchNow + 1));
  EXPECT_EQ(world.shard().state().counters().signals_applied, applied + 1);
  const SignalCounts& counted = world.shard().Find(page.key)->state.signals;
  ASSERT_EQ(counted.Total(), 1u);
  EXPECT_EQ(counted.entries()[0].source_class, SourceClass(1, BurstClass::kFew));
}

// A batch sees its own events: the tenth ping of a host counts as one of many, and the pages of one
// poll are one burst. Only several signals of one page at one instant are judged together
// (signal_batches_test.cc).
TEST(RefusedBatch, IsAsManyBatchesOfOneWhereItIsTaken) {
  World together;
  World alone;
  std::vector<Event> batch = together.Batch();
  std::erase_if(batch, [](const Event& event) {
    return !std::holds_alternative<SignalChange>(event) &&
           !std::holds_alternative<ReportCrawl>(event);
  });
  (void)together.shard().Apply(batch, At(kBatchNow));
  for (const Event& event : batch) (void)alone.shard().Apply(event, At(kBatchNow));
  EXPECT_EQ(PrintState(together.shard(), kBatchNow), PrintState(alone.shard(), kBatchNow));
  EXPECT_EQ(together.shard().pages(), alone.shard().pages());
}

}  // namespace
}  // namespace freshet
