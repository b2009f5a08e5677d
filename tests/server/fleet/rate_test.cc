// Tests how the servers of a fleet share the crawl rate: who leads, who reports, and which rate is
// used.
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/fleet/rate_leadership.h"
#include "server/fleet/rate_member.h"
#include "server/fleet/rate_wire.h"
#include "server/fleet/shared_rate.h"

namespace freshet {
namespace {

using testing::HasSubstr;

constexpr uint32_t kDivisions = 2;

class HandClock final : public Clock {
 public:
  [[nodiscard]] Instant Now() override { return now_; }
  void Advance(Duration by) { now_ = now_ + by; }

 private:
  Instant now_ = Instant::FromUnixSeconds(1'700'000'000);
};

// Two divisions whose servers report to a leader, without a network.
class FleetOfTwo : public testing::Test {
 protected:
  struct Division {
    std::unique_ptr<RateMember> member;
    HandedOut handed_out{.credit = 1000};
    Rate obeyed;
    bool serves = true;
    uint64_t pages = 1000;
    double price = 1;
  };

  FleetOfTwo() {
    for (uint32_t i = 0; i < kDivisions; ++i) Start(i, i * 100 + 1);
  }

  void Start(uint32_t i, uint64_t node) {
    divisions_[i].obeyed = Rate();
    divisions_[i].member = std::make_unique<RateMember>(
        NodeId(node), i, options_, clock_,
        RateMemberHooks{.serves = [this, i] { return divisions_[i].serves; },
                        .describe =
                            [this, i](RateReport* report) {
                              report->price = divisions_[i].price;
                              report->pages = divisions_[i].pages;
                            },
                        .handed_out = [this, i] { return divisions_[i].handed_out; },
                        .send =
                            [this](const RateReport& report, RateMemberHooks::Answered answered) {
                              Send(report, std::move(answered));
                            },
                        .obey = [this, i](Rate rate) { divisions_[i].obeyed = rate; }});
  }

  // Converts the report and its answer as in a real call.
  void Send(const RateReport& report, RateMemberHooks::Answered answered) {
    if (!connected_) {
      lost_.push_back(std::move(answered));
      return;
    }
    v1::ShareRateRequest request;
    ToProto(report, &request);
    const StatusOr<RateReport> heard = FromProto(request);
    ASSERT_TRUE(heard.ok()) << heard.status();
    leadership_->Hear(*heard, FleetTotal{total_, clock_.Now()},
                      [answered = std::move(answered)](StatusOr<RateLeadership::Answer> answer) {
                        if (!answer.ok()) return answered(answer.status());
                        if (!answer->grant) return answered(RateGrant());
                        v1::RateGrant grant;
                        ToProto(*answer->grant, &grant);
                        answered(FromProto(grant));
                      });
  }

  void RunFor(Duration time) {
    for (Duration passed; passed < time; passed = passed + RateLeadership::Tick()) {
      clock_.Advance(RateLeadership::Tick());
      for (auto& [i, division] : divisions_) {
        division.member->Attend();
        // Each division hands out as many pages as its rate allows.
        if (!division.member->MayHandOut()) continue;
        division.handed_out.assignments +=
            static_cast<uint64_t>(division.obeyed.per_second() * RateLeadership::Tick().seconds());
      }
      leadership_->Attend();
      double sum = 0;
      for (auto& [i, division] : divisions_) {
        if (division.member->MayHandOut() && division.serves) sum += division.obeyed.per_second();
      }
      EXPECT_LE(sum, most_ * (1 + 1e-9));
    }
  }
  [[nodiscard]] double Sum() const {
    double sum = 0;
    for (const auto& [i, division] : divisions_) sum += division.obeyed.per_second();
    return sum;
  }

