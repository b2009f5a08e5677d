// Tests behavior that only real brokers have: an earlier owner is fenced, and its open transaction
// is aborted. FRESHET_TEST_KAFKA (host:port,...) names the brokers, and
// FRESHET_TEST_KAFKA_PROPERTIES (name=value,...) client settings, such as TLS; `./dev fleet test`
// starts brokers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_split.h"
#include "core/schedule/followed_changes.h"
#include "storage/follower.h"
#include "storage/kafka/client.h"
#include "storage/kafka/kafka_log.h"
#include "storage/kafka/tenure.h"
#include "storage/store.h"
#include "tests/storage/kafka/said.h"
#include "tests/storage/random_records.h"
#include "tests/storage/small_store.h"
#include "tests/storage/store_model.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// A standby that loads nothing.
struct TakesOver final : Follower {
  Status CaughtUp() override {
    caught_up = true;
    return absl::OkStatus();
  }
  bool MayOwn() override { return may_own; }
  bool MayOwnSoon() override { return false; }
  Status Prepare(Store&) override { return absl::OkStatus(); }
  Status Update(uint16_t, FollowedChanges) override { return absl::OkStatus(); }
  void Outdate() override {}

  std::atomic<bool> caught_up = false;
  std::atomic<bool> may_own = false;
};

struct RealNode {
  std::unique_ptr<KafkaLog> log;
  std::unique_ptr<Store> store;
};

class RealKafkaTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const brokers = std::getenv("FRESHET_TEST_KAFKA");
    if (brokers == nullptr) GTEST_SKIP() << "FRESHET_TEST_KAFKA is not set";
    // Each run of each test has a separate topic.
    const auto stamp = std::chrono::system_clock::now().time_since_epoch().count();
    options_ = {.cluster = fmt::format("test-{}", stamp),
                .brokers = brokers,
                .partitions = 2,
                .replication = 1};
    const char* const properties = std::getenv("FRESHET_TEST_KAFKA_PROPERTIES");
    if (properties == nullptr) return;
    for (const absl::string_view property : absl::StrSplit(properties, ',')) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(property, absl::MaxSplits('=', 1));
      options_.properties.insert(parts);
    }
  }

  RealNode Start(const std::string& dir) {
    RealNode node;
    StatusOr<std::unique_ptr<KafkaLog>> log = KafkaLog::Open(options_);
    EXPECT_TRUE(log.ok()) << log.status();
    node.log = *std::move(log);
    StoreOptions options = SmallStore();
    options.truth = node.log.get();
    StatusOr<std::unique_ptr<Store>> store = Store::Open(dir_ / dir, options);
    EXPECT_TRUE(store.ok()) << store.status();
    node.store = *std::move(store);
    return node;
  }

  // Sends an admin request made by `ask`, and waits for its answer.
  void Administer(const std::function<void(rd_kafka_t*, rd_kafka_queue_t*)>& ask) {
    kafka::Context context{.options = &options_};
    const StatusOr<kafka::Client> client = kafka::MakeReader(context);
    ASSERT_TRUE(client.ok()) << client.status();
    rd_kafka_queue_t* const answers = rd_kafka_queue_new(client->get());
    ask(client->get(), answers);
    rd_kafka_event_t* const answer = rd_kafka_queue_poll(answers, 30'000);
    EXPECT_EQ(rd_kafka_event_error(answer), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_event_destroy(answer);
    rd_kafka_queue_destroy(answers);
  }

  // Makes the topic of the log, as an operator would by hand.
  void MakeTopic(const std::map<std::string, std::string>& settings) {
    rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(
        kafka::TopicOf(options_).c_str(), static_cast<int>(options_.partitions), 1, nullptr, 0);
    for (const auto& [name, value] : settings) {
      rd_kafka_NewTopic_set_config(topic, name.c_str(), value.c_str());
    }
    Administer([&](rd_kafka_t* client, rd_kafka_queue_t* answers) {
      rd_kafka_CreateTopics(client, &topic, 1, nullptr, answers);
    });
    rd_kafka_NewTopic_destroy(topic);
  }

  void DeleteTopic() {
    rd_kafka_DeleteTopic_t* topic = rd_kafka_DeleteTopic_new(kafka::TopicOf(options_).c_str());
    Administer([&](rd_kafka_t* client, rd_kafka_queue_t* answers) {
      rd_kafka_DeleteTopics(client, &topic, 1, nullptr, answers);
    });
    rd_kafka_DeleteTopic_destroy(topic);
  }

  std::unique_ptr<KafkaTenure> Join(const std::string& name) {
    auto joined = KafkaTenure::Join(
        {.kafka = options_, .node = name, .silence = std::chrono::seconds(6)}, nullptr);
    EXPECT_TRUE(joined.ok()) << joined.status();
    return *std::move(joined);
  }

  // Returns true if the server gets its turn within a minute.
  static bool AwaitTurn(const KafkaTenure& tenure) {
    return Eventually([&] { return tenure.sure(); });
  }

  static Status CommitPage(Store& store, const PageRecord& page) {
    Changes changes;
    changes.pages.push_back({.record = &page, .created = true});
    return store.Commit(changes);
  }

  static void ExpectContents(const Store& store, const StoreContents& expected) {
    const StatusOr<StoreContents> found = ReadContents(store);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(expected.DifferenceFrom(*found), "");
  }

  KafkaOptions options_;
  TempDir dir_;
  RandomRecords random_{1};
};

TEST_F(RealKafkaTest, ATopicIsMadeAndALostDiskIsMadeAnewFromIt) {
  const Script script(7, 60);
  {
    const RealNode node = Start("db");
    for (const ScriptedCommit& commit : script.commits()) {
      ASSERT_TRUE(node.store->Commit(commit.changes).ok());
    }
  }
  ExpectContents(*Start("db").store, script.After(script.commits().size()));
  ExpectContents(*Start("elsewhere").store, script.After(script.commits().size()));
}

TEST_F(RealKafkaTest, WhoMayNotIsToldWhat) {
  if (!options_.properties.contains("sasl.password")) GTEST_SKIP() << "all may do anything";
  Said said;
  KafkaOptions options = said.By(options_);
  options.open_patience = std::chrono::seconds(3);
  options.properties["sasl.password"] = "guessed";
  const Status unknown = KafkaLog::Open(options).status();
  EXPECT_TRUE(absl::IsUnavailable(unknown)) << unknown;
  EXPECT_THAT(said.lines(), Contains(HasSubstr("SASL authentication error")));
  options = options_;
  options.open_patience = std::chrono::seconds(3);
  options.cluster = "of-others";
  const Status forbidden = KafkaLog::Open(options).status();
  EXPECT_THAT(std::string(forbidden.message()), HasSubstr("authorization failed")) << forbidden;
}

TEST_F(RealKafkaTest, ATopicThatWouldForgetIsRefused) {
  MakeTopic({});  // the default of brokers is `delete`
  const Status status = KafkaLog::Open(options_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("has cleanup.policy=delete, so Kafka would delete pages: set it to compact"));
}

TEST_F(RealKafkaTest, ATopicThatForgetsRemovalsTooSoonIsRefused) {
  MakeTopic({{"cleanup.policy", "compact"}});  // removals are kept for a day by default
  const Status status = KafkaLog::Open(options_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("has delete.retention.ms=86400000"));
}

TEST_F(RealKafkaTest, WhatASingleReplicaMeansIsSaid) {
  Said said;
  ASSERT_TRUE(KafkaLog::Open(said.By(options_)).ok());
  EXPECT_THAT(said.warnings(), Contains(HasSubstr("has one replica")));
  EXPECT_THAT(said.warnings(), Not(Contains(HasSubstr("not known"))));
}

// If the server did not end, it would continue with a log that lacks all earlier rows.
TEST_F(RealKafkaTest, ATopicThatIsMadeAnewBeneathAServerEndsIt) {
  const RealNode node = Start("db");
  for (uint32_t i = 1; i <= 20; ++i) {
    ASSERT_TRUE(CommitPage(*node.store, random_.Page("host.example", i, i)).ok());
  }
  DeleteTopic();
  MakeTopic({{"cleanup.policy", "compact"}, {"delete.retention.ms", "604800000"}});
  Status status;
  // While a broker does not know the new topic yet, it aborts appends.
  for (uint32_t i = 21; i <= 320 && (status.ok() || absl::IsResourceExhausted(status)); ++i) {
    status = CommitPage(*node.store, random_.Page("host.example", i, i));
    LetPass(Duration::Millis(100));
  }
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("has lost rows"));
  EXPECT_EQ(node.store->health(), status);
}

