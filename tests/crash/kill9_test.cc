// kill -9 in the middle of everything, several times over: whatever was acknowledged is there after
// the next start.
#include <grpcpp/grpcpp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "freshet/v1/scheduler.grpc.pb.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

// A freshetd of its own process. Thread-compatible.
class Daemon {
 public:
  explicit Daemon(std::string data_dir) : data_dir_(std::move(data_dir)) {}
  ~Daemon() {
    if (pid_ > 0) Kill();
  }

  // Starts it and waits for its ready line.
  void Start() {
    int out[2];
    ASSERT_EQ(pipe(out), 0);
    pid_ = fork();
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      close(out[0]);
      close(out[1]);
      const char* program = FRESHET_BIN_DIR "/freshetd";
      execl(program, program, "--data-dir", data_dir_.c_str(), "--listen", "127.0.0.1:0",
            "--http-listen", "127.0.0.1:0", "--crawl-rate", "300", "--log-level", "warn", nullptr);
      _exit(127);
    }
    close(out[1]);
    std::string line;
    char c = 0;
    while (read(out[0], &c, 1) == 1 && c != '\n') line.push_back(c);
    close(out[0]);
    char address[100] = {};
    ASSERT_EQ(std::sscanf(line.c_str(), "ready grpc=%99s http=%*s pages=%lu", address, &pages_), 2)
        << line;
    channel_ = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  }
  void Kill() {
    kill(pid_, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(pid_, &status, 0), pid_);
    EXPECT_TRUE(WIFSIGNALED(status));
    pid_ = -1;
  }
  // Returns the exit code.
  int Terminate() {
    kill(pid_, SIGTERM);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  [[nodiscard]] uint64_t pages() const { return pages_; }

 private:
  std::string data_dir_;
  pid_t pid_ = -1;
  uint64_t pages_ = 0;
  std::shared_ptr<grpc::Channel> channel_;
};

// What clients sent and what they were told is durable, over all runs. Guarded by `mutex`.
struct Known {
  std::mutex mutex;
  std::map<std::string, double> sent;                      // last importance sent, by URL
  std::map<std::string, double> acked;                     // last importance acknowledged
  std::map<std::string, std::set<uint64_t>> reports_sent;  // leases of results, by URL
  std::map<std::string, uint64_t> report_acked;            // the latest of those acknowledged
  std::set<std::string> signalled;                         // acknowledged
  std::map<uint64_t, std::string> leases;  // received by the worker and not reported
};

std::string Url(int run, int i) {
  return "http://host" + std::to_string(i % 17) + ".test/" + std::to_string(run) + "/" +
         std::to_string(i);
}

// Adds pages, and changes the importance of older ones, until the server is gone.
void UpsertForever(const std::shared_ptr<grpc::Channel>& channel, int run, Known* known) {
  const auto stub = v1::PagesService::NewStub(channel);
  grpc::ClientContext call;
  const auto stream = stub->UpsertPages(&call);
  v1::UpsertPagesResponse response;
  for (int i = 0;; ++i) {
    v1::UpsertPagesRequest request;
    for (int k = 0; k < 7; ++k) {
      v1::PageSpec* page = request.add_pages();
      page->set_url(Url(run, k == 6 ? i / 2 * 6 : i * 6 + k));
      page->set_importance(i + 1);
      const std::lock_guard<std::mutex> lock(known->mutex);
      known->sent[page->url()] = page->importance();
    }
    if (!stream->Write(request) || !stream->Read(&response)) return;
    ASSERT_EQ(response.ack().statuses_size(), 0) << response.DebugString();
    const std::lock_guard<std::mutex> lock(known->mutex);
    for (const v1::PageSpec& page : request.pages()) known->acked[page.url()] = page.importance();
  }
}

