// Tests the audit log: a change is in the log, with its author, before the answer is sent. Also
// tests ids of calls, and the log level and configuration, which can change while the server runs.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "server/logs/audit_log.h"
#include "server/logs/loggers.h"
#include "server/logs/repeats.h"
#include "tests/grpc/guarded_server.h"
#include "urlfrontier/urlfrontier.grpc.pb.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

using AdminStub = v1::AdminService::Stub;

template <typename Request, typename Response>
grpc::Status CallAdmin(TestServer& server,
                       grpc::Status (AdminStub::*method)(grpc::ClientContext*, const Request&,
                                                         Response*),
                       const Request& request, Response* response, const std::string& id = {}) {
  grpc::ClientContext call;
  if (!id.empty()) call.AddMetadata("x-request-id", id);
  return ((*server.admin).*method)(&call, request, response);
}

std::vector<AuditEntry> EntriesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<AuditEntry> entries;
  for (std::string line; std::getline(file, line);) {
    std::optional<AuditEntry> entry = ParseAuditLine(line);
    EXPECT_TRUE(entry) << line;
    if (entry) entries.push_back(*std::move(entry));
  }
  return entries;
}

std::vector<AuditEntry> EntriesOf(const TestServer& server) {
  return EntriesOf(server.config.data_dir + "/audit.jsonl");
}

TEST(Audit, AChangeIsWrittenBeforeItsAnswerLeaves) {
  TestServer server;
  v1::SetCrawlRateRequest request;
  request.set_crawl_rate_per_second(12.5);
  v1::SetCrawlRateResponse response;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::SetCrawlRate, request, &response, "mine-1").ok());
  const std::vector<AuditEntry> entries = EntriesOf(server);
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0].action, "/freshet.v1.AdminService/SetCrawlRate");
  EXPECT_EQ(entries[0].who, "network 127.0.0.1");
  EXPECT_EQ(entries[0].from, "127.0.0.1");
  EXPECT_EQ(entries[0].request_id, "mine-1");
  EXPECT_EQ(entries[0].request, R"({"crawlRatePerSecond":12.5})");
  EXPECT_EQ(entries[0].before, R"({"crawlRatePerSecond":200})");
  EXPECT_THAT(entries[0].after, HasSubstr(R"("crawlRatePerSecond":12.5)"));
  EXPECT_EQ(entries[0].outcome, "OK");
}

TEST(Audit, EveryKindOfChangeSaysWhatHeldBefore) {
  TestServer server;
  server.UpsertMany(10, 2);
  v1::PauseRequest pause;
  pause.set_reason("for\na\x1b[2J reason");
  v1::PauseResponse paused;
  // The call is refused because the reason has control characters.
  EXPECT_FALSE(CallAdmin(server, &AdminStub::Pause, pause, &paused).ok());
  pause.set_reason("maintenance");
  ASSERT_TRUE(CallAdmin(server, &AdminStub::Pause, pause, &paused).ok());
  v1::ResumeResponse resumed;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::Resume, {}, &resumed).ok());
  v1::SetHostPolitenessRequest host;
  host.set_host("host1.test");
  host.mutable_min_delay()->set_seconds(7);
  v1::SetHostPolitenessResponse host_set;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::SetHostPoliteness, host, &host_set).ok());
  v1::SetCrawlRequest crawl;
  crawl.set_max_pages(100);
  v1::SetCrawlResponse crawl_set;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::SetCrawl, crawl, &crawl_set).ok());
  v1::DeleteHostRequest gone;
  gone.set_host("host1.test");
  v1::DeleteHostResponse deleted;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::DeleteHost, gone, &deleted).ok());
  const std::vector<AuditEntry> entries = EntriesOf(server);
  ASSERT_THAT(entries, SizeIs(6));
  EXPECT_THAT(entries[0].outcome, HasSubstr("INVALID_ARGUMENT: reason"));
  EXPECT_THAT(entries[1].before, HasSubstr("\"paused\":false"));
  EXPECT_THAT(entries[1].after, HasSubstr("\"paused\":true"));
  EXPECT_THAT(entries[1].after, HasSubstr("\"reason\":\"maintenance\""));
  EXPECT_THAT(entries[2].before, HasSubstr("\"paused\":true"));
  EXPECT_THAT(entries[2].after, HasSubstr("\"paused\":false"));
  EXPECT_THAT(entries[3].before, HasSubstr("host1.test"));
  EXPECT_THAT(entries[3].after, HasSubstr("\"minDelay\":\"7s\""));
  EXPECT_THAT(entries[4].request, HasSubstr("\"maxPages\":\"100\""));
  EXPECT_THAT(entries[4].before, HasSubstr("DEFAULT"));
  EXPECT_THAT(entries[5].before, HasSubstr("\"minDelay\":\"7s\""));
}

