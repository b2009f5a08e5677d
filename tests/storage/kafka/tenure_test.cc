// Tests that one server of a cluster has the turn (is the leader) until it leaves the group or
// becomes silent.
#include "storage/kafka/tenure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "tests/storage/kafka/mock_kafka.h"
#include "tests/storage/kafka/said.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TenureOptions TenureOf(const MockKafka& kafka, const std::string& name) {
  return {.kafka = kafka.options(), .node = name, .silence = std::chrono::seconds(6)};
}

std::unique_ptr<KafkaTenure> Join(const TenureOptions& options,
                                  std::function<void()> on_lost = nullptr) {
  StatusOr<std::unique_ptr<KafkaTenure>> tenure = KafkaTenure::Join(options, std::move(on_lost));
  EXPECT_TRUE(tenure.ok()) << tenure.status();
  return tenure.ok() ? *std::move(tenure) : nullptr;
}

std::unique_ptr<KafkaListener> Listen(const MockKafka& kafka) {
  StatusOr<std::unique_ptr<KafkaListener>> listener = KafkaListener::Open(kafka.options());
  EXPECT_TRUE(listener.ok()) << listener.status();
  return listener.ok() ? *std::move(listener) : nullptr;
}

// Joining the mock brokers takes long on a busy machine.
constexpr Duration kPatience = Duration::Seconds(100);

// While a server joins, the turn can move. The mock brokers then expect the heartbeat of a member
// only a second before it counts as silent, which is too late on a busy machine.
TEST(KafkaTenureTest, OneHasTheTurnAndWhenItLeavesTheNextOne) {
  const MockKafka kafka;
  auto first = Join(TenureOf(kafka, "first"));
  ASSERT_TRUE(Eventually([&] { return first->sure(); }, kPatience));
  EXPECT_TRUE(first->assigned());

  const auto second = Join(TenureOf(kafka, "second"));
  // Within this time, the group accepts the second server.
  EXPECT_FALSE(Eventually([&] { return first->sure() && second->sure(); }, Duration::Seconds(4)));

  first = nullptr;
  EXPECT_TRUE(Eventually([&] { return second->sure(); }, kPatience));
}

TEST(KafkaTenureTest, AnotherSilenceThanThatOfTheServerThatHasTheTurnIsWarnedOfOnce) {
  const MockKafka kafka;
  const auto first = Join(TenureOf(kafka, "first"));
  first->Announce("first");
  Said said;
  const KafkaOptions options = said.By(kafka.options());
  const auto hear = [&](std::chrono::milliseconds silence) {
    const auto listener = KafkaListener::Open(options, silence);
    ASSERT_TRUE(listener.ok()) << listener.status();
    ASSERT_TRUE(Eventually(
        [&] {
          const StatusOr<std::string> word = (*listener)->Announced(std::chrono::seconds(1));
          return word.ok() && *word == "first";
        },
        kPatience));
    (void)(*listener)->IsSilent(silence, std::chrono::seconds(1));
    (void)(*listener)->Announced(std::chrono::seconds(1));
  };
  hear(std::chrono::seconds(6));
  hear(std::chrono::seconds(0));
  EXPECT_THAT(said.warnings(), Not(Contains(HasSubstr("cluster.silence"))));
  hear(std::chrono::seconds(9));
  EXPECT_THAT(
      said.warnings(),
      Contains(HasSubstr("cluster.silence is 9000 ms here, and 6000 ms on the server")).Times(1));
}

