// Tests that a stopping server hands its workers over. It accepts the results that workers have,
// its streams end with a status that tells clients to try again, and the next server knows their
// leases.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "sync/mutex.h"
#include "tests/grpc/test_server.h"
#include "tests/support/relay.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using std::chrono::milliseconds;

// One attempt of a worker: a Crawl stream from its beginning to its end.
class CrawlTry final : public grpc::ClientBidiReactor<v1::CrawlRequest, v1::CrawlResponse> {
 public:
  struct Tally {
    uint64_t acknowledged = 0;
    uint64_t refused = 0;
    uint64_t in_hand = 0;
    uint64_t drains = 0;  // notices that the server drains
  };
  // State that outlives an attempt: unacknowledged results. Thread-safe.
  struct Hand {
    [[nodiscard]] Tally Count() FRESHET_EXCLUDES(mutex) {
      const MutexLock lock(mutex);
      tally.in_hand = results.size();
      return tally;
    }
    Mutex mutex;
    std::map<uint64_t, v1::CrawlResult> results FRESHET_GUARDED_BY(mutex);  // by lease
    Tally tally FRESHET_GUARDED_BY(mutex);
  };

  CrawlTry(const std::shared_ptr<grpc::Channel>& channel, const std::string& name, Hand& hand,
           std::function<void(const grpc::Status&)> done)
      : hand_(hand), done_(std::move(done)) {
    hello_.mutable_hello()->set_worker(name);
    v1::SchedulerService::NewStub(channel)->async()->Crawl(&context_, this);
  }
  void Begin() {
    StartRead(&response_);
    {
      const MutexLock lock(hand_.mutex);
      writing_ = true;
      StartWrite(&hello_);
    }
    StartCall();
  }
  void Cancel() { context_.TryCancel(); }

 private:
  void OnWriteDone(bool ok) override {
    const MutexLock lock(hand_.mutex);
    writing_ = false;
    if (ok) WriteNext();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    const MutexLock lock(hand_.mutex);
    for (const v1::Assignment& assignment : response_.assignments().assignments()) {
      v1::CrawlResult result;
      result.set_lease_id(assignment.lease_id());
      result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
      hand_.results[assignment.lease_id()] = result;
      ++credit_;
    }
    if (response_.has_result_ack()) {
      hand_.tally.refused += static_cast<uint64_t>(
          std::count_if(response_.result_ack().statuses().begin(),
                        response_.result_ack().statuses().end(), [](const v1::ItemStatus& status) {
                          return status.outcome() == v1::ITEM_OUTCOME_REFUSED;
                        }));
      for (const uint64_t lease : sent_) hand_.results.erase(lease);
      hand_.tally.acknowledged += sent_.size();
      sent_.clear();
    }
    if (response_.notice().kind() == v1::NOTICE_KIND_WELCOME) welcome_ = true;
    if (response_.notice().kind() == v1::NOTICE_KIND_DRAINING) hand_.tally.drains = 1;
    StartRead(&response_);
    if (!writing_) WriteNext();
  }
  // An attempt that was never welcomed may end with any status. When a server stops, gRPC cancels
  // calls that it has not passed to the server yet.
  void OnDone(const grpc::Status& status) override {
    bool welcome = false;
    {
      const MutexLock lock(hand_.mutex);
      welcome = welcome_;
    }
    done_(welcome ? status : grpc::Status(grpc::StatusCode::UNAVAILABLE, "never begun"));
  }

  // Sends results first. When there are none, grants credit for as many pages as were taken. Only
  // one message is in flight at a time.
  void WriteNext() FRESHET_REQUIRES(hand_.mutex) {
    request_.Clear();
    if (sent_.empty() && !hand_.results.empty()) {
      for (const auto& [lease, result] : hand_.results) {
        sent_.push_back(lease);
        *request_.mutable_results()->add_results() = result;
      }
    } else if (credit_ > 0) {
      request_.mutable_credit()->set_assignments(credit_);
      credit_ = 0;
    } else {
      return;
    }
    writing_ = true;
    StartWrite(&request_);
  }

  Hand& hand_;
  const std::function<void(const grpc::Status&)> done_;
  grpc::ClientContext context_;
  v1::CrawlRequest hello_;
  v1::CrawlResponse response_;
  v1::CrawlRequest request_ FRESHET_GUARDED_BY(hand_.mutex);
  std::vector<uint64_t> sent_ FRESHET_GUARDED_BY(hand_.mutex);
  uint32_t credit_ FRESHET_GUARDED_BY(hand_.mutex) = 2;
  bool writing_ FRESHET_GUARDED_BY(hand_.mutex) = false;
  bool welcome_ FRESHET_GUARDED_BY(hand_.mutex) = false;
};

// Opens streams again and again, as long as the test wants.
class Worker {
 public:
  Worker(std::shared_ptr<grpc::Channel> channel, std::string name)
      : channel_(std::move(channel)), name_(std::move(name)) {}

