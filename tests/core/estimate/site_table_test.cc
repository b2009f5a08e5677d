#include "core/estimate/site_table.h"

#include <bitset>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/id_limits.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "core/model/page_number.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "tests/core/estimate/source_classes.h"

namespace freshet {
namespace {

// Returns a page that was crawled for 100 days, with this many false signals.
PagePosterior SeatedPage(double false_signals = 0.1) {
  PagePosterior page;
  page.changes = 1;
  page.exposure = 100;
  page.observations = 1;
  page.told_changes = 0.5;
  page.expected_changes = 1;
  page.untold_changes = 0.5;
  page.untold_exposure = 1;
  page.false_exposure = 100;
  page.classes.push_back({.source_class = kPing,
                          .recall = 0.5,
                          .false_rate = false_signals / 100,
                          .prior = {.mean = 0.001, .shape = 0.5},
                          .false_signals = false_signals,
                          .signals = 0.5 + false_signals,
                          .truth = 0.5,
                          .seen = true});
  return page;
}

// A table, and functions that add pages to it.
class SiteTableTest : public testing::Test {
 protected:
  void Collect(const std::string& host, const PagePosterior& page = SeatedPage()) {
    table.Collect(host, MakePageNumber(SlotOfHost(host), ++last_serial_), page);
  }
  void CollectSmallHosts(size_t hosts) {
    for (size_t i = 0; i < hosts; ++i) Collect(fmt::format("small{}.test", i));
  }
  void Finish(double fade = 1) {
    table.EndCollecting();
    LearnedSites learned = table.Learn(table.Sums(), fade, false);
    moved = learned.moved;
    const std::string text = learned.text;
    table.Finish(std::move(learned), fade);
    EXPECT_EQ(table.Serialise(), text) << "what is stored is what is installed";
  }

  SiteTable table;
  std::bitset<limits::kSlots> moved;  // in the last epoch

