// What servers of several divisions say, made one.
#include "server/api/fleet_sums.h"

#include <initializer_list>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/api/over_divisions.h"

namespace freshet {
namespace {

TEST(FleetSumsTest, FreshnessIsTheMeanOfAllPagesAndTheEpochIsTheLastOne) {
  v1::GetStatisticsResponse sum;
  sum.mutable_pages()->set_pages(400);
  sum.mutable_pages()->set_gone_pages(100);
  sum.mutable_pages()->set_importance(1);
  sum.mutable_pages()->set_believed_freshness(0.5);
  sum.mutable_pages()->set_weighted_believed_freshness(0.25);
  sum.mutable_pages()->set_epoch(7);
  sum.mutable_pages()->mutable_last_epoch_time()->set_seconds(2'000);
  sum.mutable_schedule()->set_price(3);
  sum.mutable_ingest()->set_results_gone(5);
  v1::GetStatisticsResponse theirs;
  theirs.mutable_pages()->set_pages(100);
  theirs.mutable_pages()->set_importance(3);
  theirs.mutable_pages()->set_believed_freshness(0.9);
  theirs.mutable_pages()->set_weighted_believed_freshness(0.75);
  theirs.mutable_pages()->set_epoch(4);
  theirs.mutable_pages()->mutable_last_epoch_time()->set_seconds(1'000);
  theirs.mutable_schedule()->set_paused(true);
  theirs.mutable_schedule()->set_pause_reason("a new disk");
  theirs.mutable_schedule()->set_price(2);
  theirs.mutable_ingest()->set_results_gone(6);
  theirs.mutable_store()->set_write_error("disk full");
  AddCounts(theirs, &sum);
  EXPECT_EQ(sum.pages().pages(), 500U);
  EXPECT_DOUBLE_EQ(sum.pages().believed_freshness(), 0.6);
  EXPECT_DOUBLE_EQ(sum.pages().weighted_believed_freshness(), 0.625);
  EXPECT_EQ(sum.pages().epoch(), 4U);
  EXPECT_EQ(sum.schedule().price(), 3);
  EXPECT_EQ(sum.schedule().pause_reason(), "a new disk");
  EXPECT_EQ(sum.ingest().results_gone(), 11U);
  EXPECT_EQ(sum.store().write_error(), "disk full");
  // One without pages changes no mean, and one that has had no epoch of late is the furthest
  // behind.
  AddCounts(v1::GetStatisticsResponse(), &sum);
  EXPECT_DOUBLE_EQ(sum.pages().believed_freshness(), 0.6);
  EXPECT_FALSE(sum.pages().has_last_epoch_time());
  EXPECT_TRUE(sum.schedule().paused());
}

// A counter that somebody adds is not forgotten here: all of them are sums.
TEST(FleetSumsTest, EveryCounterIsAdded) {
  v1::GetStatisticsResponse one;
  const auto fill = [](google::protobuf::Message* message) {
    const auto* fields = message->GetDescriptor();
    for (int i = 0; i < fields->field_count(); ++i) {
      const auto* field = fields->field(i);
      const auto* reflection = message->GetReflection();
      if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_UINT64) {
        reflection->SetUInt64(message, field, 1);
      } else if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_UINT32) {
        reflection->SetUInt32(message, field, 1);
      }
    }
  };
  for (google::protobuf::Message* part : std::initializer_list<google::protobuf::Message*>{
           one.mutable_server(), one.mutable_schedule(), one.mutable_ingest(),
           one.mutable_store()}) {
    fill(part);
  }
  v1::GetStatisticsResponse sum = one;
  AddCounts(one, &sum);
  for (const google::protobuf::Message* part :
       std::initializer_list<const google::protobuf::Message*>{&sum.server(), &sum.schedule(),
                                                               &sum.ingest(), &sum.store()}) {
    const auto* fields = part->GetDescriptor();
    for (int i = 0; i < fields->field_count(); ++i) {
      const auto* field = fields->field(i);
      const auto* reflection = part->GetReflection();
      if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_UINT64) {
        EXPECT_EQ(reflection->GetUInt64(*part, field), 2U) << field->full_name();
      } else if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_UINT32) {
        EXPECT_EQ(reflection->GetUInt32(*part, field), 2U) << field->full_name();
      }
    }
  }
}

