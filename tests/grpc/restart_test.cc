// Tests restarts, overload and a broken disk.
#include <atomic>
#include <future>
#include <map>
#include <set>

#include "core/base/url.h"
#include "core/model/page.h"
#include "core/schedule/changes.h"
#include "httplib.h"
#include "nlohmann/json.hpp"
#include "storage/store.h"
#include "tests/grpc/raw_stream.h"
#include "tests/grpc/test_server.h"
#include "tests/grpc/test_worker.h"
#include "tests/support/faulty_env.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Restart, GoesOnWithEverythingAcknowledged) {
  TestServer server([](ServerConfig* config) { config->durability = "wal"; });
  server.UpsertMany(100);
  v1::SignalChangesRequest signals;
  for (int i = 0; i < 3; ++i) {
    v1::ChangeSignal* signal = signals.add_signals();
    signal->set_url(TestServer::Url(i));
    signal->set_source("webhook");
  }
  v1::RegisterSourceRequest source;
  source.set_source("webhook");
  v1::RegisterSourceResponse registered;
  grpc::ClientContext source_call;
  ASSERT_TRUE(server.admin->RegisterSource(&source_call, source, &registered).ok());
  EXPECT_EQ(server.Signal(signals).statuses_size(), 0);
  v1::CrawlResult result;
  result.set_url(TestServer::Url(50));
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  result.set_etag("\"e\"");
  EXPECT_EQ(server.Report(result).statuses_size(), 0);
  const v1::NextResponse next = server.Next(1);
  ASSERT_EQ(next.assignments_size(), 1);
  const std::string leased = next.assignments(0).url();
  v1::RunEpochResponse epoch;
  grpc::ClientContext epoch_call;
  ASSERT_TRUE(server.admin->RunEpoch(&epoch_call, {}, &epoch).ok());
  v1::SetCrawlRateRequest rate;
  rate.set_crawl_rate_per_second(33);
  v1::SetCrawlRateResponse rate_set;
  grpc::ClientContext rate_call;
  ASSERT_TRUE(server.admin->SetCrawlRate(&rate_call, rate, &rate_set).ok());
  v1::SetPolicyRequest policy;
  policy.set_policy("greedy");
  v1::SetPolicyResponse policy_set;
  grpc::ClientContext policy_call;
  ASSERT_TRUE(server.admin->SetPolicy(&policy_call, policy, &policy_set).ok());
  v1::SetHostPolitenessRequest host;
  host.set_host("host7.test");
  host.set_max_in_flight(9);
  v1::SetHostPolitenessResponse host_set;
  grpc::ClientContext host_call;
  ASSERT_TRUE(server.admin->SetHostPoliteness(&host_call, host, &host_set).ok());

  // A restart with another number of shards moves every slot.
  for (const int shards : {1, 3, 2}) {
    server.config.shards = shards;
    server.Restart();
    EXPECT_EQ(server.info.pages, 100u);
    const v1::GetStatisticsResponse statistics = server.Statistics();
    EXPECT_EQ(statistics.schedule().crawl_rate_per_second(), 33);
    EXPECT_EQ(statistics.schedule().policy(), "greedy");
    EXPECT_EQ(statistics.schedule().open_leases(), 1u);
    EXPECT_EQ(statistics.server().shards(), static_cast<uint32_t>(shards));
    const v1::GetPageResponse page = server.Get(leased);
    EXPECT_EQ(page.page().lease().lease_id(), next.assignments(0).lease_id());
    EXPECT_EQ(page.page().lease().worker(), "tester");
    EXPECT_EQ(server.Get(TestServer::Url(50)).page().etag(), "\"e\"");
    EXPECT_EQ(server.Get(TestServer::Url(7)).explanation().host_state().max_in_flight(), 9u);
    const v1::Page signalled = server.Get(TestServer::Url(1)).page();
    ASSERT_EQ(signalled.pending_signals_size(), 1);
    EXPECT_EQ(signalled.pending_signals(0).source(), "webhook");
  }
  // The worker is not affected by the restart.
  v1::CrawlResult late;
  late.set_lease_id(next.assignments(0).lease_id());
  late.set_outcome(v1::CRAWL_OUTCOME_UNCHANGED);
  EXPECT_EQ(server.Report(late).statuses_size(), 0);
  EXPECT_EQ(server.Statistics().schedule().open_leases(), 0u);
}