TEST(KafkaTenureTest, WhoDoesNotStandIsNotGivenTheTurn) {
  const MockKafka kafka;
  // The group does not wait for a member that ends without having stood for the turn.
  { EXPECT_TRUE(KafkaTenure::Open(TenureOf(kafka, "gone"), nullptr).ok()); }
  StatusOr<std::unique_ptr<KafkaTenure>> opened = KafkaTenure::Open(TenureOf(kafka, "a"), nullptr);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const std::unique_ptr<KafkaTenure> waits = *std::move(opened);
  {
    const auto stands = Join(TenureOf(kafka, "b"));
    ASSERT_TRUE(Eventually([&] { return stands->sure(); }, kPatience));
  }
  EXPECT_FALSE(Eventually([&] { return waits->assigned(); }, Duration::Seconds(2)));
  ASSERT_TRUE(waits->Stand().ok());
  EXPECT_TRUE(Eventually([&] { return waits->sure(); }, kPatience));
}

TEST(KafkaTenureTest, WhoHearsNothingFromTheGroupIsNotSureAndIsAgainWhenItDoes) {
  MockKafka kafka;
  const auto tenure = Join(TenureOf(kafka, "node"));
  ASSERT_TRUE(Eventually([&] { return tenure->sure(); }, kPatience));
  kafka.Down();
  EXPECT_TRUE(Eventually([&] { return !tenure->sure(); }, Duration::Seconds(60)));
  kafka.Up();
  EXPECT_TRUE(Eventually([&] { return tenure->sure(); }, kPatience));
}

TEST(KafkaTenureTest, WhoHasTheTurnTellsTheOthersWhatItAnnounces) {
  const MockKafka kafka;
  std::array<std::unique_ptr<KafkaTenure>, 2> servers;
  servers[0] = Join(TenureOf(kafka, "first"));
  ASSERT_TRUE(Eventually([&] { return servers[0]->sure(); }, kPatience));
  servers[1] = Join(TenureOf(kafka, "second"));
  const auto listener = Listen(kafka);
  const auto heard = [&] {
    return listener->Announced(std::chrono::seconds(1)).value_or("no answer");
  };
  const auto announce = [&](const std::array<std::string, 2>& texts) {
    for (size_t i : {0, 1}) servers[i]->Announce(texts[i]);
  };
  // Returns true if a listener reads the text that the server with the turn announces.
  const auto told = [&](const std::array<std::string, 2>& texts) {
    return Eventually(
        [&] {
          const size_t serves = servers[0]->sure() ? 0 : 1;
          return servers[serves]->sure() && heard() == texts[serves];
        },
        kPatience);
  };
  EXPECT_TRUE(told({"", ""}));
  const std::array<std::string, 2> texts = {"127.0.0.1:7071 and a key", "of the second"};
  announce(texts);
  EXPECT_TRUE(told(texts));
  announce({"", ""});
  EXPECT_TRUE(told({"", ""}));
  announce({"", "of the second"});
  servers[0] = nullptr;
  EXPECT_TRUE(Eventually([&] { return heard() == "of the second"; }, kPatience));
}

TEST(KafkaTenureTest, WhoseTurnAnotherHasIsToldOnce) {
  MockKafka kafka;
  std::array<std::atomic<int>, 2> lost = {};
  std::array<std::unique_ptr<KafkaTenure>, 2> servers;
  servers[0] = Join(TenureOf(kafka, "first"), [&] { ++lost[0]; });
  ASSERT_TRUE(Eventually([&] { return servers[0]->sure(); }, kPatience));
  servers[1] = Join(TenureOf(kafka, "second"), [&] { ++lost[1]; });
  // Makes the group forget both members, as if they had been silent. Afterwards, either of them can
  // get the turn.
  const auto meet_anew = [&] {
    kafka.Fail(MockKafka::kHeartbeat, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID);
    EXPECT_TRUE(
        Eventually([&] { return !servers[0]->assigned() && !servers[1]->assigned(); }, kPatience));
    kafka.Forgive(MockKafka::kHeartbeat);
    EXPECT_TRUE(Eventually([&] { return servers[0]->sure() || servers[1]->sure(); }, kPatience));
  };
  EXPECT_TRUE(Eventually(
      [&] {
        meet_anew();
        return Eventually([&] { return lost[0] > 0; }, Duration::Seconds(2));
      },
      Duration::Seconds(400)));
  EXPECT_EQ(lost[0], 1);
}

