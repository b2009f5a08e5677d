// A fetch worker as a crawler would have many of: takes assignments, fetches, reports.
#ifndef FRESHET_TOOLS_DEMO_FETCH_WORKER_H_
#define FRESHET_TOOLS_DEMO_FETCH_WORKER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tools/demo/connection.h"
#include "tools/demo/stop.h"
#include "tools/demo/truth.h"

namespace freshet::demo {

// One Crawl stream. Fetching means looking up the history, so it takes no time. Credit comes back
// only when results are acknowledged: what is under way is bounded, whatever the server does.
//
// Run belongs to one thread; Cancel may be called from any. Thread-compatible.
class FetchWorker {
 public:
  // Everything given outlives the worker.
  FetchWorker(std::string name, Connection& connection, const ReplayedHistory& replayed,
              Truth& truth, Stop& stop);

  // Works until stopped, then gives back what it still receives until its credit is used up. A
  // failure stops everything.
  void Run();

  // Ends the stream at once.
  void Cancel() { context_.TryCancel(); }

 private:
  using Stream = grpc::ClientReaderWriter<v1::CrawlRequest, v1::CrawlResponse>;

  Status Work(Stream& stream);
  Status Handle(Stream& stream, const v1::CrawlResponse& response);
  Status HandleAssignments(Stream& stream, const v1::AssignmentBatch& batch);
  Status HandleNotice(const v1::Notice& notice);
  // Nothing for a page that cannot be fetched now: its lease is to be given back.
  StatusOr<std::optional<v1::CrawlResult>> Fetch(const v1::Assignment& assignment);
  void ReturnLease(Stream& stream, uint64_t lease_id);
  void Grant(Stream& stream, uint32_t assignments);
  void Send(Stream& stream, const v1::CrawlRequest& request);

  const std::string name_;
  Connection& connection_;
  const ReplayedHistory& replayed_;
  Truth& truth_;
  Stop& stop_;
  grpc::ClientContext context_;
  uint64_t sequence_ = 0;
  uint64_t credit_ = 0;      // granted, not used by an assignment yet
  uint64_t unanswered_ = 0;  // batches without acknowledgement
};

}  // namespace freshet::demo

#endif  // FRESHET_TOOLS_DEMO_FETCH_WORKER_H_
