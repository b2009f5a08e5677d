// Tests identities: their limits, and the effects of changing them.
#include <string>

#include "tests/grpc/guarded_server.h"

namespace freshet {
namespace {

using grpc::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A site that sends signals for itself, a team with a separate crawl id, and an operator.
GuardedServer::Written Company() {
  return {{"site", "    roles: [ingester]\n    hosts: [a.test]\n    sources: [cdn]\n"},
          {"team", "    roles: [ingester, reader]\n    crawl_ids: [news]\n"},
          {"watcher", "    roles: [reader]\n    hosts: [a.test]\n"},
          {"admin", "    roles: [admin]\n"}};
}

void AddSignal(const std::string& url, const std::string& source,
               v1::SignalChangesRequest* request) {
  v1::ChangeSignal& signal = *request->add_signals();
  signal.set_url(url);
  signal.set_source(source);
}

TEST(Auth, ASiteSignalsForItsOwnHostsOnly) {
  GuardedServer server(Company());
  server->Use(server.Open(server.Token("admin")));
  v1::UpsertPagesRequest pages;
  for (const char* url : {"http://a.test/", "http://www.a.test/", "http://b.test/"}) {
    pages.add_pages()->set_url(url);
  }
  server->Upsert(pages);
  server->Use(server.Open(server.Token("site")));
  v1::SignalChangesRequest request;
  AddSignal("http://a.test/", "cdn", &request);
  AddSignal("http://www.a.test/", "cdn", &request);
  AddSignal("http://b.test/", "cdn", &request);        // a page that exists
  AddSignal("http://nowhere.test/", "cdn", &request);  // an unknown page
  AddSignal("http://badA.test/", "cdn", &request);
  AddSignal("http://a.test/", "feed", &request);     // a source that exists
  AddSignal("http://a.test/", "nothing", &request);  // an unknown source
  const v1::BatchAck ack = server->Signal(request);
  const std::string no_host =
      "REFUSED PERMISSION_DENIED url: identity site may use only the hosts a.test and hosts below "
      "them";
  const std::string no_source =
      "REFUSED PERMISSION_DENIED source: identity site may send only as source cdn";
  EXPECT_THAT(Described(ack), ElementsAre("2 " + no_host, "3 " + no_host, "4 " + no_host,
                                          "5 " + no_source, "6 " + no_source));
}

TEST(Auth, ATeamKeepsToItsCrawl) {
  GuardedServer server(Company());
  server->Use(server.Open(server.Token("team")));
  v1::UpsertPagesRequest pages;
  pages.add_pages()->set_url("http://a.test/1");
  pages.mutable_pages(0)->set_crawl_id("news");
  pages.add_pages()->set_url("http://a.test/2");
  EXPECT_THAT(
      Described(server->Upsert(pages)),
      ElementsAre(
          "1 REFUSED PERMISSION_DENIED crawl_id: identity team may use only the crawl ids news"));
  EXPECT_EQ(server->Get("http://a.test/1", "news").page().url(), "http://a.test/1");

  const auto code_of = [](const grpc::Status& status) { return status.error_code(); };
  grpc::ClientContext get_call;
  v1::GetPageRequest get;
  get.set_url("http://a.test/1");
  v1::GetPageResponse page;
  EXPECT_EQ(code_of(server->pages->GetPage(&get_call, get, &page)), StatusCode::PERMISSION_DENIED);
  grpc::ClientContext remove_call;
  v1::RemovePagesRequest remove;
  remove.add_urls("http://a.test/1");
  remove.set_crawl_id("others");
  v1::RemovePagesResponse removed;
  EXPECT_EQ(code_of(server->pages->RemovePages(&remove_call, remove, &removed)),
            StatusCode::PERMISSION_DENIED);
  // An identity that is limited to one crawl id may not read facts about all crawl ids.
  grpc::ClientContext stats_call;
  v1::GetStatisticsResponse statistics;
  EXPECT_EQ(code_of(server->admin->GetStatistics(&stats_call, {}, &statistics)),
            StatusCode::PERMISSION_DENIED);
}

TEST(Auth, ListsAreOfWhatTheCallerIsLimitedTo) {
  GuardedServer server(Company());
  server->Use(server.Open(server.Token("admin")));
  v1::UpsertPagesRequest pages;
  for (const char* url : {"http://a.test/1", "http://b.test/2"}) {
    pages.add_pages()->set_url(url);
    pages.mutable_pages(pages.pages_size() - 1)->set_crawl_id("news");
  }
  server->Upsert(pages);
  const auto list = [&server](const std::string& who, const v1::PageFilter& filter, int* found) {
    grpc::ClientContext call;
    v1::ListPagesRequest request;
    *request.mutable_filter() = filter;
    const auto stream =
        v1::PagesService::NewStub(server.Open(server.Token(who)))->ListPages(&call, request);
    v1::ListPagesResponse response;
    *found = 0;
    while (stream->Read(&response)) *found += response.pages_size();
    return stream->Finish().error_code();
  };
  int found = 0;
  v1::PageFilter filter;
  EXPECT_EQ(list("admin", filter, &found), StatusCode::OK);
  EXPECT_EQ(found, 2);
  EXPECT_EQ(list("team", filter, &found), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(list("watcher", filter, &found), StatusCode::PERMISSION_DENIED);
  filter.set_crawl_id("news");
  EXPECT_EQ(list("team", filter, &found), StatusCode::OK);
  EXPECT_EQ(found, 2);
  filter.set_crawl_id("others");
  EXPECT_EQ(list("team", filter, &found), StatusCode::PERMISSION_DENIED);
  filter.clear_crawl_id();
  filter.set_host("b.test");
  EXPECT_EQ(list("watcher", filter, &found), StatusCode::PERMISSION_DENIED);
  filter.set_url_prefix("http://a.test/");
  EXPECT_EQ(list("watcher", filter, &found), StatusCode::OK);
  EXPECT_EQ(found, 1);
}

// A refusal is the same whether the page exists or not.
TEST(Auth, RefusalsDoNotTellWhatExists) {
  GuardedServer server(Company());
  server->Use(server.Open(server.Token("admin")));
  v1::UpsertPagesRequest pages;
  pages.add_pages()->set_url("http://b.test/1");
  server->Upsert(pages);
  const auto watcher = server.Open(server.Token("watcher"));
  std::vector<std::string> messages;
  for (const char* host : {"b.test", "c.test"}) {
    grpc::ClientContext page_call;
    v1::GetPageRequest page;
    page.set_url("http://" + std::string(host) + "/1");
    v1::GetPageResponse page_response;
    const grpc::Status no_page =
        v1::PagesService::NewStub(watcher)->GetPage(&page_call, page, &page_response);
    grpc::ClientContext host_call;
    v1::GetHostRequest request;
    request.set_host(host);
    v1::GetHostResponse response;
    const grpc::Status no_host =
        v1::AdminService::NewStub(watcher)->GetHost(&host_call, request, &response);
    EXPECT_EQ(no_page.error_code(), StatusCode::PERMISSION_DENIED);
    EXPECT_EQ(no_host.error_code(), StatusCode::PERMISSION_DENIED);
    messages.push_back(no_page.error_message() + no_host.error_message());
  }
  EXPECT_EQ(messages[0], messages[1]);
}

TEST(Auth, TellsClientsWhoTheyAre) {
  GuardedServer server(Company());
  v1::WhoAmIResponse site;
  EXPECT_EQ(WhoAmI(server.Open(server.Certificate("site")), &site), StatusCode::OK);
  EXPECT_EQ(site.identity(), "site");
  EXPECT_THAT(site.roles(), ElementsAre("ingester"));
  EXPECT_THAT(site.hosts(), ElementsAre("a.test"));
  EXPECT_THAT(site.sources(), ElementsAre("cdn"));
  EXPECT_THAT(site.crawl_ids(), IsEmpty());
  EXPECT_THAT(site.methods(), testing::Contains("freshet.v1.IngestService.SignalChanges"));
  EXPECT_THAT(site.methods(), Not(testing::Contains("freshet.v1.PagesService.UpsertPages")));
  EXPECT_EQ(WhoAmI(server.Open({})), StatusCode::UNAUTHENTICATED);

  TestServer open;
  v1::WhoAmIResponse anybody;
  EXPECT_EQ(WhoAmI(open.channel, &anybody), StatusCode::OK);
  EXPECT_EQ(anybody.identity(), "");
  EXPECT_EQ(anybody.roles_size(), 4);
}

// If an identity is removed from the file or gets a new token, its open streams end.
TEST(Auth, StreamsEndWhenTheirIdentityDoes) {
  GuardedServer server(Company());
  const auto ingest = v1::IngestService::NewStub(server.Open(server.Token("site")));
  grpc::ClientContext signal_call;
  const auto signals = ingest->SignalChanges(&signal_call);
  v1::SignalChangesRequest request;
  AddSignal("http://b.test/", "cdn", &request);
  v1::SignalChangesResponse response;
  ASSERT_TRUE(signals->Write(request) && signals->Read(&response));
  const auto admin = v1::SchedulerService::NewStub(server.Open(server.Token("admin")));
  grpc::ClientContext crawl_call;
  const auto worker = admin->Crawl(&crawl_call);
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker("w");
  v1::CrawlResponse welcome;
  ASSERT_TRUE(worker->Write(hello) && worker->Read(&welcome));

  server.WriteIdentities({{"admin", "    roles: [admin]\n"}});
  server->Reload();
  EXPECT_FALSE(signals->Read(&response));
  EXPECT_EQ(signals->Finish().error_code(), StatusCode::UNAUTHENTICATED);
  // Other identities are not affected.
  v1::CrawlRequest credit;
  credit.mutable_credit()->set_assignments(0);
  ASSERT_TRUE(worker->Write(credit) && worker->Read(&welcome));
  EXPECT_EQ(welcome.notice().kind(), v1::NOTICE_KIND_REFUSED);

  server.WriteIdentities({{"admin", "    roles: [reader]\n"}});
  server->Reload();
  EXPECT_FALSE(worker->Read(&welcome));
  EXPECT_EQ(worker->Finish().error_code(), StatusCode::PERMISSION_DENIED);
}

// If a client sends too much, the server neither refuses nor loses anything. It reads from the
// client at the permitted rate, and other clients are not affected.
TEST(Auth, WhoSendsTooMuchIsSlowedDown) {
  GuardedServer server({{"slow", "    roles: [ingester]\n    items_per_second: 100\n"},
                        {"admin", "    roles: [admin]\n"}});
  SystemClock clock;
  const auto send = [&](const std::string& who) {
    const auto ingest = v1::IngestService::NewStub(server.Open(server.Token(who)));
    grpc::ClientContext call;
    const auto stream = ingest->SignalChanges(&call);
    v1::SignalChangesRequest request;
    for (int i = 0; i < 50; ++i) AddSignal("http://a.test/" + std::to_string(i), "cdn", &request);
    const Instant begin = clock.Now();
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(stream->Write(request));
    stream->WritesDone();
    v1::SignalChangesResponse response;
    int acks = 0;
    while (stream->Read(&response)) ++acks;
    EXPECT_EQ(acks, 6);
    EXPECT_TRUE(stream->Finish().ok());
    return clock.Now() - begin;
  };
  // The 300 items take 1.5 s: the first 100 are free, and the client does not wait after its last
  // message, which has 50 items.
  EXPECT_GE(send("slow"), Duration::Millis(1450));
  send("admin");
  server->Use(server.Open(server.Token("slow")));
  v1::RecheckPagesRequest request;
  for (int i = 0; i < 500; ++i) request.add_urls("http://a.test/" + std::to_string(i));
  v1::RecheckPagesResponse response;
  std::vector<StatusCode> codes;
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext call;
    codes.push_back(server->pages->RecheckPages(&call, request, &response).error_code());
  }
  EXPECT_EQ(codes.back(), StatusCode::RESOURCE_EXHAUSTED);
}

TEST(Auth, LimitsThatChangeHoldFromTheNextMessageOn) {
  GuardedServer server(Company());
  const auto ingest = v1::IngestService::NewStub(server.Open(server.Token("site")));
  grpc::ClientContext call;
  const auto stream = ingest->SignalChanges(&call);
  v1::SignalChangesRequest request;
  AddSignal("http://b.test/", "cdn", &request);
  v1::SignalChangesResponse response;
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  EXPECT_THAT(Described(response.ack())[0], HasSubstr("PERMISSION_DENIED"));
  server.WriteIdentities(
      {{"site", "    roles: [ingester]\n    hosts: [a.test, b.test]\n    sources: [cdn]\n"}});
  server->Reload();
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  EXPECT_THAT(Described(response.ack())[0], HasSubstr("NOT_FOUND")) << "such a page there is none";
  // A broken file changes nothing.
  ReplaceFile(server.path("auth.yaml"), "identities: rubbish");
  server->Reload();
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace freshet
