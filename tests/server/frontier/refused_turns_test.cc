// Tests that refused writes of the frontier leave no trace, and that a refusal takes time in
// proportion to the size of the write.
#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/frontier/frontier_state.h"
#include "tests/storage/store_with_frontier.h"
#include "tests/support/faulty_env.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using ::testing::Each;

std::string CountsText(const FrontierCounts& counts) {
  return fmt::format("active {} completed {} in flight {} queues {} {} {}", counts.active,
                     counts.completed, counts.in_flight, counts.queues, counts.active_queues,
                     counts.kept_queues);
}

std::string QueueText(const QueueTable& table, const FrontierQueue& queue) {
  const FrontierQueueRecord& record = queue.record;
  std::string text = fmt::format(
      "  queue {}.{} {} active {} completed {} delay {} {} blocked {} {} limit {} served {} from "
      "{}\n",
      queue.id.crawl, queue.id.queue, record.key, record.active, record.completed,
      record.delay ? fmt::to_string(*record.delay) : "usual",
      record.asked_delay ? fmt::to_string(*record.asked_delay) : "usual", record.blocked_until,
      record.asked_until, record.limit, record.last_served, table.ServesFrom(queue));
  if (record.head) text += fmt::format("   head {} {}\n", record.head->due, record.head->url);
  std::map<std::string, std::string> flights;
  for (const auto& [url, flight] : queue.flights) {
    flights[url] = fmt::format("{} {}", flight.lease.until, flight.lease.due);
  }
  for (const auto& [url, flight] : flights) text += fmt::format("   out {} {}\n", url, flight);
  EXPECT_EQ(table.Find(queue.id), &queue);
  EXPECT_FALSE(queue.changed);
  return text;
}

// Expects that the crawl id is in the table of ready crawl ids if it has ready queues, and in the
// table of waiting crawl ids if it has waiting queues.
void ExpectFound(const CrawlTurns& turns, const FrontierCrawl& crawl) {
  EXPECT_EQ(turns.ready().contains(crawl.number), !crawl.ready.empty());
  if (crawl.waiting.empty()) {
    EXPECT_EQ(crawl.comes.first, QueueTable::kNever);
  } else {
    EXPECT_EQ(crawl.comes.first, std::max(crawl.waiting.begin()->first.first, crawl.put_off));
    EXPECT_EQ(turns.coming().at(crawl.comes), &crawl);
  }
}

// Expects that each queue is at the place that it records, and that no place has any other queue.
void ExpectFiled(const FrontierCrawl& crawl) {
  using enum FrontierQueue::Place;
  size_t filed = 0;
  size_t places = crawl.waiting.size();
  for (const auto& [flights, ready] : crawl.ready) places += ready.size();
  for (const auto& [key, queue] : crawl.queues) {
    if (queue->place == kNowhere) continue;
    ++filed;
    if (queue->place == kWaiting) {
      EXPECT_EQ(crawl.waiting.at({queue->filed_at, queue->id.queue}), queue.get());
    } else {
      EXPECT_EQ(crawl.ready.at(queue->filed_flights).at(queue->filed_at), queue.get());
    }
  }
  EXPECT_EQ(filed, places);
}

// Expects that the table of shares counts each client's leases.
void ExpectHeld(const QueueTable& table) {
  std::map<uint64_t, uint64_t> held;
  for (const auto& [number, crawl] : table.crawls()) {
    for (const auto& [key, queue] : crawl->queues) {
      for (const auto& [url, flight] : queue->flights) ++held[flight.taker];
    }
  }
  for (uint64_t client = 1; client <= 3; ++client) {
    EXPECT_EQ(table.ends().takers().held(client), held[client]) << "client " << client;
  }
}