// The confirmations of the server with the turn fail, as if it had been killed or stopped.
TEST(KafkaTenureTest, WhoHasTheTurnAndConfirmsItNoMoreIsSilentToTheNext) {
  MockKafka kafka;
  std::array<std::unique_ptr<KafkaTenure>, 2> servers;
  servers[0] = Join(TenureOf(kafka, "first"));
  ASSERT_TRUE(Eventually([&] { return servers[0]->sure(); }, kPatience));
  servers[1] = Join(TenureOf(kafka, "second"));
  const auto listener = Listen(kafka);
  const auto is_silent = [&] {
    return listener->IsSilent(std::chrono::seconds(6), std::chrono::seconds(1));
  };
  const auto silent_within = [&](int seconds) {
    return Eventually(is_silent, Duration::Seconds(seconds));
  };
  // While a server joins, the mock brokers accept no message of the other.
  ASSERT_TRUE(Eventually([&] { return !silent_within(4); }, kPatience));
  kafka.Fail(MockKafka::kOffsetCommit, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED);
  EXPECT_TRUE(silent_within(100));
  // If the brokers do not answer, the verdict stays the same.
  kafka.Down();
  EXPECT_TRUE(is_silent());
  kafka.Forgive(MockKafka::kOffsetCommit);
  kafka.Up();
  EXPECT_TRUE(Eventually([&] { return !is_silent(); }, kPatience));
}

// If a member left in the middle of joining, librdkafka would abort the process. So the server
// waits for the right moment.
TEST(KafkaTenureTest, OneMayLeaveAtAnyMomentOfJoining) {
  const MockKafka kafka;
  const auto first = Join(TenureOf(kafka, "first"));
  ASSERT_TRUE(Eventually([&] { return first->sure(); }, kPatience));
  for (int wait_ms = 0; wait_ms < 1200; wait_ms += 150) {
    const auto second = Join(TenureOf(kafka, "second"));
    LetPass(Duration::Millis(wait_ms));
  }
  EXPECT_TRUE(Eventually([&] { return first->sure(); }, kPatience));
}

// The group accepts the member, but assigns nothing to it. Leaving now would make librdkafka abort
// the process, too.
TEST(KafkaTenureTest, OneMayLeaveThatTheGroupDoesNotAnswer) {
  MockKafka kafka;
  kafka.DelayNext(MockKafka::kSyncGroup);
  auto tenure = Join(TenureOf(kafka, "first"));
  // Within this time, the group accepts the member.
  EXPECT_FALSE(Eventually([&] { return tenure->assigned(); }, Duration::Seconds(4)));
  const auto begun = std::chrono::steady_clock::now();
  tenure = nullptr;
  const auto took = std::chrono::steady_clock::now() - begun;
  EXPECT_GT(took, std::chrono::seconds(3)) << "an answer is waited for";
  EXPECT_LT(took, std::chrono::seconds(40));
}

// If the server is cut off from its broker, librdkafka alone would wait for the group for ever.
TEST(KafkaTenureTest, OneLeavesWithoutAnAnswerOfTheGroup) {
  MockKafka kafka;
  auto tenure = Join(TenureOf(kafka, "node"));
  ASSERT_TRUE(Eventually([&] { return tenure->sure(); }, kPatience));
  kafka.Mute(1);
  EXPECT_TRUE(Eventually([&] { return !tenure->sure(); }, kPatience));
  const auto begun = std::chrono::steady_clock::now();
  tenure = nullptr;
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60));
}

TEST(KafkaTenureTest, NamesThePropertyThatCannotBe) {
  const MockKafka kafka;
  TenureOptions options = TenureOf(kafka, "node");
  options.kafka.properties["session.timeout.ms"] = "1";
  const Status status = KafkaTenure::Join(options, nullptr).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("session.timeout.ms"));
}

}  // namespace
}  // namespace freshet
