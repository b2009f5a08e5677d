#include "server/engine/runtime_settings.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using testing::ElementsAre;

// Settings whose store waits until the test answers. Thread-compatible.
class RuntimeSettingsTest : public testing::Test {
 protected:
  void SetRate(double rate) {
    Change([rate](Settings* settings) { settings->crawl_rate = Rate::PerSecond(rate); });
  }
  void Change(const std::function<void(Settings*)>& change) {
    settings_.Change(change, [this](const Reply& reply) { told_.push_back(reply.status.ok()); });
  }
  // Ends the store's write with success or a refusal.
  void Answer(bool fine) {
    const RuntimeSettings::Done done = std::exchange(waiting_, nullptr);
    ASSERT_TRUE(done);
    Reply reply;
    if (!fine) {
      reply.disposition = Disposition::kRefused;
      reply.status = MakeStatus(absl::StatusCode::kResourceExhausted, "the device is full");
    }
    done(reply);
  }

  Settings stored_;
  RuntimeSettings::Done waiting_;
  std::vector<bool> told_;
  RuntimeSettings settings_{{}, "default", [this](const Settings& settings, auto done) {
                              EXPECT_FALSE(waiting_) << "two at a time";
                              stored_ = settings;
                              waiting_ = std::move(done);
                            }};
};

TEST_F(RuntimeSettingsTest, AChangeIsInForceOnceItIsStored) {
  SetRate(5);
  EXPECT_EQ(stored_.crawl_rate, Rate::PerSecond(5));
  EXPECT_THAT(told_, ElementsAre());
  Answer(true);
  EXPECT_THAT(told_, ElementsAre(true));
}

TEST_F(RuntimeSettingsTest, WhatIsRefusedIsNotCarriedAlong) {
  SetRate(5);
  Change([](Settings* settings) { settings->paused = true; });
  SetRate(7);
  Answer(false);
  // The pause came while the rate was being stored. The pause is stored without the rate, which was
  // refused.
  EXPECT_EQ(stored_, (Settings{.paused = true}));
  Answer(true);
  EXPECT_EQ(stored_, (Settings{.crawl_rate = Rate::PerSecond(7), .paused = true}));
  Answer(false);
  EXPECT_THAT(told_, ElementsAre(false, true, false));
  SetRate(9);
  EXPECT_EQ(stored_, (Settings{.crawl_rate = Rate::PerSecond(9), .paused = true}));
  Answer(true);
  EXPECT_THAT(told_, ElementsAre(false, true, false, true));
}

TEST_F(RuntimeSettingsTest, NamesThePolicyThatGoesOnUntilTheOneSetIsInForce) {
  EXPECT_EQ(settings_.policy_status(true), (PolicyStatus{.in_force = "default", .pending = ""}));
  settings_.set_policy("greedy", true);
  EXPECT_EQ(settings_.policy(), "greedy");
  EXPECT_EQ(settings_.policy_status(false),
            (PolicyStatus{.in_force = "default", .pending = "greedy"}));
  settings_.set_policy("uniform", false);
  EXPECT_EQ(settings_.policy_status(false),
            (PolicyStatus{.in_force = "default", .pending = "uniform"}));
  EXPECT_EQ(settings_.policy_status(true), (PolicyStatus{.in_force = "uniform", .pending = ""}));
  settings_.set_policy("harmonic", true);
  EXPECT_EQ(settings_.policy_status(false),
            (PolicyStatus{.in_force = "uniform", .pending = "harmonic"}));
}

}  // namespace
}  // namespace freshet