// Returns all visible state as text.
std::string TextOf(const FrontierState& state) {
  const QueueTable& table = state.table();
  std::string text =
      fmt::format("active {} delay {} expiry {} {}\n", state.settings().active,
                  state.settings().default_delay, table.ends().first(), CountsText(table.counts()));
  std::map<uint64_t, FrontierCounts> of_owners;
  size_t coming = 0;
  for (const auto& [number, crawl] : table.crawls()) {
    text += fmt::format(" crawl {} {} {}\n", number, crawl->name, CountsText(crawl->counts));
    EXPECT_EQ(table.FindCrawl(crawl->name), crawl.get());
    FrontierCounts& counts = of_owners[crawl->owner->client];
    counts.active += crawl->counts.active;
    counts.completed += crawl->counts.completed;
    counts.in_flight += crawl->counts.in_flight;
    counts.queues += crawl->counts.queues;
    counts.active_queues += crawl->counts.active_queues;
    counts.kept_queues += crawl->counts.kept_queues;
    for (const auto& [key, queue] : crawl->queues) text += QueueText(table, *queue);
    ExpectFiled(*crawl);
    ExpectFound(table.turns(), *crawl);
    coming += crawl->waiting.empty() ? 0 : 1;
  }
  EXPECT_EQ(table.turns().coming().size(), coming);
  for (const auto& [number, crawl] : table.turns().ready()) {
    EXPECT_EQ(table.crawls().at(number).get(), crawl);
  }
  for (const auto& [client, counts] : of_owners) {
    EXPECT_EQ(CountsText(table.OwnerOf(client).counts), CountsText(counts));
  }
  const FrontierTotals& totals = state.totals();
  text += fmt::format("put {} {} {} served {} given back {} expired {}\n", totals.put_ok,
                      totals.put_skipped, totals.metadata_too_large, totals.served,
                      totals.given_back, totals.expired);
  ExpectHeld(table);
  for (uint64_t client = 1; client <= 3; ++client) {
    text += fmt::format(" client {} may take {}\n", client, table.ends().takers().Left(client));
  }
  return text;
}

class RefusedTurns : public ::testing::Test {
 protected:
  RefusedTurns() {
    StoreOptions options;
    options.durability = Durability::kNone;
    options.reserve_bytes = uint64_t{32} << 20;
    options.env = faulty_.env();
    opened_ = StoreWithFrontier::Open(dir_ / "db", options);
    store_ = opened_.frontier.get();
    state_ = Load();
  }
  std::unique_ptr<FrontierState> Load() {
    auto state = std::make_unique<FrontierState>(*store_, FrontierLimits());
    state->SetNow(now_);
    EXPECT_TRUE(state->Load().ok());
    return state;
  }
  void Refuse() {
    faulty_.SetFreeBytes(1 << 20);
    EXPECT_TRUE(absl::IsResourceExhausted(state_->Commit()));
    faulty_.ClearFaults();
  }

  uint64_t Number(uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(random_);
  }
  std::string Crawl() { return "c" + std::to_string(Number(1, 4)); }
  std::string Key() { return "k" + std::to_string(Number(1, 4)); }
  SetBy By() { return Number(0, 1) == 0 ? SetBy::kOperator : SetBy::kClient; }