// A host keeps its delay over a restart, whether the lease is open or answered. The time since the
// last commit does not matter.
TEST(Restart, LeavesHostsAloneForTheRestOfTheirDelays) {
  for (const Duration delay : {Duration::Seconds(9), Duration::Hours(1)}) {
    TestServer server([&](ServerConfig* config) {
      config->durability = "wal";
      config->politeness.min_delay = delay;
    });
    server.UpsertMany(40, 20);
    const v1::NextResponse next = server.Next(20);
    ASSERT_GT(next.assignments_size(), 1);
    std::map<std::string, v1::HostState> before;
    for (int i = 0; i < next.assignments_size(); ++i) {
      const std::string& url = next.assignments(i).url();
      if (i % 2 == 0) {
        v1::CrawlResult result;
        result.set_lease_id(next.assignments(i).lease_id());
        result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
        EXPECT_EQ(server.Report(result).statuses_size(), 0);
      }
      before[url] = server.Get(url).explanation().host_state();
      EXPECT_TRUE(before[url].has_next_allowed_time()) << url;
    }
    for (const int shards : {1, 3, 3, 2}) {
      server.config.shards = shards;
      server.Restart();
      for (const auto& [url, host] : before) {
        const v1::HostState now = server.Get(url).explanation().host_state();
        EXPECT_EQ(now.next_allowed_time().seconds(), host.next_allowed_time().seconds()) << url;
        EXPECT_EQ(now.next_allowed_time().nanos(), host.next_allowed_time().nanos()) << url;
        EXPECT_EQ(now.in_flight(), host.in_flight()) << url;
      }
    }
  }
}

// The worker of a removed page is still fetching it.
TEST(Restart, AHostIsBusyWithAPageThatWasRemoved) {
  TestServer server([](ServerConfig* config) { config->politeness.max_in_flight = 1; });
  server.UpsertMany(2, 1);
  const v1::NextResponse next = server.Next(1);
  ASSERT_EQ(next.assignments_size(), 1);
  const std::string removed = next.assignments(0).url();
  const std::string other = TestServer::Url(removed == TestServer::Url(0, 1) ? 1 : 0, 1);
  server.Remove(removed);
  const auto in_flight = [&] { return server.Get(other).explanation().host_state().in_flight(); };
  EXPECT_EQ(in_flight(), 1u);
  for (const int shards : {1, 3, 3, 2}) {
    server.config.shards = shards;
    server.Restart();
    EXPECT_EQ(in_flight(), 1u);
    EXPECT_EQ(server.Statistics().schedule().open_leases(), 1u);
    EXPECT_THAT(server.Get(other).explanation().why(), HasSubstr("in flight"));
  }
  v1::CrawlResult late;
  late.set_lease_id(next.assignments(0).lease_id());
  late.set_outcome(v1::CRAWL_OUTCOME_UNCHANGED);
  EXPECT_EQ(server.Report(late).statuses_size(), 1);
  EXPECT_EQ(in_flight(), 0u);
  server.Restart();
  EXPECT_EQ(in_flight(), 0u);
  EXPECT_EQ(server.Statistics().schedule().open_leases(), 0u);
}

TEST(Restart, StaysPausedForTheSameReason) {
  TestServer server;
  server.UpsertMany(1);
  for (const std::string reason : {"moving the store", ""}) {
    v1::PauseRequest pause;
    pause.set_reason(reason);
    v1::PauseResponse paused;
    grpc::ClientContext pause_call;
    ASSERT_TRUE(server.admin->Pause(&pause_call, pause, &paused).ok());
    for (int start = 0; start < 2; ++start) {
      EXPECT_TRUE(server.Statistics().schedule().paused());
      EXPECT_EQ(server.Statistics().schedule().pause_reason(), reason);
      EXPECT_THAT(server.Get(TestServer::Url(0)).explanation().why(),
                  StartsWith(reason.empty() ? "assignments are paused; "
                                            : "assignments are paused: " + reason + "; "));
      server.Restart();
    }
  }
  v1::ResumeResponse resumed;
  grpc::ClientContext resume_call;
  ASSERT_TRUE(server.admin->Resume(&resume_call, {}, &resumed).ok());
  server.Restart();
  EXPECT_FALSE(server.Statistics().schedule().paused());
  EXPECT_EQ(server.Statistics().schedule().pause_reason(), "");
}

