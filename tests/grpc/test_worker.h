// A fetch worker for a server under test.
#ifndef FRESHET_TESTS_GRPC_TEST_WORKER_H_
#define FRESHET_TESTS_GRPC_TEST_WORKER_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/grpc/test_server.h"

namespace freshet {

// One worker on a Crawl stream. Thread-compatible.
class TestWorker {
 public:
  explicit TestWorker(TestServer& server, const std::string& name = "worker")
      : stream_(server.scheduler->Crawl(&call_)) {
    v1::CrawlRequest request;
    request.mutable_hello()->set_worker(name);
    EXPECT_TRUE(stream_->Write(request));
    const v1::CrawlResponse welcome = Read();
    EXPECT_EQ(welcome.notice().kind(), v1::NOTICE_KIND_WELCOME) << welcome.DebugString();
  }
  void Grant(uint32_t credit) {
    v1::CrawlRequest request;
    request.mutable_credit()->set_assignments(credit);
    EXPECT_TRUE(stream_->Write(request));
  }
  bool Write(const v1::CrawlRequest& request) { return stream_->Write(request); }
  v1::CrawlResponse Read() {
    v1::CrawlResponse response;
    open_ = stream_->Read(&response);
    return response;
  }
  // Reads the next `count` assignments. Skips other messages.
  std::vector<v1::Assignment> ReadAssignments(size_t count) {
    std::vector<v1::Assignment> all;
    while (open_ && all.size() < count) {
      const v1::CrawlResponse response = Read();
      for (const auto& one : response.assignments().assignments()) all.push_back(one);
    }
    return all;
  }
  grpc::Status End() {
    stream_->WritesDone();
    while (open_) (void)Read();
    return stream_->Finish();
  }
  void Cancel() {
    call_.TryCancel();
    while (open_) (void)Read();
    (void)stream_->Finish();
  }
  [[nodiscard]] bool open() const { return open_; }

 private:
  grpc::ClientContext call_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CrawlRequest, v1::CrawlResponse>> stream_;
  bool open_ = true;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_GRPC_TEST_WORKER_H_
