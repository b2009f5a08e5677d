// Tests workers that are limited to crawl ids, over freshet.v1 and over the crawl-frontier API.
#include <memory>
#include <string>
#include <vector>

#include "tests/grpc/frontier_client.h"
#include "tests/grpc/guarded_server.h"

namespace freshet {
namespace {

using grpc::StatusCode;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

GuardedServer::Written TeamsAndAFleet() {
  return {{"team", "    roles: [worker, reader]\n    crawl_ids: [news, shop]\n"},
          {"fleet", "    roles: [worker]\n"},
          {"rival", "    roles: [worker]\n"},
          {"admin", "    roles: [admin]\n"}};
}

class LimitedWorker : public ::testing::Test {
 protected:
  LimitedWorker() {
    team_ = server_.Open(server_.Token("team"));
    server_->Use(server_.Open(server_.Token("admin")));
    v1::UpsertPagesRequest pages;
    for (const char* crawl_id : {"news", "shop", "others"}) {
      for (int i = 0; i < 3; ++i) {
        v1::PageSpec* page = pages.add_pages();
        page->set_url("http://" + std::string(crawl_id) + ".test/" + std::to_string(i));
        page->set_crawl_id(crawl_id);
      }
    }
    server_->Upsert(pages);
  }

  grpc::Status Next(const std::vector<std::string>& crawl_ids, v1::NextResponse* response) {
    v1::NextRequest request;
    request.set_max_assignments(20);
    for (const std::string& crawl_id : crawl_ids) request.add_crawl_ids(crawl_id);
    ToProto(Duration::Millis(500), request.mutable_max_wait());
    grpc::ClientContext call;
    return v1::SchedulerService::NewStub(team_)->Next(&call, request, response);
  }
  // Leases a page of the crawl id others, which the team may not have.
  uint64_t LeaseOfOthers() {
    server_->Use(server_.Open(server_.Token("fleet")));
    for (int i = 0; i < 100; ++i) {
      const v1::NextResponse next = server_->Next(20);
      for (const v1::Assignment& assignment : next.assignments()) {
        if (assignment.crawl_id() == "others") return assignment.lease_id();
      }
    }
    ADD_FAILURE() << "no page of others came";
    return 0;
  }