TEST(Restart, GoesOnCountingEpochs) {
  TestServer server;
  server.UpsertMany(10);
  const auto run = [&server] {
    v1::RunEpochResponse epoch;
    grpc::ClientContext call;
    EXPECT_TRUE(server.admin->RunEpoch(&call, {}, &epoch).ok());
    return epoch.epoch();
  };
  EXPECT_EQ(run(), 1u);
  EXPECT_EQ(run(), 2u);
  uint64_t number = 2;
  for (const int shards : {1, 3, 2}) {
    server.config.shards = shards;
    server.Restart();
    EXPECT_EQ(server.Statistics().pages().epoch(), number);
    EXPECT_FALSE(server.Statistics().pages().has_last_epoch_time());
    EXPECT_EQ(run(), ++number);
    EXPECT_EQ(server.Statistics().pages().epoch(), number);
  }
}

// The URLs of these pages are no longer canonical, or belong to another host now. The pages keep
// their stored names. Each page is handed out, and its result is accepted.
TEST(Restart, GoesOnWithPagesThatEarlierReleasesNamedOtherwise) {
  const std::map<std::string, std::string> host_of = {{"http://a.test/?q='x'", "a.test"},
                                                      {"http://34.90.12.7.bc.test/", "34.90.12.7"},
                                                      {"http://300.1.1.1/", "300.1.1.1"},
                                                      {"http://b.test./", "b.test."}};
  TestServer server([&](ServerConfig* config) {
    const StatusOr<std::unique_ptr<Store>> store = Store::Open(config->data_dir, {});
    ASSERT_TRUE(store.ok()) << store.status();
    std::vector<PageRecord> pages;
    for (const auto& [url, host] : host_of) {
      PageRecord& page = pages.emplace_back();
      page.key = {"DEFAULT", url};
      page.host = host;
      page.number = MakePageNumber(SlotOfHost(host), 1);
    }
    Changes changes;
    for (const PageRecord& page : pages) {
      changes.pages.push_back({.record = &page, .created = true});
    }
    ASSERT_TRUE((*store)->Commit(changes).ok());
    ASSERT_TRUE((*store)->Close().ok());
  });
  ASSERT_EQ(server.info.pages, host_of.size());
  std::set<std::string> fetched;
  ASSERT_TRUE(Eventually([&] {
    const v1::NextResponse next = server.Next(4);
    for (const v1::Assignment& assignment : next.assignments()) {
      v1::CrawlResult result;
      result.set_lease_id(assignment.lease_id());
      result.set_url(assignment.url());
      result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
      EXPECT_THAT(Described(server.Report(result)), testing::IsEmpty());
      fetched.insert(assignment.url());
    }
    return fetched.size() == host_of.size();
  }));
  EXPECT_EQ(server.Statistics().schedule().open_leases(), 0u);
  for (const auto& [url, host] : host_of) EXPECT_TRUE(fetched.contains(url)) << url;
}

