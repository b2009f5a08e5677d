// Tests that the cap on crawls of a host is kept, even if servers are killed while they assign its
// pages.
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "freshet/v1/admin.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "freshet/v1/scheduler.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sync/mutex.h"
#include "tests/crash/daemon.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

constexpr int kHosts = 8;
constexpr int kCap = 6;

std::string HostOf(const std::string& url) { return url.substr(7, url.find('/', 7) - 7); }

// Counts assignments by host, over all servers of the test. Thread-safe.
class Tally {
 public:
  void Add(const v1::AssignmentBatch& batch) {
    const MutexLock lock(mutex_);
    for (const auto& assignment : batch.assignments()) ++by_host_[HostOf(assignment.url())];
    changed_.NotifyAll();
  }
  // Waits for `count` assignments, at most a minute.
  void Await(int count) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    const MutexLock lock(mutex_);
    while (Sum() < count && std::chrono::steady_clock::now() < end) changed_.WaitUntil(mutex_, end);
  }
  [[nodiscard]] std::map<std::string, int> by_host() {
    const MutexLock lock(mutex_);
    return by_host_;
  }

 private:
  int Sum() const FRESHET_REQUIRES(mutex_) {
    int sum = 0;
    for (const auto& [host, count] : by_host_) sum += count;
    return sum;
  }
  Mutex mutex_;
  Condition changed_;
  std::map<std::string, int> by_host_ FRESHET_GUARDED_BY(mutex_);
};

// Takes pages until the server is gone. Reports every second page.
void Work(const std::shared_ptr<grpc::Channel>& channel, const std::string& name, Tally& tally) {
  const auto scheduler = v1::SchedulerService::NewStub(channel);
  grpc::ClientContext call;
  const auto stream = scheduler->Crawl(&call);
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker(name);
  v1::CrawlRequest credit;
  credit.mutable_credit()->set_assignments(100);
  if (!stream->Write(hello) || !stream->Write(credit)) {
    (void)stream->Finish();
    return;
  }
  v1::CrawlResponse response;
  uint64_t sequence = 0;
  while (stream->Read(&response)) {
    tally.Add(response.assignments());
    v1::CrawlRequest report;
    report.mutable_results()->set_sequence(++sequence);
    for (int i = 0; i < response.assignments().assignments_size(); i += 2) {
      v1::CrawlResult& result = *report.mutable_results()->add_results();
      result.set_lease_id(response.assignments().assignments(i).lease_id());
      result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
    }
    if (report.results().results_size() > 0) (void)stream->Write(report);
  }
  (void)stream->Finish();
}

std::string AddPages(const std::shared_ptr<grpc::Channel>& channel) {
  const auto pages = v1::PagesService::NewStub(channel);
  grpc::ClientContext call;
  const auto stream = pages->UpsertPages(&call);
  v1::UpsertPagesRequest request;
  for (int i = 0; i < kHosts * 50; ++i) {
    request.add_pages()->set_url("http://host" + std::to_string(i % kHosts) + ".test/" +
                                 std::to_string(i));
  }
  v1::UpsertPagesResponse response;
  if (!stream->Write(request) || !stream->Read(&response)) return "no answer";
  stream->WritesDone();
  const grpc::Status status = stream->Finish();
  return status.ok() && response.ack().statuses_size() == 0 ? "" : status.error_message();
}

TEST(KilledServer, KeepsTheCapOfEachHost) {
  const TempDir dir;
  std::ofstream(dir / "config.yaml")
      << "politeness: { min_delay: 0, max_in_flight: 0, max_crawls: " << kCap
      << "/1d }\ncrawl_rate: 60\n";
  Tally tally;
  constexpr int kKills = 6;
  crash::Daemon daemon(dir / "data", dir / "log");
  for (int run = 0; run <= kKills; ++run) {
    daemon.Spawn({"--config", dir / "config.yaml", "--durability", "wal", "--shards",
                  std::to_string(1 + run % 3)});
    ASSERT_EQ(daemon.AwaitReady(), "");
    if (run == 0) {
      ASSERT_EQ(AddPages(daemon.channel()), "");
    }
    std::vector<std::thread> workers;
    for (int i = 0; i < 3; ++i) {
      workers.emplace_back(
          [&, i, channel = daemon.channel()] { Work(channel, "w" + std::to_string(i), tally); });
    }
    // The next kill leaves leases open that are never answered. They count against the cap, too.
    if (run < kKills) tally.Await(5 * (run + 1));
    if (run == kKills) {
      const auto admin = v1::AdminService::NewStub(daemon.channel());
      for (int host = 0; host < kHosts; ++host) {
        v1::GetHostRequest request;
        request.set_host("host" + std::to_string(host) + ".test");
        v1::GetHostResponse response;
        (void)Eventually([&] {
          grpc::ClientContext call;
          EXPECT_TRUE(admin->GetHost(&call, request, &response).ok());
          return HasFailure() || response.host_state().crawls_counted() >= kCap;
        });
        EXPECT_EQ(response.host_state().crawls_counted(), uint64_t{kCap}) << request.host();
      }
    }
    EXPECT_EQ(daemon.Kill(), "");
    for (std::thread& worker : workers) worker.join();
  }
  const std::map<std::string, int> by_host = tally.by_host();
  EXPECT_EQ(by_host.size(), size_t{kHosts});
  for (const auto& [host, assignments] : by_host) EXPECT_LE(assignments, kCap) << host;
}

}  // namespace
}  // namespace freshet
