#include "server/api/to_proto.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(ToProto, RepliesThatNeedNoWordAreNotListed) {
  EXPECT_FALSE(ToProto(Reply{.disposition = Disposition::kApplied}, 1).has_value());
  EXPECT_FALSE(ToProto(Reply{.disposition = Disposition::kCreated}, 1).has_value());
  const auto stale = ToProto(Reply{.disposition = Disposition::kStale}, 4);
  EXPECT_EQ(stale->index(), 4u);
  EXPECT_EQ(stale->outcome(), v1::ITEM_OUTCOME_STALE);
}

TEST(ToProto, AssignmentsOfForcedPagesHaveNoValue) {
  Assignment assignment;
  assignment.value = HUGE_VAL;
  assignment.last_modified = std::to_string(1'000'000'123'456);
  v1::Assignment out;
  ToProto(assignment, &out);
  EXPECT_TRUE(out.forced());
  EXPECT_EQ(out.expected_value(), 0);
  EXPECT_EQ(out.last_modified().seconds(), 1'000'000);
  EXPECT_EQ(out.last_modified().nanos(), 123'456'000);
}

}  // namespace
}  // namespace freshet