  void Put() {
    std::vector<FrontierPut> puts(Number(1, 9));
    for (FrontierPut& put : puts) {
      put = {.crawl = Crawl(), .key = Key(), .url = "u" + std::to_string(Number(1, 9))};
      put.claim.client = Number(1, 3);
      put.known = Number(0, 2) > 0;
      put.reports = Number(0, 2) > 0;
      if (put.known) put.due = Number(0, 3) == 0 ? 0 : Number(now_ - 5, now_ + 9);
    }
    put_ += puts.size();
    (void)state_->Put(puts);
  }
  void Pull() {
    FrontierPull pull;
    pull.urls_per_queue = static_cast<uint32_t>(Number(1, 4));
    pull.lease_seconds = static_cast<uint32_t>(Number(1, 9));
    if (Number(0, 1) == 0) pull.crawl = Crawl();
    pull.taker = {.client = Number(0, 3)};
    EXPECT_TRUE(state_->Pull(&pull, Number(1, 9), &served_).ok());
  }
  // Makes one random change.
  void Change() {
    switch (Number(0, 10)) {
      case 0:
        return state_->Expire(SIZE_MAX);
      case 1:
        state_->GiveBack(served_);
        return served_.clear();
      case 2:
        return (void)state_->SetDelay(Crawl(), Key(), static_cast<uint32_t>(Number(0, 5)), {},
                                      By());
      case 3:
        return (void)state_->SetDelay("", "", static_cast<uint32_t>(Number(0, 5)));
      case 4:
        return (void)state_->BlockUntil(Crawl(), Key(), now_ + Number(0, 9), {}, By());
      case 5:
        return (void)state_->SetLimit(Crawl(), Key(), static_cast<uint32_t>(Number(0, 3)));
      case 6:
        return (void)state_->DeleteQueue(Crawl(), Key());
      case 7:
        return (void)(Number(0, 2) == 0 ? state_->DeleteCrawl(Crawl()) : 0);
      case 8:
        return state_->SetActive(Number(0, 3) > 0);
      default:
        return Put();
    }
  }
  // Makes a turn of the frontier: a pull of stored URLs, then changes.
  void Turn() {
    if (Number(0, 1) == 0) Pull();
    for (uint64_t changes = Number(1, 5); changes > 0; --changes) Change();
    state_->SetActive(Number(0, 3) > 0);  // so that there is something to write
  }

  TempDir dir_;
  FaultyEnv faulty_{1};
  uint64_t now_ = 1'000'000;
  std::mt19937 random_;
  uint64_t put_ = 0;
  std::vector<FrontierServed> served_;
  StoreWithFrontier opened_;
  FrontierStore* store_ = nullptr;
  std::unique_ptr<FrontierState> state_;
};

TEST_F(RefusedTurns, LeaveNoTrace) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    random_.seed(seed);
    for (int step = 0; step < 400 && !HasFailure(); ++step) {
      SCOPED_TRACE(step);
      state_->SetNow(now_ += Number(0, 2));
      const std::string before = TextOf(*state_);
      const uint64_t failed = state_->totals().put_failed;
      put_ = 0;
      Turn();
      Refuse();
      EXPECT_EQ(TextOf(*state_), before);
      EXPECT_EQ(state_->totals().put_failed, failed + put_);
      served_.clear();
      Turn();
      ASSERT_TRUE(state_->Commit().ok());
      while (state_->Tend(Number(1, 9)).value()) ASSERT_TRUE(state_->Commit().ok());
      ASSERT_TRUE(state_->Commit().ok());
    }
    // Memory and store are equal.
    const std::string kept = TextOf(*state_);
    const std::string stored = TextOf(*Load());
    EXPECT_EQ(kept.substr(0, kept.rfind("put ")), stored.substr(0, stored.rfind("put ")));
  }
}

TEST_F(RefusedTurns, CostWhatTheyDid) {
  std::vector<FrontierPut> puts;
  for (int i = 0; i < 30'000; ++i) {
    puts.push_back({.crawl = "c", .key = "k" + std::to_string(i), .url = "u", .metadata = {}});
  }
  EXPECT_THAT(state_->Put(puts), Each(FrontierOutcome::kOk));
  ASSERT_TRUE(state_->Commit().ok());
  const auto begun = std::chrono::steady_clock::now();
  const std::vector<FrontierPut> one = {{.crawl = "c", .key = "k1", .url = "v", .metadata = {}}};
  for (int i = 0; i < 1000; ++i) {
    (void)state_->Put(one);
    Refuse();
  }
  // If all queues were read for each refusal, the test would take minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(40));
  EXPECT_EQ(state_->table().counts().active, 30'000U);
}

}  // namespace
}  // namespace freshet
