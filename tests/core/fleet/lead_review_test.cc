#include "core/fleet/lead_review.h"

#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr Instant kBegin = Instant::FromMicros(1'700'000'000'000'000);

FleetRateFigures Figures(size_t nodes, size_t refusing) {
  FleetRateFigures figures;
  figures.nodes = nodes;
  figures.refusing = refusing;
  return figures;
}

class LeadReviewTest : public testing::Test {
 protected:
  // Returns true if a leader with these figures gives up within the lifetime of a grant.
  bool GivesUp(size_t nodes, size_t refusing, size_t serving) {
    LeadReview review(options_);
    EXPECT_FALSE(review.GivesUp(Figures(nodes, refusing), serving, kBegin));
    return review.GivesUp(Figures(nodes, refusing), serving, kBegin + options_.lifetime);
  }
  FleetRateOptions options_;
};

TEST_F(LeadReviewTest, WhoHearsFewerThanHalfGivesUp) {
  EXPECT_TRUE(GivesUp(1, 0, 3));
  EXPECT_TRUE(GivesUp(2, 0, 5));
  EXPECT_TRUE(GivesUp(0, 0, 1));
  EXPECT_FALSE(GivesUp(2, 0, 3));
  // A leader that reaches one of two nodes keeps leading, because another leader could not reach
  // more.
  EXPECT_FALSE(GivesUp(1, 0, 2));
}

TEST_F(LeadReviewTest, WhoseGrantsMostCannotObeyGivesUp) {
  EXPECT_TRUE(GivesUp(3, 2, 3));
  EXPECT_FALSE(GivesUp(3, 1, 3));
  EXPECT_FALSE(GivesUp(2, 1, 2));
}

TEST_F(LeadReviewTest, WhatPassesInTimeIsNoReason) {
  LeadReview review(options_);
  const Instant later = kBegin + options_.lifetime;
  EXPECT_FALSE(review.GivesUp(Figures(1, 0), 3, kBegin));
  EXPECT_FALSE(review.GivesUp(Figures(2, 0), 3, later - Duration::Seconds(1)));
  EXPECT_FALSE(review.GivesUp(Figures(1, 0), 3, later));
  // A leader without figures does not give up either. It has no figures before it begins to lead.
  EXPECT_FALSE(review.GivesUp(std::nullopt, 3, later + options_.lifetime));
  EXPECT_FALSE(review.GivesUp(Figures(1, 0), 3, later + options_.lifetime));
}

}  // namespace
}  // namespace freshet
