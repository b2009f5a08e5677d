// A fetch worker on a Crawl stream, for scripts that misuse its leases.
#ifndef FRESHET_TESTS_HOSTILE_WORKER_H_
#define FRESHET_TESTS_HOSTILE_WORKER_H_

#include <memory>
#include <string>
#include <vector>

#include "freshet/v1/scheduler.grpc.pb.h"
#include "tests/hostile/attack.h"

namespace freshet::hostile {

// Makes a result with the lease id of each assignment. `answer` fills in the rest.
template <typename Answer>
v1::CrawlRequest ResultsOf(const std::vector<v1::Assignment>& assignments, const Answer& answer) {
  v1::CrawlRequest request;
  for (const v1::Assignment& assignment : assignments) {
    v1::CrawlResult* result = request.mutable_results()->add_results();
    result->set_lease_id(assignment.lease_id());
    answer(result);
  }
  return request;
}

// A worker that ends when its call does (Attack::Call). Thread-compatible.
class Worker {
 public:
  Worker(Attack& attack, const std::shared_ptr<grpc::Channel>& channel, const std::string& name,
         int lease_seconds)
      : ledger_(attack.target().ledger),
        call_(attack.Call()),
        stream_(v1::SchedulerService::NewStub(channel)->Crawl(call_.get())) {
    v1::CrawlRequest request;
    request.mutable_hello()->set_worker(name);
    request.mutable_hello()->mutable_lease_duration()->set_seconds(lease_seconds);
    stream_->Write(request);
  }
  ~Worker() {
    call_->TryCancel();
    v1::CrawlResponse response;
    while (stream_->Read(&response)) Note(response);
    (void)stream_->Finish();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  bool Grant(uint32_t credit) {
    v1::CrawlRequest request;
    request.mutable_credit()->set_assignments(credit);
    return stream_->Write(request);
  }
  bool Send(const v1::CrawlRequest& request) { return stream_->Write(request); }
  void HalfClose() { stream_->WritesDone(); }
  // Returns the next assignments; none after the call has ended.
  std::vector<v1::Assignment> Receive() {
    v1::CrawlResponse response;
    while (stream_->Read(&response)) {
      Note(response);
      if (response.has_assignments()) {
        return {response.assignments().assignments().begin(),
                response.assignments().assignments().end()};
      }
    }
    return {};
  }
  // Returns the next acknowledgement of results. Its count is 0 after the call has ended.
  v1::BatchAck ReceiveAck() {
    v1::CrawlResponse response;
    while (stream_->Read(&response)) {
      Note(response);
      if (response.has_result_ack()) return response.result_ack();
    }
    return {};
  }

 private:
  void Note(const v1::CrawlResponse& response) {
    for (const v1::Assignment& one : response.assignments().assignments()) ledger_->Note(one);
  }

  Ledger* const ledger_;
  std::unique_ptr<grpc::ClientContext> call_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CrawlRequest, v1::CrawlResponse>> stream_;
};

}  // namespace freshet::hostile

#endif  // FRESHET_TESTS_HOSTILE_WORKER_H_