// The store remembers results, so that neither an applied nor a late result counts twice if it is
// sent again. This is true even if only the lease identifies the page, and if the number of shards
// has changed.
TEST(Restart, KnowsAResultThatIsSentAgain) {
  TestServer server([](ServerConfig* config) { config->durability = "wal"; });
  server.UpsertMany(20);
  const v1::NextResponse next = server.Next(2);
  ASSERT_EQ(next.assignments_size(), 2);
  v1::CrawlResult taken;
  taken.set_lease_id(next.assignments(0).lease_id());
  taken.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  ToProto(server.clock.Now(), taken.mutable_fetch_time());
  EXPECT_EQ(server.Report(taken).statuses_size(), 0);
  v1::CrawlResult late = taken;
  late.set_lease_id(next.assignments(1).lease_id());
  TestWorker worker(server);
  v1::CrawlRequest returns;
  returns.mutable_returned_leases()->add_lease_ids(late.lease_id());
  ASSERT_TRUE(worker.Write(returns));
  EXPECT_EQ(worker.Read().return_ack().item_count(), 1u);
  EXPECT_TRUE(worker.End().ok());
  for (const int shards : {1, 3, 1}) {
    server.config.shards = shards;
    server.Restart();
    EXPECT_EQ(server.Statistics().schedule().open_leases(), 0u);
    EXPECT_THAT(Described(server.Report(taken)), ElementsAre("0 DUPLICATE"));
    const std::string outcome =
        shards == 1 && late.has_fetch_time() ? "0 OBSERVED_ONLY" : "0 DUPLICATE";
    EXPECT_THAT(Described(server.Report(late)), ElementsAre(outcome));
    late.clear_fetch_time();
  }
  EXPECT_EQ(server.Get(next.assignments(0).url()).page().crawls(), 1u);
  v1::CrawlResult never;
  never.set_lease_id(taken.lease_id() + (uint64_t{50} << 44));
  never.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  EXPECT_THAT(Described(server.Report(never)), ElementsAre(HasSubstr("UNKNOWN_LEASE")));
}

// A client sends a signal again if the acknowledgement was lost, perhaps because the server
// crashed.
TEST(Restart, KnowsASignalThatIsSentAgain) {
  TestServer server;
  server.UpsertMany(3);
  v1::SignalChangesRequest signals;
  for (int i = 0; i < 3; ++i) {
    signals.add_signals()->set_url(TestServer::Url(i));
    signals.mutable_signals(i)->set_source("cdn");
    signals.mutable_signals(i)->set_signal_id("purge 17");
  }
  EXPECT_THAT(Described(server.Signal(signals)), testing::IsEmpty());
  const std::string page = server.Get(TestServer::Url(1)).page().DebugString();
  for (int i = 0; i < 3; ++i) {
    server.config.shards = 1 + i % 2;
    server.Restart();
    EXPECT_THAT(Described(server.Signal(signals)),
                testing::ElementsAre("0 DUPLICATE", "1 DUPLICATE", "2 DUPLICATE"));
  }
  EXPECT_EQ(server.Get(TestServer::Url(1)).page().DebugString(), page);
}

TEST(Restart, NeverGivesALeaseIdTwice) {
  TestServer server;
  server.UpsertMany(20);
  uint64_t last = 0;
  for (int run = 0; run < 3; ++run) {
    const v1::NextResponse next = server.Next(5);
    ASSERT_GT(next.assignments_size(), 0);
    for (const v1::Assignment& assignment : next.assignments()) {
      EXPECT_GT(assignment.lease_id(), last);
    }
    for (const v1::Assignment& assignment : next.assignments()) {
      last = std::max(last, assignment.lease_id());
    }
    server.Restart();
  }
}