  HandClock clock_;
  FleetRateOptions options_ = SharingOptions(kDivisions, Duration::Seconds(6));
  Rate total_ = Rate::PerSecond(400);
  double most_ = 400;
  std::optional<uint64_t> turn_ = 1;
  bool connected_ = true;
  std::vector<RateMemberHooks::Answered> lost_;
  std::unique_ptr<RateLeadership> leadership_ =
      std::make_unique<RateLeadership>(options_, clock_, [this] { return turn_; });
  std::map<uint32_t, Division> divisions_;
};

TEST_F(FleetOfTwo, SharesTheRateWithinSeconds) {
  RunFor(Duration::Seconds(5));
  EXPECT_GT(Sum(), 380);
  EXPECT_NEAR(divisions_[0].obeyed.per_second(), 200, 40);
  EXPECT_GE(divisions_[0].member->grants(), 3u);
  EXPECT_LE(divisions_[0].member->unheard(), 2u);
}

TEST_F(FleetOfTwo, DearerDivisionGetsMore) {
  divisions_[1].price = 8;
  RunFor(Duration::Seconds(60));
  EXPECT_GT(divisions_[1].obeyed.per_second(), 2 * divisions_[0].obeyed.per_second());
  EXPECT_GT(Sum(), 380);
}

TEST_F(FleetOfTwo, DivisionWithoutWorkersLeavesItsPartToOthers) {
  divisions_[1].handed_out.credit = 0;
  RunFor(Duration::Seconds(30));
  EXPECT_EQ(divisions_[1].obeyed, Rate());
  EXPECT_GT(divisions_[0].obeyed.per_second(), 380);
  divisions_[1].handed_out.credit = 1000;
  RunFor(Duration::Seconds(20));
  EXPECT_GT(divisions_[1].obeyed.per_second(), 100);
}

// A grant ends too late by the member's clock if the clock of the member or of the leader is wrong.
TEST_F(FleetOfTwo, WhoIsGrantedWhatIsOutsideItsTimeSaysSo) {
  RunFor(Duration::Seconds(5));
  ASSERT_EQ(leadership_->figures()->refusing, 0U);
  HandClock behind;
  RateReport report;
  RateMemberHooks::Answered answer;
  RateMember member(NodeId(7), 0, options_, behind,
                    {.serves = [] { return true; },
                     .describe = [](RateReport*) {},
                     .handed_out = [] { return HandedOut(); },
                     .send =
                         [&](const RateReport& its, RateMemberHooks::Answered answered) {
                           report = its;
                           answer = std::move(answered);
                         },
                     .obey = [](Rate) {}});
  const auto grant = [&](Duration ahead) {
    answer(RateGrant{.node = NodeId(7),
                     .term = 1,
                     .number = report.number,
                     .rate = Rate::PerSecond(1),
                     .until = behind.Now() + options_.lifetime + ahead});
    behind.Advance(Duration::Seconds(1));
    member.Attend();
  };
  member.Attend();
  EXPECT_FALSE(report.refuses);
  grant(Duration::Seconds(2));
  EXPECT_TRUE(report.refuses);
  EXPECT_FALSE(member.MayHandOut());
  EXPECT_EQ(member.ungranted(), Duration::Seconds(1));
  // The leader counts the members that refuse grants.
  report.node = NodeId(1);
  report.place = 0;
  report.number = 1000;
  report.sent = clock_.Now();
  leadership_->Hear(report, {}, [](const auto&) {});
  RunFor(options_.round);
  EXPECT_EQ(leadership_->figures()->refusing, 1U);
  grant(Duration());
  EXPECT_FALSE(report.refuses);
  EXPECT_TRUE(member.MayHandOut());
  EXPECT_EQ(member.ungranted(), Duration());
}

TEST_F(FleetOfTwo, NothingIsHandedOutOnceGrantsHaveRunOut) {
  RunFor(Duration::Seconds(5));
  connected_ = false;
  RunFor(options_.lifetime - Duration::Seconds(2));
  EXPECT_TRUE(divisions_[0].member->MayHandOut());
  RunFor(Duration::Seconds(3));
  for (auto& [i, division] : divisions_) {
    EXPECT_FALSE(division.member->MayHandOut());
    EXPECT_EQ(division.obeyed, Rate());
    EXPECT_EQ(division.member->granted(), Rate());
  }
  // The leader no longer waits for a node that was silent for too long.
  connected_ = true;
  RunFor(Duration::Seconds(6));
  EXPECT_GT(Sum(), 380);
  // Late answers to old reports do no harm.
  for (auto& answered : lost_) answered(MakeStatus(absl::StatusCode::kUnavailable, "too late"));
  RunFor(Duration::Seconds(2));
  EXPECT_GT(Sum(), 380);
}

TEST_F(FleetOfTwo, ServerThatMayHaveBeenReplacedSaysNothing) {
  RunFor(Duration::Seconds(5));
  divisions_[0].serves = false;
  RunFor(options_.lifetime + Duration::Seconds(2));
  EXPECT_FALSE(divisions_[0].member->MayHandOut());
  RunFor(Duration::Seconds(5));
  EXPECT_GT(divisions_[1].obeyed.per_second(), 380);
}

TEST_F(FleetOfTwo, NextServerOfADivisionHasItsRateAtOnce) {
  // Workers ask for only a few pages at a time, so a division's part of the rate grows slowly.
  for (auto& [i, division] : divisions_) division.handed_out.credit = 20;
  RunFor(Duration::Seconds(60));
  EXPECT_GT(divisions_[1].obeyed.per_second(), 150);
  divisions_[1].serves = false;
  RunFor(Duration::Seconds(8));
  divisions_[1].serves = true;
  Start(1, 102);
  RunFor(Duration::Seconds(3));
  EXPECT_GT(divisions_[1].obeyed.per_second(), 100);
  EXPECT_GT(Sum(), 350);
}

TEST_F(FleetOfTwo, AnotherLeaderTakesOverWithoutAPause) {
  RunFor(Duration::Seconds(5));
  turn_.reset();
  RunFor(Duration::Seconds(1));
  EXPECT_FALSE(leadership_->figures().has_value());
  RunFor(Duration::Seconds(3));
  // The new leader has no memory of earlier rates.
  leadership_ =
      std::make_unique<RateLeadership>(options_, clock_, [] { return std::optional<uint64_t>(1); });
  double least = 400;
  for (int i = 0; i < 20; ++i) {
    RunFor(Duration::Seconds(1));
    least = std::min(least, Sum());
  }
  EXPECT_GT(least, 350);
  EXPECT_FALSE(leadership_->figures()->quiet);
}

TEST_F(FleetOfTwo, LeadThatWasAnothersInBetweenBeginsAnew) {
  RunFor(Duration::Seconds(5));
  EXPECT_FALSE(leadership_->figures()->quiet);
  turn_ = 2;
  leadership_->Attend();
  EXPECT_TRUE(!leadership_->figures() || leadership_->figures()->quiet ||
              leadership_->figures()->nodes == 0);
  RunFor(Duration::Seconds(5));
  EXPECT_GT(Sum(), 350);
}

TEST_F(FleetOfTwo, NumbersOfNoUseHarmNobody) {
  total_ = Rate::PerSecond(1e-300);
  RunFor(Duration::Seconds(5));
  EXPECT_EQ(Sum(), 0);
  RateReport report{.node = NodeId(102), .place = 1, .number = 1, .sent = clock_.Now()};
  report.price = 1e60;
  report.demand = {Rate::PerSecond(1e7), -1e-300};
  report.held = {NodeId(102), 1, 1, Rate::PerSecond(1e-310), clock_.Now() + Duration::Seconds(9)};
  leadership_->Hear(report, std::nullopt, [](const auto&) {});
  total_ = Rate::PerSecond(400);
  RunFor(Duration::Seconds(3));
  Start(1, 103);
  RunFor(Duration::Seconds(20));
  EXPECT_GT(Sum(), 350);
}

TEST_F(FleetOfTwo, LowerRateIsFollowed) {
  RunFor(Duration::Seconds(5));
  total_ = Rate::PerSecond(50);
  RunFor(Duration::Seconds(4));
  most_ = 50;
  RunFor(Duration::Seconds(5));
  EXPECT_GT(Sum(), 45);
}

TEST_F(FleetOfTwo, ReportsAreRefusedByWhoDoesNotLead) {
  turn_.reset();
  leadership_->Attend();
  Status said;
  leadership_->Hear({}, std::nullopt, [&](const auto& answer) { said = answer.status(); });
  EXPECT_EQ(said.code(), absl::StatusCode::kFailedPrecondition);
  RunFor(Duration::Seconds(5));
  EXPECT_EQ(Sum(), 0);
  EXPECT_GT(divisions_[0].member->unheard(), 3u);
}

TEST_F(FleetOfTwo, WhatWaitsIsAnsweredAtTheEnd) {
  RunFor(Duration::Seconds(5));
  std::vector<Status> said;
  RateReport report{.node = NodeId(1000), .place = 1, .number = 1, .sent = clock_.Now()};
  report.price = 1;
  const auto answered = [&said](const auto& answer) { said.push_back(answer.status()); };
  leadership_->Hear(report, std::nullopt, answered);
  report.number = 2;
  leadership_->Hear(report, std::nullopt, answered);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(std::string(said[0].message()), HasSubstr("a later report has arrived"));
  leadership_->Stop();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[1].code(), absl::StatusCode::kFailedPrecondition);
}

TEST(RateWire, CarriesAReportAndAGrantWhole) {
  RateReport report{.node = NodeId(7),
                    .place = 3,
                    .number = 9,
                    .sent = Instant::FromUnixSeconds(1'700'000'000) + Duration::Micros(17)};
  report.held = {NodeId(7), 5, 4, Rate::PerSecond(0.1), report.sent + Duration::Seconds(3)};
  report.price = 0.3;
  report.demand = {Rate::PerSecond(12), -0.7};
  report.used = Rate::PerSecond(3);
  report.credit = 11;
  report.pages = 12;
  v1::ShareRateRequest request;
  ToProto(report, &request);
  const StatusOr<RateReport> back = FromProto(request);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->node, report.node);
  EXPECT_EQ(back->place, report.place);
  EXPECT_EQ(back->number, report.number);
  EXPECT_EQ(back->sent, report.sent);
  EXPECT_EQ(back->held, report.held);
  EXPECT_EQ(back->price, report.price);
  EXPECT_EQ(back->demand->rate, report.demand->rate);
  EXPECT_EQ(back->demand->elasticity, report.demand->elasticity);
  EXPECT_EQ(back->used, report.used);
  EXPECT_EQ(back->credit, report.credit);
  EXPECT_EQ(back->pages, report.pages);
}

TEST(RateWire, RefusesWhatIsNoInstantOrRate) {
  v1::ShareRateRequest request;
  request.mutable_sent()->set_nanos(-1);
  EXPECT_EQ(FromProto(request).status().code(), absl::StatusCode::kInvalidArgument);
  v1::FleetCrawlRate total;
  total.set_per_second(-1);
  EXPECT_THAT(std::string(FromProto(total).status().message()), HasSubstr("crawl_rate.per_second"));
}

}  // namespace
}  // namespace freshet