// Calls that only read are not in the audit log. Changes of pages are.
TEST(Audit, ReadsAreNotWritten) {
  TestServer server;
  server.UpsertMany(1);
  v1::GetCrawlRateResponse rate;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::GetCrawlRate, {}, &rate).ok());
  v1::ListAuditResponse list;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::ListAudit, {}, &list).ok());
  EXPECT_THAT(EntriesOf(server), IsEmpty());
  v1::RecheckPagesRequest request;
  request.add_urls(TestServer::Url(0));
  v1::RecheckPagesResponse response;
  grpc::ClientContext call;
  ASSERT_TRUE(server.pages->RecheckPages(&call, request, &response).ok());
  const std::vector<AuditEntry> entries = EntriesOf(server);
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0].action, "/freshet.v1.PagesService/RecheckPages");
}

TEST(Audit, TheCrawlFrontierDoorIsWrittenDownAsWell) {
  TestServer server;
  const auto frontier = urlfrontier::URLFrontier::NewStub(server.channel);
  urlfrontier::Active active;
  active.set_state(false);
  urlfrontier::Empty empty;
  grpc::ClientContext call;
  ASSERT_TRUE(frontier->SetActive(&call, active, &empty).ok());
  const std::vector<AuditEntry> entries = EntriesOf(server);
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0].action, "/urlfrontier.URLFrontier/SetActive");
  EXPECT_EQ(entries[0].before, R"({"state":true})");
}

TEST(Audit, ListsTheNewestFirstAndWithinBounds) {
  TestServer server;
  for (int rate = 1; rate <= 3; ++rate) {
    v1::SetCrawlRateRequest request;
    request.set_crawl_rate_per_second(rate);
    v1::SetCrawlRateResponse response;
    ASSERT_TRUE(CallAdmin(server, &AdminStub::SetCrawlRate, request, &response).ok());
  }
  v1::ListAuditRequest request;
  request.set_limit(2);
  v1::ListAuditResponse list;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::ListAudit, request, &list).ok());
  ASSERT_EQ(list.entries_size(), 2);
  EXPECT_EQ(list.entries(0).request(), R"({"crawlRatePerSecond":3})");
  EXPECT_EQ(list.entries(1).request(), R"({"crawlRatePerSecond":2})");
  *request.mutable_since() = list.entries(0).at();
  ASSERT_TRUE(CallAdmin(server, &AdminStub::ListAudit, request, &list).ok());
  EXPECT_EQ(list.entries_size(), 1);
  for (const uint32_t limit : {0U, 1001U}) {
    request.set_limit(limit);
    const grpc::Status status = CallAdmin(server, &AdminStub::ListAudit, request, &list);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << limit;
    EXPECT_THAT(status.error_message(), HasSubstr("limit: "));
  }
  // Entries survive a restart.
  server.Restart();
  request.set_limit(1000);
  request.clear_since();
  ASSERT_TRUE(CallAdmin(server, &AdminStub::ListAudit, request, &list).ok());
  EXPECT_EQ(list.entries_size(), 3);
}