TEST(Restart, EndsStreamsInOrder) {
  TestServer server;
  server.UpsertMany(50);
  TestWorker worker(server);
  worker.Grant(1000);
  (void)worker.ReadAssignments(3);
  grpc::ClientContext call;
  const auto idle = server.ingest->SignalChanges(&call);
  std::future<Status> stopped = std::async(std::launch::async, [&] { return server.Stop(); });
  bool drained = false;
  while (worker.open()) {
    drained |= worker.Read().notice().kind() == v1::NOTICE_KIND_DRAINING;
  }
  EXPECT_TRUE(drained);
  v1::SignalChangesResponse response;
  EXPECT_FALSE(idle->Read(&response));
  EXPECT_EQ(idle->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(stopped.get().ok());
  server.Start();
  EXPECT_EQ(server.info.pages, 50u);
}

// --- Overload

v1::SignalChangesRequest Signals(int first, int count) {
  v1::SignalChangesRequest request;
  for (int i = first; i < first + count; ++i) {
    v1::ChangeSignal* signal = request.add_signals();
    signal->set_url(TestServer::Url(i));
    signal->set_source("cdn");
  }
  return request;
}

// Returns the number of events that wait for their shard.
size_t WaitingEvents(TestServer& server) {
  httplib::Client http("http://" + server.info.http_address);
  return nlohmann::json::parse(http.Get("/status.json")->body)["waiting_events"];
}

// A disk whose syncs take as long as the test wants. Thread-safe.
class Stall {
 public:
  explicit Stall(FaultyEnv* faulty) {
    faulty->OnLogSync([state = state_] {
      if (state->stalling) state->stalled = true;
      WaitUntil([&] { return !state->stalling; });
    });
  }
  void Begin() { state_->stalling = true; }
  void End() { state_->stalling = false; }
  [[nodiscard]] bool stalled() const { return state_->stalled; }

 private:
  struct State {
    std::atomic<bool> stalling{false};
    std::atomic<bool> stalled{false};
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// Ends a stall when the scope ends, before the destructors of variables declared earlier.
// Thread-compatible.
class StallGuard {
 public:
  explicit StallGuard(Stall* stall) : stall_(stall) {}
  ~StallGuard() { stall_->End(); }
  StallGuard(const StallGuard&) = delete;
  StallGuard& operator=(const StallGuard&) = delete;

 private:
  Stall* const stall_;
};

TEST(Overload, HoldsBackThenRefusesWithADelay) {
  FaultyEnv faulty(1);
  Stall stall(&faulty);
  TestServer server(
      [](ServerConfig* config) {
        config->durability = "sync";
        config->mailbox_events = 50;
        config->mailbox_patience = Duration::Millis(100);
        config->crawl_rate = Rate();
      },
      faulty.env());
  server.UpsertMany(1000);
  stall.Begin();
  const auto send = [&](int first, int count) {
    return std::async(std::launch::async,
                      [&server, first, count] { return server.Signal(Signals(first, count)); });
  };
  std::future<v1::BatchAck> committing;
  std::future<v1::BatchAck> waiting;
  std::future<v1::BatchAck> over;
  const StallGuard guard(&stall);
  committing = send(0, 10);
  ASSERT_TRUE(Eventually([&] { return stall.stalled(); }));
  waiting = send(100, 40);
  ASSERT_TRUE(Eventually([&] { return WaitingEvents(server) == 40; }));
  over = send(200, 30);
  ASSERT_TRUE(Eventually([&] { return WaitingEvents(server) == 70; }));
  const Instant full = server.clock.Now();
  // If more than one and a half times the limit waits, the server refuses a client's items
  // immediately.
  const v1::BatchAck refused = server.Signal(Signals(300, 40));
  EXPECT_EQ(refused.statuses_size(), 40);
  for (const v1::ItemStatus& status : refused.statuses()) {
    EXPECT_EQ(status.error().code(), v1::ERROR_CODE_RESOURCE_EXHAUSTED);
    EXPECT_TRUE(status.error().retryable());
    EXPECT_GT(status.error().retry_after().seconds(), 0);
  }
  ASSERT_TRUE(Eventually([&] { return server.clock.Now() > full + Duration::Millis(150); }));
  stall.End();
  EXPECT_EQ(committing.get().statuses_size(), 0);
  EXPECT_EQ(waiting.get().statuses_size(), 0);
  // These items were accepted although the limit was exceeded. They are refused now, because they
  // waited too long.
  const v1::BatchAck late = over.get();
  EXPECT_EQ(late.statuses_size(), 30);
  EXPECT_EQ(late.statuses(0).error().code(), v1::ERROR_CODE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(server.Signal(Signals(300, 40)).statuses_size(), 0);
}

TEST(Overload, SharesOneSyncAmongAllThatWait) {
  FaultyEnv faulty(1);
  Stall stall(&faulty);
  TestServer server(
      [](ServerConfig* config) {
        config->durability = "sync";
        config->crawl_rate = Rate();
      },
      faulty.env());
  server.UpsertMany(1000);
  stall.Begin();
  std::vector<std::future<v1::BatchAck>> acks;
  const StallGuard guard(&stall);
  const auto send = [&](int first) {
    acks.push_back(std::async(std::launch::async,
                              [&server, first] { return server.Signal(Signals(first, 100)); }));
  };
  send(0);
  ASSERT_TRUE(Eventually([&] { return stall.stalled(); }));
  for (int i = 1; i < 8; ++i) send(100 * i);
  ASSERT_TRUE(Eventually([&] { return WaitingEvents(server) == 700; }));
  const uint64_t syncs = faulty.log_syncs();
  stall.End();
  for (auto& ack : acks) EXPECT_EQ(ack.get().statuses_size(), 0);
  EXPECT_LE(faulty.log_syncs() - syncs, 2u);
}

TEST(Overload, RefusesMoreWorkersThanItHasRoomFor) {
  TestServer server([](ServerConfig* config) { config->max_workers = 1; });
  TestWorker worker(server);
  grpc::ClientContext call;
  const auto stream = server.scheduler->Crawl(&call);
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker("second");
  v1::CrawlResponse response;
  ASSERT_TRUE(stream->Write(hello));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.notice().kind(), v1::NOTICE_KIND_REFUSED);
  EXPECT_EQ(response.notice().error().code(), v1::ERROR_CODE_RESOURCE_EXHAUSTED);
  EXPECT_TRUE(response.notice().error().retryable());
  // Once there is room, the same stream can try again.
  EXPECT_TRUE(worker.End().ok());
  ASSERT_TRUE(Eventually([&] { return server.Statistics().server().workers() == 0; }));
  ASSERT_TRUE(stream->Write(hello));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.notice().kind(), v1::NOTICE_KIND_WELCOME);
  call.TryCancel();
}

// --- A disk that fails

TEST(BrokenDisk, AcknowledgesNothingMoreAndSaysSo) {
  FaultyEnv faulty(1);
  TestServer server(
      [](ServerConfig* config) {
        config->durability = "sync";
        config->crawl_rate = Rate();
        config->log_level = "error";
      },
      faulty.env());
  server.UpsertMany(10);
  EXPECT_EQ(HealthOf(server), 1);
  testing::internal::CaptureStderr();
  faulty.FailLogSyncAt(1);
  v1::UpsertPagesRequest more;
  more.add_pages()->set_url("http://late.test/");
  EXPECT_THAT(Described(server.Upsert(more)),
              ElementsAre(HasSubstr("0 REFUSED UNAVAILABLE : the store cannot be written")));
  EXPECT_EQ(HealthOf(server), 2);
  // Log, metrics and probes all give the reason.
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      HasSubstr("shard 0 refuses changes from now on: UNAVAILABLE: writing: IO error: injected"));
  httplib::Client http("http://" + server.info.http_address);
  const std::string metrics = http.Get("/metrics")->body;
  EXPECT_THAT(metrics, HasSubstr("freshet_store_writable 0\n"));
  EXPECT_THAT(metrics, HasSubstr("freshet_ready 0\n"));
  EXPECT_THAT(metrics, ContainsRegex("freshet_store_failure_info.reason=.write_failed.. 1\n"));
  EXPECT_EQ(http.Get("/readyz")->status, 503);
  EXPECT_EQ(http.Get("/readyz")->body, "the store has failed\n");
  EXPECT_EQ(http.Get("/healthz")->status, 503);
  EXPECT_EQ(server.Upsert(more).statuses_size(), 1);
  EXPECT_NE(server.Statistics().store().write_error(), "");
  // Reads still work.
  EXPECT_EQ(server.Get(TestServer::Url(3)).page().url(), TestServer::Url(3));
  EXPECT_FALSE(server.Stop().ok());
  faulty.Crash();
  server.Start();
  EXPECT_GE(server.info.pages, 10u);
  EXPECT_EQ(HealthOf(server), 1);
  EXPECT_EQ(server.Upsert(more).statuses_size(), 0);
}

// A background flush fails: the server notices although no client commits anything.
TEST(BrokenDisk, IsNoticedWhileNobodyWrites) {
  FaultyEnv faulty(1);
  TestServer server([](ServerConfig* config) { config->crawl_rate = Rate(); }, faulty.env());
  server.UpsertMany(10);
  faulty.FailAt(1);
  v1::CreateCheckpointRequest request;
  request.set_name("c");
  v1::CreateCheckpointResponse response;
  grpc::ClientContext call;
  EXPECT_FALSE(server.admin->CreateCheckpoint(&call, request, &response).ok());
  EXPECT_TRUE(Eventually([&] { return HealthOf(server) == 2; }, Duration::Seconds(10)));
  EXPECT_NE(server.Statistics().store().write_error(), "");
}

}  // namespace
}  // namespace freshet
