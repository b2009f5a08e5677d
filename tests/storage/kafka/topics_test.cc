#include "storage/kafka/topics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Returns the settings that brokers report for a topic made by the server, with three replicas.
kafka::TopicSettings Good() {
  return {.values = {{"cleanup.policy", "compact"},
                     {"delete.retention.ms", "604800000"},
                     {"min.insync.replicas", "2"},
                     {"retention.ms", "3600000"},
                     {"unclean.leader.election.enable", "false"}},
          .replicas = 3};
}

struct Judged {
  std::string refused;  // the error; empty = accepted
  std::vector<std::string> warnings;
};

Judged Judge(const kafka::TopicSettings& settings) {
  Judged judged;
  const Status status = kafka::JudgeTopic("news.changes", settings, &judged.warnings);
  judged.refused = std::string(status.message());
  EXPECT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
  return judged;
}

TEST(TopicsTest, WhatTheServerMakesIsTakenWithoutAWord) {
  EXPECT_EQ(Judge(Good()).refused, "");
  EXPECT_THAT(Judge(Good()).warnings, IsEmpty());
}

TEST(TopicsTest, ATopicThatForgetsPagesIsRefused) {
  for (const char* policy : {"delete", "compact,delete", "delete,compact", ""}) {
    kafka::TopicSettings settings = Good();
    settings.values["cleanup.policy"] = policy;
    EXPECT_THAT(Judge(settings).refused, HasSubstr("news.changes has cleanup.policy=")) << policy;
  }
}

TEST(TopicsTest, ATopicThatForgetsRemovalsTooSoonIsRefused) {
  kafka::TopicSettings settings = Good();
  settings.values["delete.retention.ms"] = "86400000";
  EXPECT_THAT(Judge(settings).refused,
              HasSubstr("has delete.retention.ms=86400000, so a server that was away could bring "
                        "back removed pages: set it to at least 604800000"));
  settings.values["delete.retention.ms"] = "604800001";
  EXPECT_EQ(Judge(settings).refused, "");
}

TEST(TopicsTest, WhatIsLessSafeThanItCouldBeIsWarnedOf) {
  kafka::TopicSettings settings = Good();
  settings.values["min.insync.replicas"] = "1";
  settings.values["unclean.leader.election.enable"] = "true";
  EXPECT_EQ(Judge(settings).refused, "");
  EXPECT_THAT(Judge(settings).warnings, ElementsAre(HasSubstr("has min.insync.replicas=1"),
                                                    HasSubstr("election.enable=true")));
  // With one replica, the number of in-sync replicas is at most one.
  settings.replicas = 1;
  EXPECT_THAT(Judge(settings).warnings,
              ElementsAre(HasSubstr("has one replica"), HasSubstr("election.enable=true")));
}

TEST(TopicsTest, ATopicThatRefusesLongRowsIsRefused) {
  kafka::TopicSettings settings = Good();
  settings.values["max.message.bytes"] = "1000000";
  EXPECT_THAT(Judge(settings).refused, HasSubstr("has max.message.bytes=1000000"));
  settings.values["max.message.bytes"] = "1048588";
  EXPECT_EQ(Judge(settings).refused, "");
}

TEST(TopicsTest, TopicsOfTheBrokersAreWarnedOfWhereADiskEndsTakeOvers) {
  const auto judge = [](const kafka::TopicSettings& settings) {
    return kafka::JudgeBrokersTopic("__transaction_state", settings);
  };
  EXPECT_THAT(judge(Good()), IsEmpty());
  EXPECT_THAT(judge({}), IsEmpty());
  kafka::TopicSettings settings = Good();
  settings.values["min.insync.replicas"] = "1";
  EXPECT_THAT(judge(settings),
              ElementsAre(HasSubstr("__transaction_state has min.insync.replicas=1")));
  settings.replicas = 1;
  EXPECT_THAT(judge(settings), ElementsAre(HasSubstr("__transaction_state has one replica")));
}

TEST(TopicsTest, WhatBrokersDoNotSayPasses) {
  EXPECT_EQ(Judge({}).refused, "");
  EXPECT_THAT(Judge({}).warnings, IsEmpty());
}

}  // namespace
}  // namespace freshet