TEST(Audit, NamesIdentitiesAndWhoWasRefused) {
  GuardedServer guarded({{"ops", "    roles: [admin]\n"}, {"eye", "    roles: [reader]\n"}});
  const auto set_rate = [&](const std::string& token) {
    const auto admin = v1::AdminService::NewStub(guarded.Open({.token = token}));
    v1::SetCrawlRateRequest request;
    request.set_crawl_rate_per_second(5);
    v1::SetCrawlRateResponse response;
    grpc::ClientContext call;
    return admin->SetCrawlRate(&call, request, &response).error_code();
  };
  EXPECT_EQ(set_rate("ops-token"), grpc::StatusCode::OK);
  EXPECT_EQ(set_rate("eye-token"), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(set_rate("stolen-token"), grpc::StatusCode::UNAUTHENTICATED);
  // Refusals are written without waiting for the disk. The change after them waits until all
  // entries are on the disk.
  EXPECT_EQ(set_rate("ops-token"), grpc::StatusCode::OK);
  const std::vector<AuditEntry> entries = EntriesOf(*guarded);
  ASSERT_THAT(entries, SizeIs(4));
  EXPECT_EQ(entries[0].who, "identity ops");
  EXPECT_EQ(entries[1].who, "identity eye");
  EXPECT_THAT(entries[1].outcome,
              HasSubstr("PERMISSION_DENIED: identity eye has none of the roles"));
  EXPECT_EQ(entries[2].who, "nobody known");
  EXPECT_THAT(entries[2].outcome, HasSubstr("UNAUTHENTICATED: "));
  for (const AuditEntry& entry : entries) {
    EXPECT_EQ(AuditLine(entry).find("-token"), std::string::npos);
  }
}

// If each refusal of a client had an entry, a stranger could push the changes of operators out of
// the files.
TEST(Audit, RefusalsOfAClientAreOfOneKind) {
  GuardedServer guarded({{"ops", "    roles: [admin]\n"}, {"eye", "    roles: [reader]\n"}});
  const auto admin = v1::AdminService::NewStub(guarded.Open({.token = "eye-token"}));
  const auto refused = [](const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  };
  for (int i = 0; i < 15; ++i) {
    v1::SetCrawlRateResponse rate;
    grpc::ClientContext first;
    refused(admin->SetCrawlRate(&first, {}, &rate));
    v1::PauseResponse paused;
    grpc::ClientContext second;
    refused(admin->Pause(&second, {}, &paused));
  }
  const auto change = v1::AdminService::NewStub(guarded.Open({.token = "ops-token"}));
  v1::SetCrawlRateRequest request;
  request.set_crawl_rate_per_second(5);
  v1::SetCrawlRateResponse response;
  grpc::ClientContext call;
  EXPECT_TRUE(change->SetCrawlRate(&call, request, &response).ok());
  const std::vector<AuditEntry> entries = EntriesOf(*guarded);
  EXPECT_THAT(entries, SizeIs(Repeats<AuditEntry>::kPerWindow + 1));
}

// --- Removals

v1::BatchAck RemoveFrom(TestServer& server, const std::vector<std::string>& urls) {
  v1::RemovePagesRequest request;
  for (const std::string& url : urls) request.add_urls(url);
  v1::RemovePagesResponse response;
  grpc::ClientContext call;
  EXPECT_TRUE(server.pages->RemovePages(&call, request, &response).ok());
  return response.ack();
}

// Attempts that change nothing share a few entries. Each later removal has a separate entry.
TEST(Audit, NoRemovalIsHiddenBehindOthers) {
  TestServer server;
  server.UpsertMany(60, 60);
  for (int i = 0; i < 50; ++i) (void)RemoveFrom(server, {"http://decoy.test/"});
  for (int i = 0; i < 25; ++i) (void)RemoveFrom(server, {TestServer::Url(i, 60)});
  EXPECT_EQ(RemoveFrom(server, {TestServer::Url(50, 60), "http://decoy.test/"}).statuses_size(), 1);
  for (int i = 25; i < 30; ++i) (void)RemoveFrom(server, {TestServer::Url(i, 60)});
  const std::vector<AuditEntry> entries = EntriesOf(server);
  EXPECT_THAT(entries, SizeIs(Repeats<AuditEntry>::kPerWindow + 31));
  const auto names = [](const AuditEntry& entry) {
    return entry.request.find(TestServer::Url(50, 60)) != std::string::npos;
  };
  EXPECT_EQ(std::count_if(entries.begin(), entries.end(), names), 1);
}

// A removal has as many entries as are needed to name its hosts. Each entry also names the digest
// of the whole list, so that a client that has kept the list can prove it.
TEST(Audit, ALongRemovalNamesAllItsHosts) {
  TestServer server;
  server.UpsertMany(500, 500);
  std::vector<std::string> urls;
  for (int i = 0; i < 100; ++i) {
    urls.push_back("http://decoy.test/" + std::to_string(i) + std::string(60, 'x'));
  }
  for (int i = 0; i < 500; ++i) urls.push_back(TestServer::Url(i, 500));
  urls.push_back("no URL");
  EXPECT_EQ(RemoveFrom(server, urls).statuses_size(), 101);
  const std::vector<AuditEntry> entries = EntriesOf(server);
  ASSERT_GT(entries.size(), 1U);
  std::string all;
  for (const AuditEntry& entry : entries) {
    EXPECT_LE(entry.request.size(), kMaxAuditTextBytes);
    EXPECT_EQ(entry.request_id, entries[0].request_id);
    EXPECT_THAT(entry.request, HasSubstr("\"urls\":601"));
    EXPECT_THAT(entry.request, MatchesRegex(".*\"urls_sha256\":\"[0-9a-f]+\".*"));
    all += entry.request;
  }
  EXPECT_THAT(all, HasSubstr("\"decoy.test\":100"));
  EXPECT_THAT(all, HasSubstr("\"no URL\":1"));
  for (int i = 0; i < 500; ++i) {
    EXPECT_THAT(all, HasSubstr("\"host" + std::to_string(i) + ".test\":1"));
  }
}

// --- Ids of calls

std::string IdOf(const grpc::ClientContext& call) {
  const auto it = call.GetServerInitialMetadata().find("x-request-id");
  if (it == call.GetServerInitialMetadata().end()) return {};
  return {it->second.data(), it->second.size()};
}

std::string IdOfCall(TestServer& server, const std::string& given) {
  v1::GetCrawlRateResponse response;
  grpc::ClientContext call;
  if (!given.empty()) call.AddMetadata("x-request-id", given);
  EXPECT_TRUE(server.admin->GetCrawlRate(&call, {}, &response).ok());
  return IdOf(call);
}

TEST(RequestId, IsTheClientsIfItIsOneElseNew) {
  TestServer server;
  EXPECT_EQ(IdOfCall(server, "0af7651916cd43dd-8448eb211c80319c"),
            "0af7651916cd43dd-8448eb211c80319c");
  EXPECT_EQ(IdOfCall(server, std::string(128, 'x')), std::string(128, 'x'));
  const std::string made = IdOfCall(server, "");
  EXPECT_THAT(made, MatchesRegex("[0-9a-f]+-[0-9a-f]+"));
  EXPECT_NE(IdOfCall(server, ""), made);
  for (const std::string& bad : {std::string(129, 'x'), std::string("a b"), std::string("a\"b"),
                                 std::string("a;b"), std::string("<a>")}) {
    EXPECT_THAT(IdOfCall(server, bad), MatchesRegex("[0-9a-f]+-[0-9a-f]+")) << bad;
  }
}

TEST(RequestId, StreamsHaveOneAsWell) {
  TestServer server;
  grpc::ClientContext call;
  call.AddMetadata("x-request-id", "of-a-stream");
  const auto stream = server.pages->UpsertPages(&call);
  v1::UpsertPagesRequest request;
  request.add_pages()->set_url(TestServer::Url(0));
  ASSERT_TRUE(stream->Write(request));
  v1::UpsertPagesResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(IdOf(call), "of-a-stream");
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

// --- Levels of the log

TEST(LogLevels, CanBeChangedByModule) {
  TestServer server;
  v1::SetLogLevelRequest request;
  request.set_module("engine");
  request.set_level("error");
  v1::SetLogLevelResponse response;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::SetLogLevel, request, &response).ok());
  EXPECT_EQ(response.modules_size(), static_cast<int>(kLogModules));
  v1::GetLogLevelsResponse levels;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::GetLogLevels, {}, &levels).ok());
  for (const v1::ModuleLogLevel& module : levels.modules()) {
    EXPECT_EQ(module.level(), module.module() == "engine" ? "error" : "off") << module.module();
  }
  request.set_module("stone");
  EXPECT_EQ(CallAdmin(server, &AdminStub::SetLogLevel, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  request.set_module("");
  request.set_level("loud");
  const grpc::Status status = CallAdmin(server, &AdminStub::SetLogLevel, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("level: 'loud' is not one of"));
  ASSERT_TRUE(SetLogLevels("off").ok());
}

// --- Configuration that a running server reads again

TEST(Reload, TakesWhatCanBeTaken) {
  TestServer server([](ServerConfig* config) { config->max_message_items = 10; });
  ServerConfig fresh = server.config;
  fresh.crawl_rate = Rate::PerSecond(33);
  fresh.max_message_items = 2;
  fresh.politeness.min_delay = Duration::Seconds(9);
  fresh.shards = 2;  // needs a restart
  server.Reload(fresh);
  v1::UpsertPagesRequest request;
  for (int i = 0; i < 3; ++i) request.add_pages()->set_url(TestServer::Url(i));
  EXPECT_THAT(server.Upsert(request).DebugString(), HasSubstr("3 items, at most 2 are allowed"));
  // A reload applies rates and politeness after the changes of operators. This call waits for both.
  v1::ResumeResponse resumed;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::Resume, {}, &resumed).ok());
  v1::GetCrawlRateResponse rate;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::GetCrawlRate, {}, &rate).ok());
  EXPECT_EQ(rate.crawl_rate_per_second(), 33);
  v1::GetPolitenessDefaultsResponse politeness;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::GetPolitenessDefaults, {}, &politeness).ok());
  EXPECT_EQ(politeness.defaults().min_delay().seconds(), 9);
  EXPECT_EQ(politeness.configured().min_delay().seconds(), 9);
}

TEST(Reload, WhatOperatorsHaveSetWins) {
  TestServer server;
  v1::SetCrawlRateRequest request;
  request.set_crawl_rate_per_second(5);
  v1::SetCrawlRateResponse response;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::SetCrawlRate, request, &response).ok());
  ServerConfig fresh = server.config;
  fresh.crawl_rate = Rate::PerSecond(33);
  server.Reload(fresh);
  v1::ResumeResponse resumed;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::Resume, {}, &resumed).ok());
  v1::GetCrawlRateResponse rate;
  ASSERT_TRUE(CallAdmin(server, &AdminStub::GetCrawlRate, {}, &rate).ok());
  EXPECT_EQ(rate.crawl_rate_per_second(), 5);
}

}  // namespace
}  // namespace freshet