 private:
  uint64_t last_serial_ = 0;
};

double FalseRate(const SiteTable& table, const std::string& host) {
  return table.model(table.NumberOf(host)).Find(kPing)->false_rate.mean;
}

// Seats (places for the models of single hosts) go to the hosts with the most evidence, not to the
// hosts that come first.
TEST_F(SiteTableTest, AHostOfManyPagesThatComesLastGetsASeat) {
  for (int epoch = 0; epoch < 2; ++epoch) {
    table.Begin();
    CollectSmallHosts(limits::kMaxSiteModels + 100);
    for (int i = 0; i < 500; ++i) Collect("large.test", SeatedPage(20));
    Finish();
    EXPECT_EQ(table.size(), limits::kMaxSiteModels + 1);
    EXPECT_NE(table.NumberOf("large.test"), 0) << "epoch " << epoch;
  }
  // A host with a seat has a separate model.
  EXPECT_NEAR(FalseRate(table, "large.test"), 0.2, 0.02);
}

// If hosts have equal evidence, seats do not move.
TEST_F(SiteTableTest, SeatsDoNotWanderAmongEquals) {
  for (int epoch = 0; epoch < 2; ++epoch) {
    table.Begin();
    CollectSmallHosts(limits::kMaxSiteModels + 100);
    Finish();
    for (size_t i = 0; i < limits::kMaxSiteModels; ++i) {
      ASSERT_NE(table.NumberOf(fmt::format("small{}.test", i)), 0) << i;
    }
  }
}

TEST_F(SiteTableTest, AHostOfFortyPagesIsToldApartFromItsNeighbours) {
  for (int epoch = 0; epoch < 2; ++epoch) {
    table.Begin();
    for (int host = 0; host < 50; ++host) {
      for (int i = 0; i < 40; ++i) Collect(fmt::format("h{}.test", host));
    }
    for (int i = 0; i < 40; ++i) Collect("noisy.test", SeatedPage(5));
    Collect("one.test", SeatedPage(0.1));
    Finish();
  }
  EXPECT_NEAR(FalseRate(table, "noisy.test"), 0.05, 0.02);
  EXPECT_LT(FalseRate(table, "h7.test"), 0.003);
  const double of_all = table.model(0).Find(kPing)->false_rate.mean;
  EXPECT_GT(FalseRate(table, "one.test"), 0.5 * of_all) << "one page proves little";
}

TEST_F(SiteTableTest, AHostWithoutPagesLosesItsSeat) {
  table.Begin();
  Collect("a.test");
  Collect("b.test");
  Finish();
  const uint16_t number = table.NumberOf("a.test");
  EXPECT_NE(number, 0);
  table.Begin();
  Collect("b.test");
  Finish();
  EXPECT_EQ(table.NumberOf("a.test"), 0);
  EXPECT_EQ(table.model(number).prior().mean, table.model(0).prior().mean)
      << "its pages stand for all until they are estimated anew";
  EXPECT_EQ(table.size(), 2u);
}

// Pages in other slots need not be estimated again.
TEST_F(SiteTableTest, TellsTheSlotsOfHostsWhoseModelsMoved) {
  constexpr int kHosts = 20;
  const auto collect = [&](double of_first) {
    table.Begin();
    for (int host = 0; host < kHosts; ++host) {
      for (int i = 0; i < 40; ++i) {
        Collect(fmt::format("h{}.test", host), SeatedPage(host == 0 ? of_first : 0.1));
      }
    }
    Finish();
  };
  collect(0.1);
  EXPECT_EQ(moved.count(), kHosts) << "nothing was known of any of them";
  for (int host = 0; host < kHosts; ++host) {
    EXPECT_TRUE(moved[SlotOfHost(fmt::format("h{}.test", host)).value()]) << host;
  }
  collect(0.1);
  EXPECT_EQ(moved.count(), 0u);
  collect(0.15);
  EXPECT_TRUE(moved[SlotOfHost("h0.test").value()]);
  EXPECT_LT(moved.count(), kHosts / 2);
  // A restart in between makes no difference.
  SiteTable restored;
  ASSERT_TRUE(restored.Restore(table.Serialise()).ok());
  EXPECT_TRUE(table.learned());
  EXPECT_TRUE(restored.learned());
  EXPECT_FALSE(SiteTable().learned());
}

// Pages of hosts without a seat follow the model of all hosts.
TEST_F(SiteTableTest, TellsTheSlotsOfHostsWithoutASeatWhenAllMoved) {
  const auto collect = [&](double false_signals) {
    table.Begin();
    for (size_t i = 0; i < limits::kMaxSiteModels + 1; ++i) {
      Collect(fmt::format("small{}.test", i), SeatedPage(false_signals));
    }
    Finish();
  };
  const std::string seatless = fmt::format("small{}.test", limits::kMaxSiteModels);
  collect(0.1);
  ASSERT_EQ(table.NumberOf(seatless), 0);
  collect(0.1);
  EXPECT_EQ(moved.count(), 0u);
  collect(2);
  EXPECT_TRUE(moved[SlotOfHost(seatless).value()]);
}

// While another thread learns, further events are applied.
TEST_F(SiteTableTest, WhatHappensWhileItLearnsCountsNextTime) {
  const PageNumber page = MakePageNumber(SlotOfHost("a.test"), 1);
  const PageNumber other = MakePageNumber(SlotOfHost("none.test"), 1);
  table.Begin();
  Collect("a.test");
  table.counts(table.NumberOf("a.test"), page).ages.AddEvent(2);
  table.EndCollecting();
  table.counts(table.NumberOf("a.test"), page).ages.AddEvent(2);
  table.counts(0, other).ages.AddEvent(2);
  LearnedSites learned = table.Learn(table.Sums(), 1, false);
  SiteTable restored;
  ASSERT_TRUE(restored.Restore(learned.text).ok());
  EXPECT_EQ(restored.counts(restored.NumberOf("a.test"), page).ages.events[1], 1);
  EXPECT_EQ(restored.counts(0, other).ages.events[1], 0);
  table.Finish(std::move(learned), 1);
  EXPECT_EQ(table.counts(table.NumberOf("a.test"), page).ages.events[1], 2);
  EXPECT_EQ(table.counts(0, other).ages.events[1], 1);
}

TEST_F(SiteTableTest, SurvivesTheStore) {
  const PageNumber h1 = MakePageNumber(SlotOfHost("h1.test"), 1);
  table.Begin();
  for (int i = 0; i < 30; ++i) Collect(fmt::format("h{}.test", i % 3), SeatedPage(i % 3));
  table.counts(table.NumberOf("h1.test"), h1).ages.AddEvent(2);
  Finish(0.5);
  const std::string text = table.Serialise();
  SiteTable restored;
  ASSERT_TRUE(restored.Restore(text).ok());
  EXPECT_EQ(restored.Serialise(), text);
  EXPECT_EQ(FalseRate(restored, "h2.test"), FalseRate(table, "h2.test"));
  EXPECT_EQ(restored.counts(restored.NumberOf("h1.test"), h1).ages.events[1], 0.5);
}

TEST_F(SiteTableTest, RefusesWhatItDidNotWrite) {
  table.Begin();
  Collect("a.test");
  Finish();
  const std::string text = table.Serialise();
  const std::string last = text.substr(text.rfind("a.test"));
  for (const std::string& bad :
       {std::string(), std::string("freshet-site-models 0\n"), text.substr(0, text.find('\n') + 1),
        text + "junk\n", text + last}) {
    EXPECT_FALSE(table.Restore(bad).ok()) << bad;
    EXPECT_EQ(table.Serialise(), text);
  }
  // Precisions that an earlier release learned tell nothing about false rates, so they are ignored.
  EXPECT_TRUE(table.Restore("freshet-site-models 1\nwhatever\n").ok());
  EXPECT_EQ(table.Serialise(), text);
}

}  // namespace
}  // namespace freshet
