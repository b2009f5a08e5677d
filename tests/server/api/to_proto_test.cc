#include "server/api/to_proto.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "core/model/page.h"
#include "google/protobuf/util/time_util.h"
#include "gtest/gtest.h"
#include "server/engine/sources.h"

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
  assignment.last_crawl = Instant::FromUnixSeconds(1'700'000'000);
  assignment.last_modified = std::to_string(1'600'000'000'123'456);
  v1::Assignment out;
  ToProto(assignment, &out);
  EXPECT_TRUE(out.forced());
  EXPECT_EQ(out.expected_value(), 0);
  EXPECT_EQ(out.last_modified().seconds(), 1'600'000'000);
  EXPECT_EQ(out.last_modified().nanos(), 123'456'000);
}

// The expected times of a page can be beyond the range of a message.
TEST(ToProto, TimesStayWithinWhatMessagesCanSay) {
  const auto stamp = [](Instant time) {
    google::protobuf::Timestamp out;
    ToProto(time, &out);
    return google::protobuf::util::TimeUtil::ToString(out);
  };
  EXPECT_EQ(stamp(Instant::Infinite()), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(stamp(Instant::FromUnixSeconds(253'402'300'799)), "9999-12-31T23:59:59Z");
  EXPECT_EQ(stamp(Instant::FromUnixSeconds(253'402'300'800)), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(stamp(Instant::FromMicros(INT64_MIN)), "0001-01-01T00:00:00Z");
  EXPECT_EQ(stamp(Instant::FromMicros(-1)), "1969-12-31T23:59:59.999999Z");
  const auto span = [](Duration duration) {
    google::protobuf::Duration out;
    ToProto(duration, &out);
    return google::protobuf::util::TimeUtil::ToString(out);
  };
  EXPECT_EQ(span(Duration::Infinite()), "315576000000s");
  EXPECT_EQ(span(Duration::FromSeconds(-HUGE_VAL)), "-315576000000s");
  EXPECT_EQ(span(Duration::Micros(-1'500'000)), "-1.500s");
}

// Earlier releases stored any date that a site sent. A site that is asked for changes since 2099
// always answers that there are none.
TEST(ToProto, ALastModifiedThatCannotBeIsNotSentBack) {
  for (const int64_t seconds :
       {int64_t{0}, int64_t{631'151'999}, int64_t{1'700'000'001}, int64_t{4'070'908'800}}) {
    Assignment assignment;
    assignment.last_crawl = Instant::FromUnixSeconds(1'700'000'000);
    assignment.last_modified = std::to_string(seconds * 1'000'000);
    v1::Assignment out;
    ToProto(assignment, &out);
    EXPECT_FALSE(out.has_last_modified()) << seconds;
    PageRecord page;
    page.state.last_crawl = assignment.last_crawl;
    page.detail.last_modified = assignment.last_modified;
    v1::Page shown;
    ToProto(page, std::nullopt, Sources(), &shown);
    EXPECT_FALSE(shown.has_last_modified()) << seconds;
  }
}

}  // namespace
}  // namespace freshet
