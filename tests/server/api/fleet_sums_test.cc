// Tests that the answers of servers of several divisions are joined into one.
#include "server/api/fleet_sums.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/base/url.h"
#include "freshet/v1/pages.pb.h"
#include "gtest/gtest.h"
#include "server/api/routing.h"
#include "server/auth/methods.h"

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
  AddAnswer(v1::GetStatisticsRequest(), theirs, &sum);
  EXPECT_EQ(sum.pages().pages(), 500U);
  EXPECT_DOUBLE_EQ(sum.pages().believed_freshness(), 0.6);
  EXPECT_DOUBLE_EQ(sum.pages().weighted_believed_freshness(), 0.625);
  EXPECT_EQ(sum.pages().epoch(), 4U);
  EXPECT_EQ(sum.schedule().price(), 3);
  EXPECT_EQ(sum.schedule().pause_reason(), "a new disk");
  EXPECT_EQ(sum.ingest().results_gone(), 11U);
  EXPECT_EQ(sum.store().write_error(), "disk full");
  // A division without pages does not change any mean. A division that has had no epoch counts as
  // the furthest behind, so the sum has no epoch time either.
  AddAnswer(v1::GetStatisticsRequest(), v1::GetStatisticsResponse(), &sum);
  EXPECT_DOUBLE_EQ(sum.pages().believed_freshness(), 0.6);
  EXPECT_FALSE(sum.pages().has_last_epoch_time());
  EXPECT_TRUE(sum.schedule().paused());
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
  v1::ListCrawlsRequest two;
  two.set_page_size(2);
  AddAnswer(two, Crawls({"b", "c"}, true), &sum);
  AddAnswer(two, Crawls({"c"}, false), &sum);
  ASSERT_EQ(sum.crawls_size(), 2);
  EXPECT_EQ(sum.crawls(0).crawl_id(), "a");
  EXPECT_EQ(sum.crawls(1).crawl_id(), "b");
  EXPECT_EQ(sum.next_page_token(), "b");
  sum = Crawls({"c"}, false);
  AddAnswer(two, Crawls({"c"}, false), &sum);
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
  v1::GetTrustReportRequest two;
  two.set_limit(2);
  AddAnswer(two, theirs, &sum);
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

// Fails if the route of a method in the table needs fields that its messages lack.
TEST(FleetSumsTest, MessagesHaveWhatTheRouteOfTheirMethodNeeds) {
  using google::protobuf::Descriptor;
  using google::protobuf::DescriptorPool;
  for (const MethodRule& rule : AllMethods()) {
    if (!rule.path.starts_with("/freshet.v1.")) continue;
    std::string name(rule.path.substr(1));
    std::replace(name.begin(), name.end(), '/', '.');
    const auto* method = DescriptorPool::generated_pool()->FindMethodByName(name);
    ASSERT_NE(method, nullptr) << name;
    const Descriptor& request = *method->input_type();
    const Descriptor& response = *method->output_type();
    const bool names_host =
        request.FindFieldByName("host") != nullptr || request.FindFieldByName("url") != nullptr;
    const bool names_missing = response.FindFieldByName("unanswered") != nullptr ||
                               &response == v1::GetFleetResponse::descriptor();
    EXPECT_TRUE(rule.route != Route::kByHost || names_host) << name;
    EXPECT_TRUE(rule.route != Route::kAll || names_missing) << name;
    // A list that asks one division after the other needs a token to continue.
    EXPECT_TRUE(rule.route != Route::kInTurn ||
                response.FindFieldByName("next_page_token") != nullptr)
        << name;
    EXPECT_EQ(rule.route == Route::kByItem,
              response.FindFieldByName("ack") != nullptr && !rule.between_servers)
        << name;
  }
}

TEST(FleetSumsTest, AHostIsNamedByItselfOrInAUrl) {
  v1::GetHostRequest host;
  host.set_host("Example.COM");
  v1::GetPageRequest page;
  page.set_url("http://example.com:80/a");
  EXPECT_EQ(SlotNamedIn(host), SlotOfHost("example.com"));
  EXPECT_EQ(SlotNamedIn(page), SlotOfHost("example.com"));
  page.set_url("ftp://example.com/");
  EXPECT_EQ(SlotNamedIn(page), std::nullopt);
}

}  // namespace
}  // namespace freshet