v1::ListCrawlsResponse Crawls(const std::vector<std::string>& names, bool more) {
  v1::ListCrawlsResponse response;
  for (const std::string& name : names) {
    response.add_crawls()->set_crawl_id(name);
    response.mutable_crawls(response.crawls_size() - 1)->set_pages(1);
  }
  if (more) response.set_next_page_token(names.back());
  return response;
}

TEST(FleetSumsTest, CrawlIdsAreCountedTogetherAndListedInParts) {
  v1::ListCrawlsResponse sum = Crawls({"a", "c"}, true);
  AddCounts(Crawls({"b", "c"}, true), 2, &sum);
  AddCounts(Crawls({"c"}, false), 2, &sum);
  ASSERT_EQ(sum.crawls_size(), 2);
  EXPECT_EQ(sum.crawls(0).crawl_id(), "a");
  EXPECT_EQ(sum.crawls(1).crawl_id(), "b");
  EXPECT_EQ(sum.next_page_token(), "b");
  sum = Crawls({"c"}, false);
  AddCounts(Crawls({"c"}, false), 2, &sum);
  EXPECT_EQ(sum.crawls(0).pages(), 2U);
  EXPECT_EQ(sum.next_page_token(), "");
}

TEST(FleetSumsTest, OfTrustTheOneWithMostEvidenceIsBelievedAndTheWorstHostsStay) {
  v1::GetTrustReportResponse sum;
  const auto add = [](const std::string& host, double high, double signals,
                      v1::GetTrustReportResponse* report) {
    v1::SourceTrust* source =
        report->sources_size() > 0 ? report->mutable_sources(0) : report->add_sources();
    source->set_source("cdn");
    source->set_signals(signals);
    v1::HostTrust* trust = report->add_hosts();
    trust->set_host(host);
    trust->mutable_precision()->set_high(high);
  };
  add("a.test", 0.5, 10, &sum);
  v1::GetTrustReportResponse theirs;
  add("b.test", 0.25, 30, &theirs);
  add("c.test", 0.75, 30, &theirs);
  AddCounts(theirs, 2, &sum);
  ASSERT_EQ(sum.sources_size(), 1);
  EXPECT_EQ(sum.sources(0).signals(), 30);
  ASSERT_EQ(sum.hosts_size(), 2);
  EXPECT_EQ(sum.hosts(0).host(), "b.test");
  EXPECT_EQ(sum.hosts(1).host(), "a.test");
}

TEST(OverDivisionsTest, ACallIsDoneOnceAllHaveItAndElseNamesWhoHasNot) {
  const grpc::Status unknown(grpc::StatusCode::NOT_FOUND, "not here");
  EXPECT_TRUE(EndOfAll(grpc::Status::OK, {{1, absl::OkStatus()}, {2, NotFound("not here")}}).ok());
  EXPECT_TRUE(EndOfAll(unknown, {{1, absl::OkStatus()}}).ok());
  EXPECT_EQ(EndOfAll(unknown, {{1, NotFound("nor here")}}).error_message(), "not here");
  const Status away = MakeStatus(absl::StatusCode::kUnavailable, "is away");
  grpc::Status end = EndOfAll(unknown, {{1, away}});
  EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(end.error_message(), "division 1: is away");
  end = EndOfAll(grpc::Status::OK, {{1, away}, {2, InvalidArgument("share: is too much")}});
  EXPECT_EQ(end.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(end.error_message(),
            "division 2: share: is too much; it is done in others: the same call again does the "
            "rest");
}

}  // namespace
}  // namespace freshet
