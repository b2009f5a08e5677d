// Tests that an epoch reads a page only once, both to learn from it and to estimate its rates.
#include <optional>

#include "gtest/gtest.h"
#include "tests/core/estimate/world.h"

namespace freshet {
namespace {

class CollectAndEstimate : public testing::Test {
 protected:
  CollectAndEstimate() { world.Run(100, 50); }

  World world{{.pages = 60}};
};

TEST_F(CollectAndEstimate, SaysWhatEstimateWould) {
  Estimator& estimator = world.estimator();
  estimator.BeginEpoch(world.now());
  for (const World::Page& page : world.pages) {
    PageRecord record = page.record;
    const std::optional<PageEstimate> estimate = estimator.CollectAndEstimate(record, world.now());
    ASSERT_TRUE(estimate.has_value());
    const PageEstimate same = estimator.Estimate(record, world.now());
    EXPECT_EQ(estimate->rates, same.rates);
    EXPECT_EQ(estimate->staleness, same.staleness);
    EXPECT_EQ(record.state.carried_at, world.now());
  }
}

TEST_F(CollectAndEstimate, LearnsWhatCollectDoes) {
  World twin({.pages = 60});
  twin.Run(100, 50);
  world.estimator().BeginEpoch(world.now());
  twin.estimator().BeginEpoch(world.now());
  for (size_t i = 0; i < world.pages.size(); ++i) {
    PageRecord record = world.pages[i].record;
    (void)world.estimator().CollectAndEstimate(record, world.now() + Duration::Hours(1));
    twin.estimator().Collect(twin.pages[i].record);
  }
  for (Estimator* estimator : {&world.estimator(), &twin.estimator()}) estimator->FinishEpoch();
  EXPECT_EQ(world.estimator().SerialiseModel(), twin.estimator().SerialiseModel());
  EXPECT_NE(world.estimator().SerialiseModel(), world.stored()) << "an epoch learns";
}

// A page can change between the beginning of the epoch and the time when the epoch reads it.
TEST_F(CollectAndEstimate, KnowsWhatHappenedSinceTheEpochBegan) {
  Estimator& estimator = world.estimator();
  estimator.BeginEpoch(world.now() - Duration::Hours(2));
  World::Page& page = world.pages[3];
  world.Crawl(page, true);
  PageRecord record = page.record;
  const std::optional<PageEstimate> estimate = estimator.CollectAndEstimate(record, world.now());
  ASSERT_TRUE(estimate.has_value());
  EXPECT_EQ(estimate->rates, world.Estimate(page).rates);
  EXPECT_EQ(estimate->staleness, 0);
}

// Until an epoch has learned a model, there is no estimate. An estimate by the default model would
// be worse than the page's last estimate, and worse than an estimate by the model of the next
// epoch. There is no model after a change of the number of shards either, because learning then
// starts again.
TEST_F(CollectAndEstimate, IsSilentWhereNothingWasLearned) {
  Estimator estimator({});
  for (const bool learned : {false, true}) {
    estimator.BeginEpoch(world.now());
    for (const World::Page& page : world.pages) {
      PageRecord record = page.record;
      ASSERT_EQ(estimator.CollectAndEstimate(record, world.now()).has_value(), learned);
    }
    estimator.FinishEpoch();
  }
}

}  // namespace
}  // namespace freshet