  GuardedServer server_{TeamsAndAFleet(), [](ServerConfig* config) { config->shards = 2; }};
  std::shared_ptr<grpc::Channel> team_;
};

TEST_F(LimitedWorker, IsGivenPagesOfItsCrawlIdsAlone) {
  std::vector<std::string> taken;
  for (int i = 0; i < 100 && taken.size() < 6; ++i) {
    v1::NextResponse response;
    ASSERT_TRUE(Next({}, &response).ok());
    for (const v1::Assignment& assignment : response.assignments()) {
      taken.push_back(assignment.crawl_id());
    }
  }
  EXPECT_THAT(taken, UnorderedElementsAre("news", "news", "news", "shop", "shop", "shop"));
  v1::NextResponse response;
  ASSERT_TRUE(Next({}, &response).ok());
  EXPECT_THAT(response.assignments(), IsEmpty());
  const grpc::Status status = Next({"news", "others"}, &response);
  EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(),
              HasSubstr("identity team may use only the crawl ids news, shop"));
}

TEST_F(LimitedWorker, ReportsOnItsOwnPagesAlone) {
  const uint64_t lease = LeaseOfOthers();
  server_->Use(team_);
  v1::CrawlResult by_url;
  by_url.set_url("http://others.test/1");
  by_url.set_crawl_id("others");
  by_url.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  EXPECT_THAT(
      Described(server_->Report(by_url)),
      ElementsAre(HasSubstr("REFUSED PERMISSION_DENIED crawl_id: identity team may use only")));
  // A report by lease is refused, too, and does not reveal that the lease exists.
  v1::CrawlResult by_lease;
  by_lease.set_lease_id(lease);
  by_lease.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  EXPECT_THAT(Described(server_->Report(by_lease)),
              ElementsAre(HasSubstr("lease_id: " + std::to_string(lease) + " is not open")));
  by_url.set_url("http://news.test/1");
  by_url.set_crawl_id("news");
  // If the fleet holds a lease of this page, the result counts but does not end the lease.
  EXPECT_THAT(Described(server_->Report(by_url)), AnyOf(IsEmpty(), ElementsAre("0 OBSERVED_ONLY")));
  server_->Use(server_.Open(server_.Token("fleet")));
  EXPECT_THAT(Described(server_->Report(by_lease)), IsEmpty());
}

TEST_F(LimitedWorker, GivesBackItsOwnLeasesAlone) {
  const uint64_t lease = LeaseOfOthers();
  grpc::ClientContext call;
  const auto stream = v1::SchedulerService::NewStub(team_)->Crawl(&call);
  v1::CrawlRequest request;
  request.mutable_hello()->set_worker("w");
  v1::CrawlResponse response;
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  EXPECT_EQ(response.notice().kind(), v1::NOTICE_KIND_WELCOME);
  request.mutable_returned_leases()->add_lease_ids(lease);
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  ASSERT_TRUE(response.has_return_ack());
  server_->Use(server_.Open(server_.Token("fleet")));
  v1::CrawlResult result;
  result.set_lease_id(lease);
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  // The lease is still open, otherwise its result would be late.
  EXPECT_THAT(Described(server_->Report(result)), IsEmpty());
  stream->WritesDone();
  call.TryCancel();
  (void)stream->Finish();
}

// A lease id consists of run, serial number and slot. So anyone who knows one id can guess others.
TEST_F(LimitedWorker, NobodyEndsWhatAnotherIdentityHolds) {
  const uint64_t lease = LeaseOfOthers();
  const auto rival = server_.Open(server_.Token("rival"));
  v1::CrawlResult guessed;
  guessed.set_lease_id(lease);
  guessed.set_outcome(v1::CRAWL_OUTCOME_GONE);
  server_->Use(rival);
  EXPECT_THAT(Described(server_->Report(guessed)),
              ElementsAre(HasSubstr("lease_id: " + std::to_string(lease) + " is not open")));
  grpc::ClientContext call;
  const auto stream = v1::SchedulerService::NewStub(rival)->Crawl(&call);
  v1::CrawlRequest request;
  request.mutable_hello()->set_worker("w");
  v1::CrawlResponse response;
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  request.mutable_returned_leases()->add_lease_ids(lease);
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  ASSERT_TRUE(response.has_return_ack());
  call.TryCancel();
  (void)stream->Finish();
  server_->Use(server_.Open(server_.Token("fleet")));
  v1::CrawlResult own;
  own.set_lease_id(lease);
  own.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  EXPECT_THAT(Described(server_->Report(own)), IsEmpty()) << "it is open still";
}

// If a client lets leases expire under a worker name that another client uses, only its own
// allowance is reduced.
TEST_F(LimitedWorker, ANameOfAnothersIsAnotherName) {
  const auto next = [](const std::shared_ptr<grpc::Channel>& channel, int lease_seconds) {
    v1::NextRequest request;
    request.set_worker("w1");
    request.set_max_assignments(1);
    request.mutable_lease_duration()->set_seconds(lease_seconds);
    ToProto(Duration::Millis(500), request.mutable_max_wait());
    v1::NextResponse response;
    grpc::ClientContext call;
    EXPECT_TRUE(v1::SchedulerService::NewStub(channel)->Next(&call, request, &response).ok());
    return response;
  };
  const auto rival = server_.Open(server_.Token("rival"));
  uint32_t lost = 0;
  while (lost < 3) lost += static_cast<uint32_t>(next(rival, 1).assignments_size());
  // Three leases expire, and each halves the rival's allowance.
  ASSERT_TRUE(Eventually([&] {
    server_->Use(server_.Open(server_.Token("admin")));
    return server_->Statistics().server().reduced_allowances() == 1;
  }));
  server_->Use(server_.Open(server_.Token("admin")));
  int served = 0;
  for (int i = 0; i < 100 && served < 3; ++i) {
    const v1::NextResponse response = next(team_, 300);
    ASSERT_FALSE(response.has_allowance()) << response.DebugString();
    served += response.assignments_size();
  }
  EXPECT_EQ(served, 3);
}

TEST_F(LimitedWorker, ItsStreamEndsWhenItsLimitsChange) {
  grpc::ClientContext call;
  const auto stream = v1::SchedulerService::NewStub(team_)->Crawl(&call);
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker("w");
  v1::CrawlResponse response;
  ASSERT_TRUE(stream->Write(hello) && stream->Read(&response));
  GuardedServer::Written changed = TeamsAndAFleet();
  changed[0].second = "    roles: [worker, reader]\n    crawl_ids: [news]\n";
  server_.WriteIdentities(changed);
  server_->Reload();
  while (stream->Read(&response)) {
  }
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(), HasSubstr("have changed"));
}

// --- The crawl-frontier API