// Takes assignments and reports every other one; the ETag tells which lease a result was for.
void WorkForever(const std::shared_ptr<grpc::Channel>& channel, Known* known) {
  const auto stub = v1::SchedulerService::NewStub(channel);
  grpc::ClientContext call;
  const auto stream = stub->Crawl(&call);
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker("crash");
  v1::CrawlRequest credit;
  credit.mutable_credit()->set_assignments(10'000);
  if (!stream->Write(hello) || !stream->Write(credit)) return;
  std::map<uint64_t, std::vector<std::pair<std::string, uint64_t>>> unacked;  // by sequence
  uint64_t sequence = 0;
  bool report_next = false;
  v1::CrawlResponse response;
  while (stream->Read(&response)) {
    v1::CrawlRequest report;
    for (const v1::Assignment& assignment : response.assignments().assignments()) {
      const std::lock_guard<std::mutex> lock(known->mutex);
      report_next = !report_next;
      if (!report_next) {
        known->leases[assignment.lease_id()] = assignment.url();
        continue;
      }
      v1::CrawlResult* result = report.mutable_results()->add_results();
      result->set_lease_id(assignment.lease_id());
      result->set_outcome(v1::CRAWL_OUTCOME_CHANGED);
      result->set_etag(std::to_string(assignment.lease_id()));
      known->reports_sent[assignment.url()].insert(assignment.lease_id());
      unacked[sequence + 1].emplace_back(assignment.url(), assignment.lease_id());
    }
    if (report.results().results_size() > 0) {
      report.mutable_results()->set_sequence(++sequence);
      if (!stream->Write(report)) return;
    }
    if (!response.has_result_ack()) continue;
    ASSERT_EQ(response.result_ack().statuses_size(), 0) << response.DebugString();
    const std::lock_guard<std::mutex> lock(known->mutex);
    for (const auto& [url, lease] : unacked[response.result_ack().sequence()]) {
      known->report_acked[url] = lease;
    }
  }
}

// Signals pages of this run as they become known.
void SignalForever(const std::shared_ptr<grpc::Channel>& channel, int run, Known* known) {
  const auto stub = v1::IngestService::NewStub(channel);
  grpc::ClientContext call;
  const auto stream = stub->SignalChanges(&call);
  v1::SignalChangesResponse response;
  for (int i = 0;;) {
    v1::SignalChangesRequest request;
    {
      const std::lock_guard<std::mutex> lock(known->mutex);
      if (known->acked.contains(Url(run, i))) request.add_signals()->set_url(Url(run, i++));
    }
    // An unknown page, so that a server that is gone is noticed while there is nothing to signal.
    if (request.signals_size() == 0) request.add_signals()->set_url("http://unknown.test/");
    request.mutable_signals(0)->set_source("cdn");
    if (!stream->Write(request) || !stream->Read(&response)) return;
    const std::lock_guard<std::mutex> lock(known->mutex);
    if (response.ack().statuses_size() == 0) known->signalled.insert(request.signals(0).url());
  }
}

v1::Page Get(v1::PagesService::Stub& stub, const std::string& url) {
  v1::GetPageRequest request;
  request.set_url(url);
  v1::GetPageResponse response;
  grpc::ClientContext call;
  const grpc::Status status = stub.GetPage(&call, request, &response);
  EXPECT_TRUE(status.ok()) << url << ": " << status.error_message();
  return response.page();
}

void Check(const std::shared_ptr<grpc::Channel>& channel, const Known& known) {
  const auto stub = v1::PagesService::NewStub(channel);
  for (const auto& [url, importance] : known.acked) {
    const v1::Page page = Get(*stub, url);
    EXPECT_TRUE(page.importance() == importance || page.importance() == known.sent.at(url)) << url;
    const auto acked = known.report_acked.find(url);
    if (acked != known.report_acked.end()) {
      // A later result may have come through without its acknowledgement; an earlier one not.
      ASSERT_FALSE(page.etag().empty()) << url;
      const uint64_t etag = std::stoull(page.etag());
      EXPECT_GE(etag, acked->second) << url;
      EXPECT_TRUE(known.reports_sent.at(url).contains(etag)) << url;
      EXPECT_GE(page.crawls(), 1u);
    }
    // A result clears the signals before it, so only pages without one tell.
    if (known.signalled.contains(url) && !known.reports_sent.contains(url)) {
      EXPECT_GT(page.pending_signals_size(), 0) << url;
    }
  }
  for (const auto& [lease, url] : known.leases) {
    EXPECT_EQ(Get(*stub, url).lease().lease_id(), lease) << url;
  }
}

TEST(Kill9, LosesNothingThatWasAcknowledged) {
  const TempDir dir;
  Daemon daemon(dir / "data");
  Known known;
  for (int run = 0; run < 4; ++run) {
    ASSERT_NO_FATAL_FAILURE(daemon.Start());
    EXPECT_GE(daemon.pages(), known.acked.size());
    EXPECT_LE(daemon.pages(), known.sent.size());
    ASSERT_NO_FATAL_FAILURE(Check(daemon.channel(), known));
    const size_t pages = known.acked.size();
    const size_t reports = known.report_acked.size();
    std::thread upserts(UpsertForever, daemon.channel(), run, &known);
    std::thread work(WorkForever, daemon.channel(), &known);
    std::thread signals(SignalForever, daemon.channel(), run, &known);
    // In the middle of things, at a different point each time.
    for (bool enough = false; !enough;) {
      std::this_thread::yield();
      const std::lock_guard<std::mutex> lock(known.mutex);
      enough = known.acked.size() >= pages + 300 + 130 * static_cast<size_t>(run) &&
               known.report_acked.size() >= reports + 20 + 7 * static_cast<size_t>(run) &&
               known.signalled.size() >= 20 * static_cast<size_t>(run + 1);
    }
    ASSERT_NO_FATAL_FAILURE(daemon.Kill());
    upserts.join();
    work.join();
    signals.join();
  }
  ASSERT_NO_FATAL_FAILURE(daemon.Start());
  Check(daemon.channel(), known);
  EXPECT_GT(known.leases.size(), 50u);
  EXPECT_EQ(daemon.Terminate(), 0);
}

TEST(Kill9, LeavesTheDirectoryFreeForTheNext) {
  const TempDir dir;
  Daemon daemon(dir / "data");
  for (int i = 0; i < 3; ++i) {
    ASSERT_NO_FATAL_FAILURE(daemon.Start());
    ASSERT_NO_FATAL_FAILURE(daemon.Kill());
  }
  ASSERT_NO_FATAL_FAILURE(daemon.Start());
  EXPECT_EQ(daemon.Terminate(), 0);
}

}  // namespace
}  // namespace freshet
