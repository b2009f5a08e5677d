#include "server/fleet/settings_keeper.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using testing::HasSubstr;

class KeeperClock final : public Clock {
 public:
  [[nodiscard]] Instant Now() override { return now_; }
  void Advance(Duration by) { now_ = now_ + by; }

 private:
  Instant now_ = Instant::FromUnixSeconds(1'700'000'000);
};

// Division 0 of three keeps the settings.
class SettingsKeeperTest : public testing::Test {
 protected:
  using Outcomes = std::vector<std::pair<uint32_t, Status>>;

  static v1::ShareSettingsRequest Report(uint32_t division, uint64_t taken, uint64_t node = 1) {
    v1::ShareSettingsRequest report;
    report.set_node(node);
    report.set_division(division);
    report.set_taken(taken);
    report.set_in_force(taken);
    return report;
  }
  void Hear(const v1::ShareSettingsRequest& report) {
    answers_[report.division()].reset();
    keeper_.Hear(report, [this, division = report.division()](auto answer) {
      answers_[division] = std::move(answer);
    });
  }
  // Returns the version in the division's answer; 0 = the answer is empty, nullopt = no answer yet.
  std::optional<uint64_t> Told(uint32_t division) {
    const auto& answer = answers_[division];
    if (!answer) return std::nullopt;
    EXPECT_TRUE(answer->ok()) << answer->status();
    return (*answer)->settings().version();
  }
  Status Refused(uint32_t division) {
    EXPECT_TRUE(answers_[division].has_value());
    return answers_[division] ? answers_[division]->status() : absl::OkStatus();
  }
  void Publish() {
    outcomes_.reset();
    keeper_.Publish([this](const Outcomes& outcomes) { outcomes_ = outcomes; });
  }

  KeeperClock clock_;
  std::string policy_ = "first";
  SettingsKeeper keeper_{{.divisions = 3, .division = 0},
                         /*generation=*/2,
                         clock_,
                         [this](const std::string& /*after*/) {
                           v1::FleetSettings settings;
                           settings.set_policy(policy_);
                           return settings;
                         }};
  std::map<uint32_t, std::optional<StatusOr<v1::ShareSettingsResponse>>> answers_;
  std::optional<Outcomes> outcomes_;
};

TEST_F(SettingsKeeperTest, WhoHasAnEarlierVersionIsToldAtOnceAndOthersOfEachChange) {
  Hear(Report(1, 0));
  const uint64_t first = *Told(1);
  EXPECT_GT(first, 0U);
  Hear(Report(1, first));
  EXPECT_EQ(Told(1), std::nullopt);
  policy_ = "second";
  Publish();
  ASSERT_TRUE(Told(1).has_value());
  EXPECT_GT(*Told(1), first);
  EXPECT_EQ((*answers_[1])->settings().policy(), "second");
  // A division that has missed the change gets the settings at once.
  Hear(Report(2, first));
  EXPECT_EQ(Told(2), Told(1));
  // A report that is held back is answered after kHold at the latest.
  Hear(Report(1, *Told(1)));
  clock_.Advance(SettingsKeeper::kHold);
  keeper_.Attend();
  EXPECT_EQ(Told(1), 0U);
}

TEST_F(SettingsKeeperTest, VersionsRiseWithEachKeeper) {
  Hear(Report(1, 0));
  Publish();
  Hear(Report(1, 0));
  SettingsKeeper next({.divisions = 3, .division = 0}, /*generation=*/3, clock_,
                      [](const std::string&) { return v1::FleetSettings(); });
  std::optional<uint64_t> told;
  next.Hear(Report(1, *Told(1)), [&](auto answer) { told = answer->settings().version(); });
  ASSERT_TRUE(told.has_value());
  EXPECT_GT(*told, *Told(1));
  // The previous keeper no longer leads.
  Hear(Report(1, *told));
  EXPECT_EQ(Refused(1).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SettingsKeeperTest, AChangeIsOverOnceAllFollowIt) {
  Publish();
  Hear(Report(1, 0));
  const uint64_t version = *Told(1);
  Hear(Report(1, version));
  EXPECT_FALSE(outcomes_.has_value());
  // The settings are stored, but not yet in force.
  v1::ShareSettingsRequest stored = Report(2, version);
  stored.set_in_force(0);
  Hear(stored);
  EXPECT_FALSE(outcomes_.has_value());
  Hear(Report(2, version));
  ASSERT_TRUE(outcomes_.has_value());
  ASSERT_EQ(outcomes_->size(), 2U);
  for (const auto& [division, outcome] : *outcomes_) EXPECT_TRUE(outcome.ok()) << outcome;
}

TEST_F(SettingsKeeperTest, SaysWhoDoesNotFollowAndWhoWasNotHeard) {
  Publish();
  Hear(Report(1, 0));
  v1::ShareSettingsRequest failed = Report(1, 0);
  failed.mutable_fault()->set_version(*Told(1));
  failed.mutable_fault()->set_code(3);
  failed.mutable_fault()->set_text("policy: is none");
  Hear(failed);
  EXPECT_FALSE(outcomes_.has_value());
  clock_.Advance(SettingsKeeper::kPatience);
  keeper_.Attend();
  ASSERT_TRUE(outcomes_.has_value());
  EXPECT_EQ(outcomes_->at(0).second, InvalidArgument("policy: is none"));
  EXPECT_TRUE(absl::IsUnavailable(outcomes_->at(1).second));
}

TEST_F(SettingsKeeperTest, HearsNoServerThatWasReplacedAndNoDivisionThatIsNone) {
  Hear(Report(1, 0, /*node=*/7));
  Hear(Report(1, 0, /*node=*/6));
  EXPECT_EQ(Refused(1).code(), absl::StatusCode::kFailedPrecondition);
  for (const uint32_t division : {0U, 3U}) {
    Hear(Report(division, 0));
    EXPECT_THAT(std::string(Refused(division).message()), HasSubstr("division: "));
  }
}

TEST_F(SettingsKeeperTest, NothingWaitsForOneThatEnds) {
  Hear(Report(1, 0));
  Hear(Report(1, *Told(1)));
  Publish();
  Hear(Report(1, *Told(1)));
  keeper_.Stop();
  EXPECT_TRUE(Told(1).has_value());
  EXPECT_TRUE(outcomes_.has_value());
  Publish();
  EXPECT_TRUE(outcomes_.has_value());
  Hear(Report(2, 0));
  EXPECT_TRUE(absl::IsUnavailable(Refused(2)));
}

}  // namespace
}  // namespace freshet
