// Tests the set of pages: upserts, removal, explanations, lists and exports.
#include <cmath>
#include <limits>
#include <set>

#include "tests/grpc/test_server.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::UpsertPagesRequest OnePage(const v1::PageSpec& page) {
  v1::UpsertPagesRequest request;
  *request.add_pages() = page;
  return request;
}

v1::PageSpec Spec(const std::string& url) {
  v1::PageSpec page;
  page.set_url(url);
  return page;
}

TEST(Pages, UpsertChangesWhatItNames) {
  TestServer server;
  v1::PageSpec page = Spec("HTTP://Example.Test:80/a#x");
  page.set_importance(3);
  page.mutable_min_interval()->set_seconds(60);
  page.set_known_change_rate_per_day(2);
  EXPECT_EQ(server.Upsert(OnePage(page)).statuses_size(), 0);

  v1::PageSpec change = Spec("http://example.test/a");
  change.set_importance(7);
  EXPECT_EQ(server.Upsert(OnePage(change)).statuses_size(), 0);
  v1::Page got = server.Get("http://example.test/a").page();
  EXPECT_EQ(got.url(), "http://example.test/a");
  EXPECT_EQ(got.crawl_id(), "DEFAULT");
  EXPECT_EQ(got.importance(), 7);
  EXPECT_EQ(got.min_interval().seconds(), 60);
  EXPECT_NEAR(got.known_change_rate_per_day(), 2, 1e-12);

  v1::UpsertPagesRequest reset = OnePage(change);
  reset.set_reset_unset_settings(true);
  server.Upsert(reset);
  got = server.Get("http://example.test/a").page();
  EXPECT_EQ(got.importance(), 7);
  EXPECT_FALSE(got.has_min_interval());
  EXPECT_FALSE(got.has_known_change_rate_per_day());
  EXPECT_EQ(server.Statistics().pages().pages(), 1u);
}