TEST_F(LimitedWorker, PutsAndTakesUrlsOfItsCrawlIdsAlone) {
  FrontierClient team(team_);
  FrontierClient fleet(server_.Open(server_.Token("fleet")));
  EXPECT_EQ(team.Put(Discovered("http://a.test/1", "", "news")), "OK");
  EXPECT_EQ(team.Put(Discovered("http://a.test/2", "", "others")), "FAIL");
  EXPECT_EQ(team.Put(Discovered("http://a.test/3")), "FAIL");
  EXPECT_EQ(fleet.Put(Discovered("http://b.test/4", "", "others")), "OK");
  uf::DiscoveredBatch batch;
  batch.set_id("b");
  *batch.add_items() = Info("http://a.test/5", "", "others");
  *batch.add_items() = Info("http://c.test/6", "", "shop");
  const auto acks = team.PutBatches({batch});
  ASSERT_EQ(acks.size(), 1U);
  EXPECT_THAT(acks[0].statuses(), ElementsAre(uf::AckMessage::FAIL, uf::AckMessage::OK));
  // A request without a crawl id means any crawl id that the team may use.
  EXPECT_THAT(team.Get(Params()), UnorderedElementsAre("http://a.test/1", "http://c.test/6"));
  EXPECT_THAT(team.Crawls(), UnorderedElementsAre("news", "shop"));
  EXPECT_THAT(fleet.Get(Params()), ElementsAre("http://b.test/4"));
}

TEST_F(LimitedWorker, AsksAboutItsCrawlIdsAlone) {
  const auto stub = uf::URLFrontier::NewStub(team_);
  const auto denied = [](const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED) << status.error_message();
  };
  const auto ask = [&stub](auto method, const auto& request, auto response) {
    grpc::ClientContext call;
    return ((*stub).*method)(&call, request, &response);
  };
  using Stub = uf::URLFrontier::Stub;
  for (const std::string crawl : {"news", "others"}) {
    const auto check = [&](const grpc::Status& status) {
      if (crawl == "others") return denied(status);
      EXPECT_NE(status.error_code(), StatusCode::PERMISSION_DENIED) << status.error_message();
    };
    uf::QueueWithinCrawlParams stats;
    stats.set_crawlid(crawl);
    check(ask(&Stub::GetStats, stats, uf::Stats()));
    uf::Pagination queues;
    queues.set_crawlid(crawl);
    check(ask(&Stub::ListQueues, queues, uf::QueueList()));
    uf::CountUrlParams count;
    count.set_crawlid(crawl);
    check(ask(&Stub::CountURLs, count, uf::Long()));
    uf::URLStatusRequest status;
    status.set_crawlid(crawl);
    status.set_url("http://a.test/1");
    check(ask(&Stub::GetURLStatus, status, uf::URLItem()));
    uf::BlockQueueParams block;
    block.set_crawlid(crawl);
    block.set_key("a.test");
    check(ask(&Stub::BlockQueueUntil, block, uf::Empty()));
    uf::QueueDelayParams delay;
    delay.set_crawlid(crawl);
    delay.set_key("a.test");
    check(ask(&Stub::SetDelay, delay, uf::Empty()));
    const auto stream = [&](const auto& reader, auto message) {
      while (reader->Read(&message)) {
      }
      check(reader->Finish());
    };
    grpc::ClientContext list_call;
    uf::ListUrlParams list;
    list.set_crawlid(crawl);
    stream(stub->ListURLs(&list_call, list), uf::URLItem());
    grpc::ClientContext get_call;
    stream(stub->GetURLs(&get_call, ParamsIn(crawl)), uf::URLInfo());
  }
  // The team may not set the delay of all queues.
  uf::QueueDelayParams everybody;
  everybody.set_crawlid("news");
  denied(ask(&Stub::SetDelay, everybody, uf::Empty()));
  denied(ask(&Stub::SetActive, uf::Active(), uf::Empty()));
}

// Crawl ids that limits name have reserved places, however many crawl ids other clients invent.
TEST_F(LimitedWorker, IsNotShutOutByCrawlIdsThatOthersInvent) {
  const auto fleet = v1::SchedulerService::NewStub(server_.Open(server_.Token("fleet")));
  StatusCode last = StatusCode::OK;
  for (int round = 0; round < 5; ++round) {
    v1::NextRequest request;
    for (int i = 0; i < 16; ++i) {
      request.add_crawl_ids("made-up-" + std::to_string(16 * round + i));
    }
    ToProto(Duration(), request.mutable_max_wait());
    v1::NextResponse response;
    grpc::ClientContext call;
    last = fleet->Next(&call, request, &response).error_code();
  }
  EXPECT_EQ(last, StatusCode::RESOURCE_EXHAUSTED);
  v1::NextResponse mine;
  const grpc::Status status = Next({}, &mine);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

}  // namespace
}  // namespace freshet
