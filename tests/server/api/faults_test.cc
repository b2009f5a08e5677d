#include "server/api/faults.h"

#include <string>

#include "gtest/gtest.h"
#include "server/base/limits.h"

namespace freshet {
namespace {

TEST(Faults, SplitsFieldsOffStatuses) {
  v1::ItemError error = FaultOf(InvalidArgument("url: is empty"));
  EXPECT_EQ(error.field(), "url");
  EXPECT_EQ(error.reason(), "is empty");
  EXPECT_FALSE(error.retryable());
  error = FaultOf(NotFound("lease_id: 7 is not open"));
  EXPECT_EQ(error.code(), v1::ERROR_CODE_UNKNOWN_LEASE);
  error = FaultOf(NotFound("Nothing of this kind: really"));
  EXPECT_EQ(error.field(), "");
  EXPECT_EQ(error.reason(), "Nothing of this kind: really");
  error = FaultOf(MakeStatus(absl::StatusCode::kResourceExhausted, "full"));
  EXPECT_TRUE(error.retryable());
  EXPECT_EQ(error.retry_after().seconds(), 1);
  // A full host or crawl id stays full, so trying again does not help.
  for (const char* field : {"url", "crawl_id"}) {
    error = FaultOf(MakeStatus(absl::StatusCode::kResourceExhausted, "{}: is full", field));
    EXPECT_FALSE(error.retryable()) << field;
    EXPECT_FALSE(error.has_retry_after()) << field;
  }
  EXPECT_TRUE(MayComeAgain(MakeStatus(absl::StatusCode::kUnavailable, "url: is far away")));
  EXPECT_FALSE(MayComeAgain(absl::OkStatus()));
  EXPECT_EQ(GrpcStatusOf(NotFound("url: gone")).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(GrpcStatusOf(InvalidArgument("url: bad")).error_message(), "url: bad");
}

TEST(Faults, ReasonsMoveToOtherFieldsWithTheirCode) {
  EXPECT_EQ(ReasonOf(InvalidArgument("url: host is missing")), "host is missing");
  EXPECT_EQ(ReasonOf(InvalidArgument("5 s and -1 ns are no time")), "5 s and -1 ns are no time");
  const Status moved = InField("host", NotFound("url: is gone"));
  EXPECT_EQ(moved, NotFound("host: is gone"));
  EXPECT_EQ(InField("span", InvalidArgument("is odd")), InvalidArgument("span: is odd"));
}

TEST(Faults, LongReasonsAreCutBetweenCharacters) {
  std::string text(limits::kMaxReasonBytes - 1, 'a');
  EXPECT_EQ(FaultOf(InvalidArgument("url: {}", text)).reason(), text);
  EXPECT_EQ(FaultOf(InvalidArgument("url: {}\u00e4", text)).reason(), text + "...");
}

TEST(Faults, MessagesOfCallsAreCutBetweenCharacters) {
  const std::string text(kMaxCallMessageBytes - 1, 'a');
  EXPECT_EQ(GrpcStatusOf(NotFound("{}b", text)).error_message(), text + "b");
  EXPECT_EQ(GrpcStatusOf(NotFound("{}\u00e4", text)).error_message(), text + "...");
  EXPECT_EQ(GrpcStatusOf(NotFound("{}", std::string(1 << 20, 'x'))).error_message().size(),
            kMaxCallMessageBytes + 3);
}

// A name this long before the colon is the client's text, not a field name.
TEST(Faults, WhatIsTooLongForAFieldIsNone) {
  const v1::ItemError error = FaultOf(NotFound("{}: is unknown", std::string(1 << 20, 'x')));
  EXPECT_EQ(error.field(), "");
  EXPECT_LE(error.reason().size(), limits::kMaxReasonBytes + 3);
}

}  // namespace
}  // namespace freshet