TEST(Pages, RefusesEachBadPageForItself) {
  TestServer server;
  v1::UpsertPagesRequest request;
  const auto add = [&](const std::string& url) {
    request.add_pages()->set_url(url);
    return request.mutable_pages(request.pages_size() - 1);
  };
  add("");
  add("http://a.test/" + std::string(100'000, 'x'));
  add("http://a.test/\xed\xa0\x80");
  add("http://a.test/\n");
  add("http://a.test/1")->set_importance(std::nan(""));
  add("http://a.test/2")->set_importance(-1);
  add("http://a.test/3")->set_importance(std::numeric_limits<double>::infinity());
  add("http://a.test/4")->set_known_change_rate_per_day(1e9);
  add("http://a.test/5")->mutable_max_interval()->set_seconds(-1);
  v1::PageSpec* crossed = add("http://a.test/6");
  crossed->mutable_min_interval()->set_seconds(10);
  crossed->mutable_max_interval()->set_seconds(5);
  add("http://a.test/7")->mutable_last_crawl_time()->set_seconds(32'503'680'000);
  add("http://a.test/8")->set_crawl_id(std::string(65, 'c'));
  add("http://a.test/9");
  EXPECT_THAT(Described(server.Upsert(request)),
              ElementsAre("0 REFUSED INVALID_ARGUMENT url: is empty",
                          "1 REFUSED INVALID_ARGUMENT url: 100014 bytes, at most 8192 are allowed",
                          "2 REFUSED INVALID_ARGUMENT url: is not valid UTF-8",
                          "3 REFUSED INVALID_ARGUMENT url: control character at byte 14",
                          "4 REFUSED INVALID_ARGUMENT importance: is not a number (NaN)",
                          "5 REFUSED INVALID_ARGUMENT importance: -1 is negative",
                          HasSubstr("6 REFUSED INVALID_ARGUMENT importance: inf is over the limit"),
                          HasSubstr("7 REFUSED INVALID_ARGUMENT known_change_rate_per_day: "),
                          "8 REFUSED INVALID_ARGUMENT max_interval: is negative",
                          HasSubstr("9 REFUSED INVALID_ARGUMENT max_interval: "),
                          HasSubstr("10 REFUSED INVALID_ARGUMENT last_crawl_time: "),
                          HasSubstr("11 REFUSED INVALID_ARGUMENT crawl_id: 65 bytes")));
  EXPECT_EQ(server.Statistics().pages().pages(), 1u);
  EXPECT_EQ(server.Statistics().ingest().upserts_refused(), 12u);
}

TEST(Pages, AppliesALaterPageOfABatchAfterTheEarlier) {
  TestServer server;
  v1::UpsertPagesRequest request;
  for (const double importance : {1.0, 5.0, 2.0}) {
    *request.add_pages() = Spec("http://a.test/");
    request.mutable_pages(request.pages_size() - 1)->set_importance(importance);
  }
  EXPECT_EQ(server.Upsert(request).statuses_size(), 0);
  EXPECT_EQ(server.Get("http://a.test/").page().importance(), 2);
}

TEST(Pages, ExplainsWhyAPageIsNotCrawled) {
  TestServer server([](ServerConfig* config) { config->crawl_rate = Rate(); });
  v1::PageSpec later = Spec("http://a.test/later");
  ToProto(server.clock.Now() + Duration::Hours(1), later.mutable_not_before());
  server.Upsert(OnePage(later));
  v1::Explanation explanation = server.Get(later.url()).explanation();
  EXPECT_EQ(explanation.decision(), v1::DECISION_PAUSED);
  EXPECT_THAT(explanation.why(), testing::StartsWith("the crawl rate is 0; "));
  EXPECT_FALSE(explanation.has_next_expected_crawl_time());
  v1::PauseResponse paused;
  grpc::ClientContext pause;
  ASSERT_TRUE(server.admin->Pause(&pause, {}, &paused).ok());
  explanation = server.Get(later.url()).explanation();
  EXPECT_THAT(explanation.why(), testing::StartsWith("assignments are paused; "));
  EXPECT_FALSE(explanation.has_next_expected_crawl_time());
  v1::ResumeResponse resumed;
  grpc::ClientContext resume;
  ASSERT_TRUE(server.admin->Resume(&resume, {}, &resumed).ok());

  v1::SetCrawlRateRequest rate;
  rate.set_crawl_rate_per_second(100);
  v1::SetCrawlRateResponse rate_now;
  grpc::ClientContext call;
  ASSERT_TRUE(server.admin->SetCrawlRate(&call, rate, &rate_now).ok());
  explanation = server.Get(later.url()).explanation();
  EXPECT_EQ(explanation.decision(), v1::DECISION_TOO_EARLY);
  EXPECT_TRUE(explanation.has_next_expected_crawl_time());
  EXPECT_THAT(explanation.why(), HasSubstr("not_before forbids a crawl until then"));
  EXPECT_EQ(explanation.policy(), "default");
  EXPECT_EQ(explanation.probability_fresh(), 0);
  EXPECT_EQ(explanation.estimates().basis(), v1::ESTIMATE_BASIS_PRIOR);
  EXPECT_GT(explanation.estimates().change_rate_per_day().value(), 0);
  EXPECT_EQ(explanation.host_state().host(), "a.test");

  server.Upsert(OnePage(Spec("http://b.test/")));
  const v1::NextResponse next = server.Next(1);
  ASSERT_EQ(next.assignments_size(), 1);
  EXPECT_EQ(next.assignments(0).url(), "http://b.test/");
  const v1::GetPageResponse leased = server.Get("http://b.test/");
  EXPECT_EQ(leased.explanation().decision(), v1::DECISION_LEASED);
  EXPECT_EQ(leased.page().lease().lease_id(), next.assignments(0).lease_id());
  EXPECT_EQ(leased.page().lease().worker(), "tester");
  EXPECT_EQ(leased.explanation().host_state().in_flight(), 1u);
}

TEST(Pages, GetRefusesWhatIsNotThere) {
  TestServer server;
  v1::GetPageRequest request;
  v1::GetPageResponse response;
  request.set_url("http://a.test/");
  grpc::ClientContext unknown;
  grpc::Status status = server.pages->GetPage(&unknown, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  request.set_url("nonsense");
  grpc::ClientContext invalid;
  status = server.pages->GetPage(&invalid, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("url: "));
}

TEST(Pages, RemovesAndRechecks) {
  TestServer server;
  server.UpsertMany(3);
  v1::RecheckPagesRequest recheck;
  recheck.add_urls(TestServer::Url(1));
  recheck.add_urls("http://unknown.test/");
  v1::RecheckPagesResponse rechecked;
  grpc::ClientContext recheck_call;
  ASSERT_TRUE(server.pages->RecheckPages(&recheck_call, recheck, &rechecked).ok());
  EXPECT_THAT(Described(rechecked.ack()),
              ElementsAre(HasSubstr("1 REFUSED NOT_FOUND url: http://unknown.test/")));
  EXPECT_TRUE(server.Get(TestServer::Url(1)).page().recheck_pending());
  const v1::NextResponse next = server.Next(1);
  ASSERT_EQ(next.assignments_size(), 1);
  EXPECT_EQ(next.assignments(0).url(), TestServer::Url(1));
  EXPECT_TRUE(next.assignments(0).forced());
  EXPECT_EQ(next.assignments(0).expected_value(), 0);

  v1::RemovePagesRequest remove;
  for (int i = 0; i < 3; ++i) remove.add_urls(TestServer::Url(i));
  remove.add_urls("");
  v1::RemovePagesResponse removed;
  grpc::ClientContext remove_call;
  ASSERT_TRUE(server.pages->RemovePages(&remove_call, remove, &removed).ok());
  EXPECT_THAT(Described(removed.ack()), ElementsAre("3 REFUSED INVALID_ARGUMENT url: is empty"));
  EXPECT_EQ(server.Statistics().pages().pages(), 0u);
  EXPECT_EQ(server.Statistics().schedule().open_leases(), 1u) << "its page may be being fetched";
  // A result for the lease of a removed page.
  v1::CrawlResult result;
  result.set_lease_id(next.assignments(0).lease_id());
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  EXPECT_THAT(Described(server.Report(result)),
              ElementsAre(HasSubstr("0 REFUSED UNKNOWN_LEASE lease_id: ")));
  EXPECT_EQ(server.Next(1, 50).assignments_size(), 0);
}

// All pages of a list, over several calls of `limit` pages each.
std::vector<std::string> ListAll(TestServer& server, v1::ListPagesRequest request, uint64_t limit) {
  std::vector<std::string> urls;
  do {
    if (limit > 0) request.set_limit(limit);
    grpc::ClientContext call;
    const auto stream = server.pages->ListPages(&call, request);
    v1::ListPagesResponse response;
    const size_t before = urls.size();
    while (stream->Read(&response)) {
      for (const v1::Page& page : response.pages()) urls.push_back(page.url());
      request.set_page_token(response.next_page_token());
    }
    EXPECT_TRUE(stream->Finish().ok());
    EXPECT_TRUE(limit == 0 || urls.size() - before <= limit);
  } while (!request.page_token().empty());
  return urls;
}

TEST(Pages, ListsEveryPageOnce) {
  TestServer server([](ServerConfig* config) { config->shards = 3; });
  server.UpsertMany(1500, 20);
  for (const uint64_t limit : {0, 7, 1000}) {
    const std::vector<std::string> urls = ListAll(server, {}, limit);
    EXPECT_EQ(urls.size(), 1500u);
    EXPECT_EQ(std::set<std::string>(urls.begin(), urls.end()).size(), 1500u);
  }
  v1::ListPagesRequest of_host;
  of_host.mutable_filter()->set_host("host3.test");
  EXPECT_EQ(ListAll(server, of_host, 0).size(), 75u);
  v1::ListPagesRequest prefix;
  prefix.mutable_filter()->set_url_prefix("http://host3.test/10");
  for (const std::string& url : ListAll(server, prefix, 0)) {
    EXPECT_THAT(url, testing::StartsWith("http://host3.test/10"));
  }
  EXPECT_EQ(ListAll(server, prefix, 0).size(), 6u);  // pages 103 and 1003 to 1083
  v1::ListPagesRequest elsewhere;
  elsewhere.mutable_filter()->set_crawl_id("other");
  EXPECT_TRUE(ListAll(server, elsewhere, 0).empty());
}

TEST(Pages, ExportsWhatIsKnown) {
  TestServer server;
  server.UpsertMany(2);
  const Instant now = server.clock.Now();
  for (int i = 0; i < 3; ++i) {
    v1::CrawlResult result;
    result.set_url(TestServer::Url(0));
    result.set_outcome(i == 1 ? v1::CRAWL_OUTCOME_CHANGED : v1::CRAWL_OUTCOME_UNCHANGED);
    ToProto(now - Duration::Seconds(300 - 100 * i), result.mutable_fetch_time());
    EXPECT_EQ(server.Report(result).statuses_size(), 0);
  }
  grpc::ClientContext call;
  const auto stream = server.pages->ExportPages(&call, {});
  v1::ExportPagesResponse response;
  int pages = 0;
  while (stream->Read(&response)) {
    for (const v1::PageRecord& record : response.pages()) {
      ++pages;
      EXPECT_GT(record.estimates().change_rate_per_day().value(), 0);
      if (record.page().url() != TestServer::Url(0)) continue;
      EXPECT_EQ(record.page().crawls(), 3u);
      ASSERT_EQ(record.observations_size(), 2);
      // Stored observations are accurate to 0.4%.
      EXPECT_NEAR(record.observations(0).elapsed().seconds() +
                      record.observations(0).elapsed().nanos() * 1e-9,
                  100, 0.4);
      EXPECT_TRUE(record.observations(0).changed());
      EXPECT_FALSE(record.observations(1).changed());
    }
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(pages, 2);
}

// Clients open as many exports as the server allows, and read none of them.
TEST(Pages, ListsThatNobodyReadsMakeRoom) {
  TestServer server(
      [](ServerConfig* config) { config->list_write_timeout = Duration::Millis(200); });
  // The list of pages must be larger than what gRPC sends to a client that does not read. The
  // client keeps its window small.
  server.UpsertMany(3000);
  grpc::ChannelArguments small_windows;
  small_windows.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  const auto pages = v1::PagesService::NewStub(grpc::CreateCustomChannel(
      server.info.grpc_address, grpc::InsecureChannelCredentials(), small_windows));
  struct Export {
    grpc::ClientContext call;
    std::unique_ptr<grpc::ClientReader<v1::ExportPagesResponse>> stream;
  };
  std::vector<std::unique_ptr<Export>> unread;
  for (size_t i = 0; i < limits::kMaxListings; ++i) {
    unread.push_back(std::make_unique<Export>());
    unread.back()->stream = pages->ExportPages(&unread.back()->call, {});
    unread.back()->stream->WaitForInitialMetadata();
  }
  v1::ListPagesRequest request;
  request.set_limit(1);
  EXPECT_TRUE(Eventually([&] {
    grpc::ClientContext call;
    const auto stream = server.pages->ListPages(&call, request);
    v1::ListPagesResponse response;
    while (stream->Read(&response)) {
    }
    return stream->Finish().ok();
  }));
  // Some of the exports are ended to make room. The others may still end normally.
  int cancelled = 0;
  for (const auto& one : unread) {
    v1::ExportPagesResponse response;
    while (one->stream->Read(&response)) {
    }
    if (one->stream->Finish().error_code() == grpc::StatusCode::CANCELLED) ++cancelled;
  }
  EXPECT_GT(cancelled, 0);
}

TEST(Pages, RefusesBadLists) {
  TestServer server;
  const auto status_of = [&](const v1::ListPagesRequest& request) {
    grpc::ClientContext call;
    const auto stream = server.pages->ListPages(&call, request);
    v1::ListPagesResponse response;
    while (stream->Read(&response)) {
    }
    return stream->Finish().error_code();
  };
  v1::ListPagesRequest request;
  request.set_limit(0);
  EXPECT_EQ(status_of(request), grpc::StatusCode::INVALID_ARGUMENT);
  request.clear_limit();
  request.set_page_token("!!");
  EXPECT_EQ(status_of(request), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_page_token("bm9uZQ");
  EXPECT_EQ(status_of(request), grpc::StatusCode::INVALID_ARGUMENT);
  request.clear_page_token();
  request.mutable_filter()->set_url_prefix("x");
  EXPECT_EQ(status_of(request), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace freshet
