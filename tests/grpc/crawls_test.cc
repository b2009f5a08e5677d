// Tests crawl ids with shares, limits and deletion, and the removal of hosts, over gRPC and
// restarts.
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/base/limits.h"
#include "sync/mutex.h"
#include "tests/grpc/test_server.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using Admin = v1::AdminService::Stub;

class CrawlsTest : public testing::Test {
 protected:
  template <typename Request, typename Response>
  Response Call(grpc::Status (Admin::*method)(grpc::ClientContext*, const Request&, Response*),
                const Request& request) {
    Response response;
    grpc::ClientContext call;
    const grpc::Status status = (server_.admin.get()->*method)(&call, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  template <typename Request, typename Response>
  grpc::Status Refused(grpc::Status (Admin::*method)(grpc::ClientContext*, const Request&,
                                                     Response*),
                       const Request& request) {
    Response response;
    grpc::ClientContext call;
    return (server_.admin.get()->*method)(&call, request, &response);
  }

  // Adds `count` pages to the crawl id, on several hosts. Returns the error codes of the refused
  // pages.
  std::vector<v1::ErrorCode> Add(const std::string& crawl_id, int first, int count) {
    v1::UpsertPagesRequest request;
    for (int i = first; i < first + count; ++i) {
      v1::PageSpec* page = request.add_pages();
      page->set_url(TestServer::Url(i, 40));
      page->set_crawl_id(crawl_id);
    }
    std::vector<v1::ErrorCode> codes;
    const v1::BatchAck ack = server_.Upsert(request);
    for (const v1::ItemStatus& status : ack.statuses()) {
      if (!status.has_error()) continue;
      codes.push_back(status.error().code());
      // Waiting does not help, so the error is not retryable.
      EXPECT_FALSE(status.error().retryable());
      last_error_ = status.error().reason();
    }
    return codes;
  }
  std::map<std::string, v1::Crawl> List() {
    std::map<std::string, v1::Crawl> crawls;
    v1::ListCrawlsRequest request;
    request.set_page_size(1);
    std::string last;
    do {
      const auto response = Call(&Admin::ListCrawls, request);
      for (const v1::Crawl& crawl : response.crawls()) {
        EXPECT_LT(last, crawl.crawl_id());
        last = crawl.crawl_id();
        crawls[crawl.crawl_id()] = crawl;
      }
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
    return crawls;
  }
  v1::Crawl Set(v1::SetCrawlRequest request, const std::string& crawl_id) {
    request.set_crawl_id(crawl_id);
    return Call(&Admin::SetCrawl, request).crawl();
  }
  std::set<std::string> Hosts(const v1::ListHostsRequest& search) {
    std::set<std::string> names;
    v1::ListHostsRequest request = search;
    do {
      const auto response = Call(&Admin::ListHosts, request);
      for (const v1::HostState& host : response.hosts()) {
        EXPECT_TRUE(names.insert(host.host()).second) << host.host();
      }
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
    return names;
  }
  // Waits for the condition; fails the test if that takes too long.
  template <typename Condition>
  static void Await(Condition condition) {
    EXPECT_TRUE(Eventually(condition));
  }
  // Takes and reports pages for `time`. Returns the number of pages for each crawl id.
  std::map<std::string, int> CrawlFor(std::chrono::milliseconds time) {
    std::map<std::string, int> counts;
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      const v1::NextResponse next = server_.Next(200, 200);
      for (const v1::Assignment& assignment : next.assignments()) {
        ++counts[assignment.crawl_id()];
        v1::CrawlResult result;
        result.set_lease_id(assignment.lease_id());
        result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
        EXPECT_EQ(server_.Report(result).statuses_size(), 0);
      }
    }
    return counts;
  }

  TestServer server_{[](ServerConfig* config) {
    config->shards = 2;
    config->crawl_rate = Rate::PerSecond(400);
  }};
  std::string last_error_;
};

TEST_F(CrawlsTest, ListsWhatIsSetAndCounted) {
  EXPECT_TRUE(Add("shop", 0, 60).empty());
  EXPECT_TRUE(Add("news", 0, 20).empty());
  v1::SetCrawlRequest set;
  set.set_share(0.25);
  set.set_max_rate_per_second(50);
  set.set_max_in_flight(0);
  set.mutable_min_delay()->set_seconds(3);
  const v1::Crawl shop = Set(set, "shop");
  EXPECT_EQ(shop.pages(), 60U);
  EXPECT_EQ(shop.hosts(), 40U);
  EXPECT_EQ(shop.settings().share(), 0.25);
  Set(set, "empty");
  const v1::NextResponse next = server_.Next(1);
  ASSERT_EQ(next.assignments_size(), 1);
  EXPECT_EQ(List().at(next.assignments(0).crawl_id()).out(), 1U);
  const auto before = List();
  ASSERT_EQ(before.size(), 3U);
  EXPECT_EQ(before.at("news").hosts(), 20U);
  EXPECT_FALSE(before.at("news").settings().has_share());
  EXPECT_TRUE(before.at("shop").settings().has_max_in_flight());

  server_.Restart();
  auto after = List();
  ASSERT_EQ(after.size(), 3U);
  EXPECT_EQ(after.at("shop").settings().SerializeAsString(), shop.settings().SerializeAsString());
  EXPECT_EQ(after.at("shop").pages(), 60U);
  EXPECT_EQ(after.at(next.assignments(0).crawl_id()).out(), 1U);
  v1::SetCrawlRequest reset;
  reset.set_reset(true);
  EXPECT_FALSE(Set(reset, "shop").settings().has_share());
  Set(reset, "empty");
  EXPECT_EQ(List().count("empty"), 0U);
}

TEST_F(CrawlsTest, RefusesWhatCannotBe) {
  v1::SetCrawlRequest request;
  request.set_crawl_id("a");
  request.set_share(0.7);
  Call(&Admin::SetCrawl, request);
  request.set_crawl_id("b");
  grpc::Status status = Refused(&Admin::SetCrawl, request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("sum to 1.4, more than 1"));
  for (const double bad : {-0.1, 1.1}) {
    request.set_share(bad);
    EXPECT_EQ(Refused(&Admin::SetCrawl, request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  // A rate policy plans all rates itself, so shares are refused.
  v1::SetPolicyRequest policy;
  policy.set_policy("lambda_crawl");
  EXPECT_EQ(Refused(&Admin::SetPolicy, policy).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  request.set_crawl_id("a");
  request.set_share(0);
  Call(&Admin::SetCrawl, request);
  Call(&Admin::SetPolicy, policy);
  request.set_share(0.5);
  EXPECT_EQ(Refused(&Admin::SetCrawl, request).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  v1::ListCrawlsRequest list;
  list.set_crawl_id("nobody");
  EXPECT_EQ(Refused(&Admin::ListCrawls, list).error_code(), grpc::StatusCode::NOT_FOUND);
  list.Clear();
  list.set_page_size(1001);
  EXPECT_EQ(Refused(&Admin::ListCrawls, list).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  v1::DeleteCrawlRequest gone;
  EXPECT_EQ(Refused(&Admin::DeleteCrawl, gone).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  gone.set_crawl_id("nobody");
  EXPECT_EQ(Refused(&Admin::DeleteCrawl, gone).error_code(), grpc::StatusCode::NOT_FOUND);
  v1::ListHostsRequest hosts;
  hosts.set_page_token("7.x");
  EXPECT_EQ(Refused(&Admin::ListHosts, hosts).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(CrawlsTest, TakesExactlyAsManyPagesAsAllowedOverAllShards) {
  EXPECT_TRUE(Add("shop", 0, 70).empty());
  v1::SetCrawlRequest set;
  set.set_max_pages(100);
  Set(set, "shop");
  const std::vector<v1::ErrorCode> refused = Add("shop", 70, 50);
  EXPECT_EQ(refused.size(), 20U);
  for (const v1::ErrorCode code : refused) EXPECT_EQ(code, v1::ERROR_CODE_RESOURCE_EXHAUSTED);
  EXPECT_THAT(last_error_, HasSubstr("shop already has 100 pages, the maximum"));
  EXPECT_EQ(List().at("shop").pages(), 100U);
  EXPECT_TRUE(Add("other", 0, 200).empty());
  server_.Restart();
  EXPECT_EQ(Add("shop", 500, 1).size(), 1U);
  set.set_max_pages(101);
  Set(set, "shop");
  EXPECT_EQ(Add("shop", 500, 2).size(), 1U);
}

TEST_F(CrawlsTest, HoldsSharesOfTheRate) {
  for (const char* crawl_id : {"a", "b", "c"}) {
    for (int i = 0; i < 3000; i += 1000) EXPECT_TRUE(Add(crawl_id, i, 1000).empty());
  }
  v1::SetCrawlRequest set;
  set.set_share(0.5);
  Set(set, "a");
  set.set_share(0.1);
  Set(set, "b");
  // Pages get the new shares after a moment.
  (void)CrawlFor(std::chrono::milliseconds(500));
  for (int restart = 0; restart < 2; ++restart) {
    auto counts = CrawlFor(std::chrono::seconds(3));
    const double all = counts["a"] + counts["b"] + counts["c"];
    ASSERT_GT(all, 100);
    // Each crawl id may miss a tick, and a restart or the end of a call leaves some leases unused.
    const double slack = 0.02 * all + 4;
    EXPECT_NEAR(counts["a"], 0.5 * all, slack);
    EXPECT_NEAR(counts["b"], 0.1 * all, slack);
    EXPECT_NEAR(counts["c"], 0.4 * all, slack);
    server_.Restart();
  }
}

TEST_F(CrawlsTest, DeletesACrawlIdAlsoOverARestart) {
  for (int i = 0; i < 20'000; i += 1000) EXPECT_TRUE(Add("shop", i, 1000).empty());
  EXPECT_TRUE(Add("news", 0, 100).empty());
  v1::DeleteCrawlRequest gone;
  gone.set_crawl_id("shop");
  const v1::Crawl crawl = Call(&Admin::DeleteCrawl, gone).crawl();
  EXPECT_TRUE(crawl.deleting());
  EXPECT_GT(crawl.pages(), 0U);
  const std::vector<v1::ErrorCode> refused = Add("shop", 50'000, 1);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_THAT(last_error_, HasSubstr("shop is being deleted"));
  server_.Restart();
  Await([this] { return List().count("shop") == 0; });
  const auto left = List();
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left.at("news").pages(), 100U);
  EXPECT_EQ(server_.Statistics().pages().pages(), 100U);
  EXPECT_TRUE(Add("shop", 0, 10).empty());
  server_.Restart();
  EXPECT_EQ(List().at("shop").pages(), 10U);
}

TEST_F(CrawlsTest, ListsAndDeletesHosts) {
  EXPECT_TRUE(Add("shop", 0, 120).empty());
  v1::ListHostsRequest search;
  search.set_page_size(7);
  EXPECT_EQ(Hosts(search).size(), 40U);
  search.set_prefix("host1");
  EXPECT_EQ(Hosts(search).size(), 11U);
  search.set_contains("9.");
  EXPECT_EQ(Hosts(search), std::set<std::string>{"host19.test"});
  v1::DeleteHostRequest gone;
  gone.set_host("http://host19.test/any");
  const v1::HostState host = Call(&Admin::DeleteHost, gone).host_state();
  EXPECT_EQ(host.host(), "host19.test");
  EXPECT_TRUE(host.deleting());
  EXPECT_EQ(host.pages(), 3U);
  Await([this, &search] { return Hosts(search).empty(); });
  EXPECT_EQ(List().at("shop").pages(), 117U);
  EXPECT_EQ(List().at("shop").hosts(), 39U);
  EXPECT_EQ(Refused(&Admin::DeleteHost, gone).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(Add("shop", 19, 1).empty());
}

TEST_F(CrawlsTest, HandsAWorkerPagesOfItsCrawlIdsAlone) {
  for (const char* crawl_id : {"shop", "news", "other"}) {
    EXPECT_TRUE(Add(crawl_id, 0, 100).empty());
  }
  v1::NextRequest request;
  request.set_max_assignments(1000);
  request.set_worker("restricted");
  request.add_crawl_ids("shop");
  request.add_crawl_ids("news");
  ToProto(Duration::Millis(500), request.mutable_max_wait());
  std::map<std::string, int> counts;
  const auto take = [&](int until) {
    Await([&] {
      v1::NextResponse next;
      grpc::ClientContext call;
      EXPECT_TRUE(server_.scheduler->Next(&call, request, &next).ok());
      for (const v1::Assignment& assignment : next.assignments()) ++counts[assignment.crawl_id()];
      return counts["shop"] + counts["news"] >= until;
    });
  };
  take(100);
  // After a restart, the worker must name its crawl ids again.
  server_.Restart();
  take(200);
  EXPECT_EQ(counts.size(), 2U);
  EXPECT_EQ(List().at("other").out(), 0U);
  // A crawl id that is only named is not listed.
  request.clear_crawl_ids();
  request.add_crawl_ids("nobody");
  v1::NextResponse next;
  grpc::ClientContext call;
  EXPECT_TRUE(server_.scheduler->Next(&call, request, &next).ok());
  EXPECT_EQ(next.assignments_size(), 0);
  EXPECT_EQ(List().size(), 3U);
}

// Crawl ids that no worker names any more free their places.
TEST_F(CrawlsTest, WorkersNeverRunOutOfCrawlIds) {
  for (int i = 0; i < 30; ++i) Add("c" + std::to_string(i), 0, 1);
  for (int i = 0; i < 30; ++i) {
    v1::NextRequest request;
    ToProto(Duration(), request.mutable_max_wait());
    request.add_crawl_ids("c" + std::to_string(i));
    const auto is_taken = [&] {
      v1::NextResponse next;
      grpc::ClientContext call;
      return server_.scheduler->Next(&call, request, &next).ok();
    };
    EXPECT_TRUE(Eventually(is_taken)) << i;
  }
  // A worker gets all pages of its crawl id, even those added later, and no others.
  Add("c29", 1, 3);
  v1::NextRequest last;
  last.add_crawl_ids("c29");
  last.set_max_assignments(30);
  ToProto(Duration::Millis(100), last.mutable_max_wait());
  v1::NextResponse next;
  EXPECT_TRUE(Eventually([&] {
    grpc::ClientContext call;
    v1::NextResponse more;
    EXPECT_TRUE(server_.scheduler->Next(&call, last, &more).ok());
    next.MergeFrom(more);
    return next.assignments_size() > 0;
  }));
  for (const v1::Assignment& assignment : next.assignments()) {
    EXPECT_EQ(assignment.crawl_id(), "c29");
  }
}

TEST_F(CrawlsTest, RefusesCrawlIdsThatAWorkerCannotHave) {
  const auto refused = [this](const v1::NextRequest& request) {
    v1::NextResponse next;
    grpc::ClientContext call;
    const grpc::Status status = server_.scheduler->Next(&call, request, &next);
    return std::pair(status.error_code(), status.error_message());
  };
  v1::NextRequest request;
  ToProto(Duration(), request.mutable_max_wait());
  for (size_t i = 0; i <= limits::kMaxCrawlsPerWorker; ++i) {
    request.add_crawl_ids("c" + std::to_string(i));
  }
  EXPECT_THAT(refused(request),
              testing::Pair(grpc::StatusCode::INVALID_ARGUMENT,
                            HasSubstr("the request names 17, and at most 16 are allowed")));
  request.clear_crawl_ids();
  request.add_crawl_ids("no id");
  EXPECT_THAT(refused(request),
              testing::Pair(grpc::StatusCode::INVALID_ARGUMENT, HasSubstr("crawl_ids: ")));
  // A client may use a part of the places that operators and limits do not reserve.
  for (int i = 0; i < 18; ++i) {
    request.set_crawl_ids(0, "c" + std::to_string(i));
    EXPECT_EQ(refused(request).first, grpc::StatusCode::OK);
  }
  request.set_crawl_ids(0, "one_more");
  EXPECT_THAT(refused(request), testing::Pair(grpc::StatusCode::RESOURCE_EXHAUSTED,
                                              HasSubstr("this client has 18 crawl ids")));
  // A crawl id with a share has a place already.
  v1::SetCrawlRequest set;
  set.set_share(0.5);
  Set(set, "one_more");
  EXPECT_EQ(refused(request).first, grpc::StatusCode::OK);
  v1::SetCrawlRequest reset;
  reset.set_reset(true);
  Set(reset, "one_more");
  v1::SetPolicyRequest policy;
  policy.set_policy("lambda_crawl");
  Call(&Admin::SetPolicy, policy);
  EXPECT_THAT(refused(request), testing::Pair(grpc::StatusCode::FAILED_PRECONDITION,
                                              HasSubstr("plans the rates of all pages itself")));
  grpc::ClientContext call;
  const auto stream = server_.scheduler->Crawl(&call);
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker("w");
  hello.mutable_hello()->add_crawl_ids("one_more");
  EXPECT_TRUE(stream->Write(hello));
  v1::CrawlResponse notice;
  EXPECT_TRUE(stream->Read(&notice));
  EXPECT_EQ(notice.notice().error().code(), v1::ERROR_CODE_FAILED_PRECONDITION);
  stream->WritesDone();
  (void)stream->Finish();
}

}  // namespace
}  // namespace freshet