// For example, a leader that ends after the topic was deleted, and is started again, makes the
// topic anew.
TEST_F(RealKafkaTest, AStandbyDoesNotTakeOverATopicThatWasMadeAnew) {
  {
    const RealNode node = Start("db");
    for (uint32_t i = 1; i <= 20; ++i) {
      ASSERT_TRUE(CommitPage(*node.store, random_.Page("host.example", i, i)).ok());
    }
  }
  auto log = KafkaLog::Open(options_);
  ASSERT_TRUE(log.ok()) << log.status();
  TakesOver follower;
  StoreOptions options = SmallStore();
  options.truth = log->get();
  options.follower = &follower;
  Status status;
  std::thread standby([&] { status = Store::Open(dir_ / "standby", options).status(); });
  WaitUntil([&] { return follower.caught_up.load(); });
  LetPass(Duration::Seconds(1));
  DeleteTopic();
  MakeTopic({{"cleanup.policy", "compact"}, {"delete.retention.ms", "604800000"}});
  follower.may_own = true;
  standby.join();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("ends before the last row that the local"));
}

TEST_F(RealKafkaTest, WhoReadsATopicThatIsDeletedCanBeStopped) {
  { (void)Start("db"); }
  const auto began = std::chrono::steady_clock::now();
  {
    const auto log = KafkaLog::Open(options_);
    ASSERT_TRUE(log.ok()) << log.status();
    const auto take = [](const LogRow&, uint64_t) { return absl::OkStatus(); };
    const StatusOr<uint64_t> end = (*log)->Read(0, 0, std::nullopt, take);
    ASSERT_TRUE(end.ok()) << end.status();
    DeleteTopic();
    Status status;
    std::thread reader([&] {
      while (status.ok()) status = (*log)->Read(0, *end, std::nullopt, take).status();
    });
    LetPass(Duration::Seconds(10));
    (*log)->StopWaiting();
    reader.join();
    EXPECT_TRUE(absl::IsCancelled(status)) << status;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(100));
}

TEST_F(RealKafkaTest, ASecondServerHasAllThatTheFirstAcknowledgedAndFencesIt) {
  const RealNode first = Start("first");
  const PageRecord page = random_.Page("host.example", 1, 1);
  ASSERT_TRUE(CommitPage(*first.store, page).ok());

  const RealNode second = Start("second");
  EXPECT_EQ(*second.store->ReadPages({&page.number, 1})[0], page);
  EXPECT_GT(second.store->generation(), first.store->generation());

  const PageRecord late = random_.Page("host.example", 2, 2);
  const Status fenced = CommitPage(*first.store, late);
  EXPECT_TRUE(absl::IsUnavailable(fenced)) << fenced;
  EXPECT_THAT(std::string(fenced.message()), HasSubstr("fenced"));
  EXPECT_EQ(first.store->health(), fenced);

  const PageRecord next = random_.Page("host.example", 3, 3);
  EXPECT_TRUE(CommitPage(*second.store, next).ok());
  const RealNode third = Start("third");
  EXPECT_TRUE(absl::IsNotFound(third.store->ReadPages({&late.number, 1})[0].status()));
  EXPECT_EQ(*third.store->ReadPages({&next.number, 1})[0], next);
}

// librdkafka aborts the process if a member is destroyed just when the group has accepted it.
TEST_F(RealKafkaTest, OneMayLeaveAtAnyMomentOfJoining) {
  const auto serving = Join("b");
  ASSERT_TRUE(AwaitTurn(*serving));
  for (int ms = 0; ms < 40; ++ms) {
    auto standby = Join("a");
    LetPass(Duration::Millis(ms));
    standby = nullptr;
  }
  // The leader might lose its turn because of these many joins, but it gets the turn back.
  EXPECT_TRUE(AwaitTurn(*serving));
}

// If a member ended without leaving, the group would wait for it, and the leader could lose its
// turn meanwhile.
TEST_F(RealKafkaTest, AStandbyThatIsStoppedAndStartedTakesTheTurnOfNobody) {
  const auto serving = Join("b");
  ASSERT_TRUE(AwaitTurn(*serving));
  // The first members live long enough for the group to accept them, the last ones do not.
  for (const int looks : {100, 4, 0}) {
    auto standby = Join("a");
    LetPass(Duration::Millis(50) * looks);
    standby = nullptr;
    standby = Join("a");
    for (int i = 0; i < 160; ++i) {
      ASSERT_TRUE(serving->sure()) << looks << ": " << i * 50 << " ms after another start";
      LetPass(Duration::Millis(50));
    }
  }
}

}  // namespace
}  // namespace freshet