  // Must be called on the same thread as Retry().
  void Try() {
    over_ = false;
    try_ = std::make_unique<CrawlTry>(channel_, name_, hand_, [this](const grpc::Status& status) {
      {
        const MutexLock lock(mutex_);
        ends_.push_back(status.error_code());
      }
      over_ = true;
    });
    try_->Begin();
  }
  // Starts the next attempt if the last one has ended.
  void Retry() {
    if (over_) Try();
  }
  void Cancel() { try_->Cancel(); }
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] std::vector<grpc::StatusCode> ends() {
    const MutexLock lock(mutex_);
    return ends_;
  }
  [[nodiscard]] CrawlTry::Hand& hand() { return hand_; }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::string name_;
  CrawlTry::Hand hand_;
  std::unique_ptr<CrawlTry> try_;
  std::atomic<bool> over_ = true;
  Mutex mutex_;
  std::vector<grpc::StatusCode> ends_ FRESHET_GUARDED_BY(mutex_);
};

class Fleet {
 public:
  Fleet(const std::string& address, int workers) {
    constexpr int kWorkersOfAConnection = 20;
    for (int i = 0; i < workers; ++i) {
      if (i % kWorkersOfAConnection == 0) channels_.push_back(OwnChannel(address));
      workers_.push_back(std::make_unique<Worker>(channels_.back(), "worker" + std::to_string(i)));
    }
    thread_ = std::thread([this] {
      while (!ended_) {
        for (const auto& worker : workers_) worker->Retry();
        LetPass(Duration::Millis(100));
      }
    });
  }
  ~Fleet() {
    ended_ = true;
    thread_.join();
    for (const auto& worker : workers_) worker->Cancel();
    for (const auto& worker : workers_) WaitUntil([&] { return worker->over(); });
  }
  [[nodiscard]] const std::vector<std::unique_ptr<Worker>>& workers() const { return workers_; }
  // Returns the sums over all workers.
  [[nodiscard]] CrawlTry::Tally Count() const {
    CrawlTry::Tally all;
    for (const auto& worker : workers_) {
      const CrawlTry::Tally its = worker->hand().Count();
      all.acknowledged += its.acknowledged;
      all.refused += its.refused;
      all.in_hand += its.in_hand;
      all.drains += its.drains;
    }
    return all;
  }

 private:
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

uint64_t CrawlsOfAllPages(TestServer& server) {
  uint64_t crawls = 0;
  grpc::ClientContext call;
  v1::ExportPagesResponse response;
  const auto stream = server.pages->ExportPages(&call, {});
  while (stream->Read(&response)) {
    for (const v1::PageRecord& record : response.pages()) crawls += record.page().crawls();
  }
  EXPECT_TRUE(stream->Finish().ok());
  return crawls;
}

TEST(Drain, AThousandWorkersGoOnElsewhereWithoutALostResult) {
  constexpr int kWorkers = 1000;
  TestServer server([](ServerConfig* config) {
    config->crawl_rate = Rate::PerSecond(3000);
    config->shutdown_grace = Duration::Seconds(1);
  });
  server.UpsertMany(20'000, 500);
  Relay relay(server.info.grpc_address);
  Fleet fleet(relay.address(), kWorkers);
  // Each worker has been welcomed and works.
  ASSERT_TRUE(Eventually([&] {
    const auto& workers = fleet.workers();
    return std::all_of(workers.begin(), workers.end(),
                       [](const auto& worker) { return worker->hand().Count().acknowledged > 0; });
  }));
  for (int round = 0; round < 2; ++round) {
    // The relay disconnects from the server, as a load balancer does when the health service
    // reports that the server is not serving.
    relay.Switch("");
    ASSERT_TRUE(server.Stop().ok());
    server.Start();
    const uint64_t before = fleet.Count().acknowledged;
    relay.Switch(server.info.grpc_address);
    EXPECT_TRUE(Eventually([&] { return fleet.Count().acknowledged > before + 3000; }));
  }
  for (const auto& worker : fleet.workers()) {
    for (const grpc::StatusCode end : worker->ends()) {
      EXPECT_TRUE(end == grpc::StatusCode::UNAVAILABLE || end == grpc::StatusCode::OK) << end;
    }
  }
  EXPECT_EQ(fleet.Count().drains, static_cast<uint64_t>(kWorkers)) << "each was told";
  // Workers report the pages that they have, and the server hands out no new ones.
  grpc::ClientContext call;
  v1::SetCrawlRateRequest none;
  none.set_crawl_rate_per_second(0);
  v1::SetCrawlRateResponse response;
  ASSERT_TRUE(server.admin->SetCrawlRate(&call, none, &response).ok());
  EXPECT_TRUE(Eventually([&] { return fleet.Count().in_hand == 0; }));
  EXPECT_EQ(fleet.Count().refused, 0u);
  // A result whose acknowledgement was lost in the stop was sent again, and counts once. So the
  // number of crawls is the number of acknowledged results.
  EXPECT_EQ(CrawlsOfAllPages(server), fleet.Count().acknowledged);
}

}  // namespace
}  // namespace freshet
