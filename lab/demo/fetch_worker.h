// One of a crawler's fetch workers. It receives assignments, fetches pages, and reports the
// results.
#ifndef FRESHET_LAB_DEMO_FETCH_WORKER_H_
#define FRESHET_LAB_DEMO_FETCH_WORKER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "lab/demo/connection.h"
#include "lab/demo/stop.h"
#include "lab/demo/truth.h"

namespace freshet::demo {

// Uses one Crawl stream. Fetches a page by looking it up in the history, which takes no time. Gets
// new credit only when results are acknowledged, which limits the pages in flight.
//
// One thread calls Run; any thread may call Cancel. Thread-compatible.
class FetchWorker {
 public:
  // All arguments outlive the worker.
  FetchWorker(std::string name, Connection& connection, const ReplayedHistory& replayed,
              Truth& truth, Stop& stop);

  // Works until it is stopped, then returns the assigned pages until its credit is used up. A
  // failure stops the replay.
  void Run();

  // Ends the stream immediately.
  void Cancel() { context_.TryCancel(); }

 private:
  using Stream = grpc::ClientReaderWriter<v1::CrawlRequest, v1::CrawlResponse>;

  Status Work(Stream& stream);
  Status Handle(Stream& stream, const v1::CrawlResponse& response);
  Status HandleAssignments(Stream& stream, const v1::AssignmentBatch& batch);
  Status HandleNotice(const v1::Notice& notice);
  // Fetches a page; nullopt = it cannot be fetched now, and its lease must be returned.
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
  uint64_t credit_ = 0;      // granted and not yet used up by assignments
  uint64_t unanswered_ = 0;  // batches without acknowledgement
};

}  // namespace freshet::demo

#endif  // FRESHET_LAB_DEMO_FETCH_WORKER_H_
