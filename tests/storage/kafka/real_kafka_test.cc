// What only real brokers show: an earlier owner is fenced, and what it left open is undone. The
// brokers are those of FRESHET_TEST_KAFKA (host:port); `./dev fleet` starts some.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "storage/kafka/kafka_log.h"
#include "storage/kafka/tenure.h"
#include "storage/store.h"
#include "tests/storage/random_records.h"
#include "tests/storage/small_store.h"
#include "tests/storage/store_model.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using testing::HasSubstr;

struct RealNode {
  std::unique_ptr<KafkaLog> log;
  std::unique_ptr<Store> store;
};

class RealKafkaTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const brokers = std::getenv("FRESHET_TEST_KAFKA");
    if (brokers == nullptr) GTEST_SKIP() << "FRESHET_TEST_KAFKA is not set";
    // A topic of its own for each run of each test.
    const auto stamp = std::chrono::system_clock::now().time_since_epoch().count();
    options_ = {.cluster = fmt::format("test-{}", stamp),
                .brokers = brokers,
                .partitions = 2,
                .replication = 1};
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

// A member that ends without leaving has the group wait for it, and the turn be lost meanwhile.
TEST_F(RealKafkaTest, AStandbyThatIsStoppedAndStartedTakesTheTurnOfNobody) {
  const auto join = [&](const std::string& name) {
    auto joined = KafkaTenure::Join(
        {.kafka = options_, .node = name, .silence = std::chrono::seconds(6)}, nullptr);
    EXPECT_TRUE(joined.ok()) << joined.status();
    return *std::move(joined);
  };
  const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  const auto serving = join("b");
  for (int i = 0; i < 1200 && !serving->sure(); ++i) sleep();
  ASSERT_TRUE(serving->sure());
  // One that has met the group, and one that has not.
  for (const int looks : {100, 4, 0}) {
    auto standby = join("a");
    for (int i = 0; i < looks; ++i) sleep();
    standby = nullptr;
    standby = join("a");
    for (int i = 0; i < 160; ++i) {
      ASSERT_TRUE(serving->sure()) << looks << ": " << i * 50 << " ms after another start";
      sleep();
    }
  }
}

}  // namespace
}  // namespace freshet
