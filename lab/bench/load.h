// Clients for load tests. Each client is a stream or a series of calls, and keeps the maximum
// number of requests in flight. The clients use callbacks and arenas and fill messages in place, so
// they cost little next to a server on the same machine.
#ifndef FRESHET_LAB_BENCH_LOAD_H_
#define FRESHET_LAB_BENCH_LOAD_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "freshet/v1/scheduler.grpc.pb.h"
#include "lab/bench/latencies.h"
#include "lab/bench/synthetic_store.h"
#include "sync/mutex.h"

namespace freshet {

// Name of the source of signals.
inline constexpr const char* kBenchSource = "bench";

// The sums over all clients so far. Thread-safe.
struct LoadTally {
  std::atomic<uint64_t> assignments = 0;
  std::atomic<uint64_t> results = 0;   // acknowledged
  std::atomic<uint64_t> signals = 0;   // acknowledged
  std::atomic<uint64_t> upserts = 0;   // acknowledged
  std::atomic<uint64_t> refused = 0;   // items of all kinds
  std::atomic<uint64_t> messages = 0;  // acknowledged
  Latencies ticks;  // from an assignment's tick to its worker, by the machine's clock
  Latencies acks;   // from message to acknowledgement
  Latencies calls;  // from call to answer
};

// One client of a server. Thread-safe.
class LoadClient {
 public:
  virtual ~LoadClient() = default;
  // Must be called once.
  virtual void Start() = 0;
  // Stops sending, but still answers incoming messages.
  virtual void Finish() = 0;
  // Whether every sent message was answered.
  [[nodiscard]] virtual bool quiet() const = 0;
  // Ends the call and waits for its end. Returns the first error, if there was one.
  [[nodiscard]] virtual Status End() = 0;
};

// --- Streams of items

// Fills the items of a stream. Puts up to one message of items into `request`, replacing its
// content, and returns their number; 0 = there is nothing to send. Called by only one thread at a
// time.
using FillResults = std::function<int(v1::ReportCrawlsRequest* request)>;
using FillSignals = std::function<int(v1::SignalChangesRequest* request)>;
using FillUpserts = std::function<int(v1::UpsertPagesRequest* request)>;

// A stream of items. If there were no items to send, call Wake when there are some again.
class ItemStream : public LoadClient {
 public:
  virtual void Wake() = 0;
};

// Makes a stream with at most `in_flight` unacknowledged messages. `tally` outlives the client.
[[nodiscard]] std::unique_ptr<ItemStream> MakeResultStream(
    const std::shared_ptr<grpc::Channel>& channel, FillResults fill, int in_flight,
    LoadTally& tally);
[[nodiscard]] std::unique_ptr<ItemStream> MakeSignalStream(
    const std::shared_ptr<grpc::Channel>& channel, FillSignals fill, int in_flight,
    LoadTally& tally);
[[nodiscard]] std::unique_ptr<ItemStream> MakeUpsertStream(
    const std::shared_ptr<grpc::Channel>& channel, FillUpserts fill, int in_flight,
    LoadTally& tally);

// --- Workers

struct WorkerSettings {
  std::string name;
  uint32_t credit = 1000;  // 0 = the worker stays idle
  Duration lease = Duration::Seconds(60);
  // If set, called with the number of assignments that arrived together, and the time of their
  // arrival (microseconds since 1970).
  std::function<void(int count, int64_t unix_us)> on_assignments;
};

// Makes a worker on a Crawl stream. It answers each message of assignments with results
// immediately.
[[nodiscard]] std::unique_ptr<LoadClient> MakeCrawlWorker(
    const std::shared_ptr<grpc::Channel>& channel, WorkerSettings settings, LoadTally& tally);

// Calls Next repeatedly for `credit` pages, and passes each response to `pass_on`.
using PassOn = std::function<void(const v1::NextResponse& response)>;
[[nodiscard]] std::unique_ptr<LoadClient> MakeNextCaller(
    const std::shared_ptr<grpc::Channel>& channel, WorkerSettings settings, PassOn pass_on,
    LoadTally& tally);

// --- Items

// The result of a crawl: changed one time in four, otherwise unchanged.
struct Visit {
  uint64_t lease = 0;
  bool changed = false;
  std::string digest;
};
[[nodiscard]] Visit VisitPage(const v1::Assignment& assignment);
// Fills in the result of a visit. The page is identified only by its lease.
void FillResult(const Visit& visit, v1::CrawlResult* result);
// Writes the digest (16 bytes) of one version of a page's content.
void FillDigest(std::string_view url, uint64_t version, std::string* digest);

// Visits to be reported. Thread-safe.
class VisitQueue {
 public:
  void Add(const v1::NextResponse& response) FRESHET_EXCLUDES(mutex_);
  // See FillResults.
  int Fill(v1::ReportCrawlsRequest* request) FRESHET_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::vector<Visit> visits_ FRESHET_GUARDED_BY(mutex_);
};

// Makes random signals from the source `bench` for pages of a synthetic store, with `batch` items
// in each message.
[[nodiscard]] FillSignals RandomSignals(const SyntheticOptions& pages, int batch, uint64_t seed);
// Makes random results that name the page by its URL, like those of VisitPage, with `batch` items
// in each message.
[[nodiscard]] FillResults RandomResults(const SyntheticOptions& pages, int batch, uint64_t seed);
// Upserts all pages one after the other. `next` is the first page that was not sent yet; several
// streams may share it.
[[nodiscard]] FillUpserts AllPages(const SyntheticOptions& pages, int batch,
                                   std::atomic<uint64_t>& next);

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_LOAD_H_
