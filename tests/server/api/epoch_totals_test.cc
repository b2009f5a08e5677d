// Tests the totals of an epoch that divisions send each other.
#include "server/api/epoch_totals.h"

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/estimate/page_estimator.h"
#include "core/model/page_number.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr uint8_t kCdn = 0;
constexpr uint8_t kSitemap = 1;

void AddSources(const std::vector<std::string>& names, Sources* sources) {
  for (const std::string& name : names) sources->Add(*sources->Propose(name));
}

// Returns a page with signals of one source class.
PageClass Signalled(SourceClass source_class, double signals) {
  return {.source_class = source_class,
          .recall = 0.5,
          .false_rate = 0.01,
          .prior = {.mean = 0.001, .shape = 0.5},
          .false_signals = 0.25 * signals,
          .signals = signals,
          .truth = 0.75 * signals,
          .seen = true};
}

// Returns the totals of a store whose sources are kCdn and kSitemap.
EpochTotals SomeTotals() {
  EpochSums sums;
  for (uint16_t slot = 0; slot < 40; ++slot) {
    SiteLearner host(10);
    PagePosterior page;
    page.changes = slot;
    page.exposure = 100;
    page.teaches_rate = true;
    page.told_changes = 2;
    page.expected_changes = 5;
    page.untold_changes = 3;
    page.untold_exposure = 4;
    page.false_exposure = 90;
    page.classes = {Signalled(SourceClass(kCdn, BurstClass::kFew), 8),
                    Signalled(SourceClass(kSitemap, BurstClass::kMass), 40)};
    host.Add(page, MakePageNumber(Slot(slot), 1));
    SiteCounts counts;
    counts.ages.AddEvent(slot);
    counts.ages.AddExposure(0.1, 0, 50);
    counts.lives = {.deaths = 0.5, .exposure = 1000, .returns = 0.125, .looks = 3};
    sums.AddHost(Slot(slot), host, counts);
  }
  return sums.Totals();
}

SiteModel ModelOf(const EpochTotals& totals) {
  EpochSums sums;
  DivisionTotals others;
  others.emplace(0, totals);
  sums.SetOthers(1, std::move(others));
  return sums.Fit();
}

TEST(EpochTotalsTest, AnotherDivisionLearnsTheSameFromThemUnderItsOwnIndices) {
  Sources ours;
  AddSources({"cdn", "sitemap"}, &ours);
  Sources theirs;
  AddSources({"feed", "sitemap", "cdn"}, &theirs);
  v1::EpochTotals message;
  ToProto(SomeTotals(), ours, &message);
  v1::EpochTotals sent;
  ASSERT_TRUE(sent.ParseFromString(message.SerializeAsString()));
  const StatusOr<EpochTotals> totals = FromProto(sent, theirs);
  ASSERT_TRUE(totals.ok()) << totals.status().ToString();
  EXPECT_EQ(totals->learner.pages(), 40u);
  EXPECT_EQ(totals->samples.size(), 40u);
  const SiteModel was = ModelOf(SomeTotals());
  const SiteModel is = ModelOf(*totals);
  EXPECT_EQ(is.prior().mean, was.prior().mean);
  EXPECT_EQ(is.prior().shape, was.prior().shape);
  EXPECT_EQ(is.curve().levels(), was.curve().levels());
  EXPECT_EQ(is.life().death_rate, was.life().death_rate);
  EXPECT_EQ(is.life().returns, was.life().returns);
  ASSERT_EQ(is.classes().size(), 2u);
  for (const auto& [here, there] :
       {std::pair(SourceClass(kCdn, BurstClass::kFew), SourceClass(2, BurstClass::kFew)),
        {SourceClass(kSitemap, BurstClass::kMass), SourceClass(1, BurstClass::kMass)}}) {
    ASSERT_NE(is.Find(there), nullptr);
    EXPECT_EQ(is.Find(there)->recall, was.Find(here)->recall);
    EXPECT_EQ(is.Find(there)->false_rate.mean, was.Find(here)->false_rate.mean);
    EXPECT_EQ(is.Find(there)->false_rate.shape, was.Find(here)->false_rate.shape);
  }
}

TEST(EpochTotalsTest, WhatIsOfSourcesThatAreNotKnownIsLeftOut) {
  Sources ours;
  AddSources({"cdn", "sitemap"}, &ours);
  v1::EpochTotals message;
  ToProto(SomeTotals(), ours, &message);
  Sources theirs;
  AddSources({"sitemap"}, &theirs);
  const StatusOr<EpochTotals> totals = FromProto(message, theirs);
  ASSERT_TRUE(totals.ok());
  ASSERT_EQ(totals->learner.classes().size(), 1u);
  EXPECT_EQ(totals->learner.classes()[0].source_class, SourceClass(0, BurstClass::kMass));
  EXPECT_EQ(totals->learner.pages(), 40u);
}

TEST(EpochTotalsTest, WhatNoServerMeansIsRefused) {
  Sources sources;
  AddSources({"cdn", "sitemap"}, &sources);
  v1::EpochTotals good;
  ToProto(SomeTotals(), sources, &good);
  ASSERT_TRUE(FromProto(good, sources).ok());
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<std::string, std::function<void(v1::EpochTotals&)>>> bad = {
      {"told: ", [](auto& to) { to.set_told(kNan); }},
      {"untold_exposure: ", [](auto& to) { to.set_untold_exposure(-1); }},
      {"false_exposure: ", [](auto& to) { to.set_false_exposure(kInfinite); }},
      {"classes.burst: ", [](auto& to) { to.mutable_classes(0)->set_burst(4); }},
      {"classes.signals: ", [](auto& to) { to.mutable_classes(1)->set_signals(-1); }},
      {"classes.log_ratio: ", [](auto& to) { to.mutable_classes(1)->set_log_ratio(kNan); }},
      {"classes: ",
       [](auto& to) {
         while (to.classes_size() <= kSourceClasses) to.add_classes();
       }},
      {"events, ", [](auto& to) { to.add_events(1); }},
      {"events, ", [](auto& to) { to.set_expected_events(0, -1); }},
      {"events, ", [](auto& to) { to.clear_expected_events(); }},
      {"looks: ", [](auto& to) { to.set_looks(kNan); }},
      {"sample_hashes: ", [](auto& to) { to.add_sample_hashes(1); }},
      {"sample_hashes: ",
       [](auto& to) {
         for (int i = 0; i < 5000; ++i) {
           to.add_sample_hashes(1);
           to.add_sample_changes(1);
           to.add_sample_exposures(1);
         }
       }},
      {"sample_exposures: ", [](auto& to) { to.set_sample_exposures(0, -1); }},
  };
  for (const auto& [field, spoil] : bad) {
    v1::EpochTotals spoilt = good;
    spoil(spoilt);
    const StatusOr<EpochTotals> totals = FromProto(spoilt, sources);
    ASSERT_FALSE(totals.ok()) << field;
    EXPECT_TRUE(std::string(totals.status().message()).starts_with(field))
        << totals.status().ToString();
  }
}

}  // namespace
}  // namespace freshet
