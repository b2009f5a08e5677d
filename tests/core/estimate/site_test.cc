#include "core/estimate/site.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/estimate/source_classes.h"

namespace freshet {
namespace {

ClassModel WithRecall(SourceClass source_class, double recall) {
  return {.source_class = source_class, .recall = recall};
}

// A source signals a change in only one of its classes, so the recalls of its classes add up.
// Different sources can signal the same change, independently of each other.
TEST(UnsignalledShare, ClassesOfASourceShareItsChangesAndSourcesAreIndependent) {
  EXPECT_EQ(UnsignalledShare({}), 1);
  const std::vector<ClassModel> one_source = {WithRecall(kPing, 0.4), WithRecall(kMassPing, 0.2)};
  EXPECT_DOUBLE_EQ(UnsignalledShare(one_source), 0.4);
  const std::vector<ClassModel> two = {WithRecall(kPing, 0.4), WithRecall(kMassPing, 0.2),
                                       WithRecall(kSitemap, 0.5)};
  EXPECT_DOUBLE_EQ(UnsignalledShare(two), 0.2);
  const std::vector<ClassModel> over = {WithRecall(kPing, 0.9), WithRecall(kMassPing, 0.3)};
  EXPECT_EQ(UnsignalledShare(over), kMinUnsignalled);
}

TEST(SiteModel, KnowsItsClasses) {
  const SiteModel site(RatePrior(), AgeCurve(), LifeModel(),
                       {WithRecall(kPing, 0.4), WithRecall(kSitemap, 0.5)});
  EXPECT_DOUBLE_EQ(site.told(), 0.9);
  EXPECT_DOUBLE_EQ(site.unsignalled(), 0.6 * 0.5);
  ASSERT_NE(site.Find(kSitemap), nullptr);
  EXPECT_EQ(site.Find(kSitemap)->recall, 0.5);
  EXPECT_EQ(site.Find(kMassPing), nullptr);
  EXPECT_EQ(SiteModel().unsignalled(), 1);
}

TEST(SerialiseSite, ReadsBackWhatItWrote) {
  const SiteModel site({.mean = 0.0123456789012345, .shape = 0.77},
                       AgeCurve({9, 8, 7, 6, 5, 4, 3, 0.1}),
                       {.death_rate = 0.0025, .returns = 0.125},
                       {{.source_class = kPing,
                         .recall = 0.3,
                         .false_rate = {.mean = 0.0625, .shape = 1.5},
                         .signals = 12.25,
                         .truth = 7.75},
                        WithRecall(kSitemap, 0.1)});
  SiteCounts counts;
  counts.ages.events[2] = 17.5;
  counts.ages.expected[7] = 1e-9;
  counts.lives = {.deaths = 3, .exposure = 1200.5, .returns = 0.25, .looks = 7};
  std::string host;
  SiteModel read;
  SiteCounts read_counts;
  const std::string line = SerialiseSite("a.test", site, counts);
  ASSERT_TRUE(ParseSite(line, &host, &read, &read_counts).ok());
  EXPECT_EQ(host, "a.test");
  EXPECT_EQ(SerialiseSite(host, read, read_counts), line);
  ASSERT_NE(read.Find(kPing), nullptr);
  EXPECT_EQ(read.Find(kPing)->false_rate.mean, 0.0625);
  EXPECT_EQ(read.Find(kPing)->false_rate.shape, 1.5);
  EXPECT_EQ(read.Find(kPing)->truth, 7.75);
  EXPECT_EQ(read.unsignalled(), site.unsignalled());
  EXPECT_EQ(read.curve().levels(), site.curve().levels());
  EXPECT_EQ(read.life().death_rate, 0.0025);
  EXPECT_EQ(read.life().returns, 0.125);
  EXPECT_EQ(read_counts.lives.exposure, 1200.5);
  EXPECT_EQ(read_counts.lives.looks, 7);
  EXPECT_EQ(read_counts.ages.events, counts.ages.events);
  EXPECT_EQ(read_counts.ages.expected, counts.ages.expected);
}

TEST(SerialiseSite, RefusesWhatItDidNotWrite) {
  const std::string good = SerialiseSite("", SiteModel(), SiteCounts());
  std::string host = "kept";
  SiteModel site;
  SiteCounts counts;
  for (const std::string& bad :
       {std::string(), good.substr(0, good.size() / 2), good + "\tx", good + "999:0.1:0.5:0.5:1:1 ",
        good + "1:1.5:0.5:0.5:1:1 ", good + "1:nan:0.5:0.5:1:1 ", good + "1:0.5:0:0.5:1:1 ",
        good + "1:0.5:0.5:0.5:1 ", good + "1.5:0.5:0.5:0.5:1:1 ",
        good + "3:0.5:0.5:0.5:1:1 2:0.5:0.5:0.5:1:1 "}) {
    EXPECT_FALSE(ParseSite(bad, &host, &site, &counts).ok()) << bad;
    EXPECT_EQ(host, "kept");
  }
  EXPECT_TRUE(ParseSite(good + "2:0.5:0.5:0.5:1:1 3:0.5:0.5:0.5:1:1 ", &host, &site, &counts).ok());
  EXPECT_EQ(site.classes().size(), 2u);
}

}  // namespace
}  // namespace freshet
