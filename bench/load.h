// Clients of a server under load: each is a stream, or a row of calls, that keeps as much under way
// as it may. They cost little beside a server on the same machine: callbacks, messages that are
// filled in place, arenas.
#ifndef FRESHET_BENCH_LOAD_H_
#define FRESHET_BENCH_LOAD_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/latencies.h"
#include "bench/synthetic_store.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "freshet/v1/scheduler.grpc.pb.h"
#include "sync/mutex.h"

namespace freshet {

// The source that signals name.
inline constexpr const char* kBenchSource = "bench";

// What clients have done so far, together. Thread-safe.
struct LoadTally {
  std::atomic<uint64_t> assignments = 0;
  std::atomic<uint64_t> results = 0;   // acknowledged, as are
  std::atomic<uint64_t> signals = 0;   //
  std::atomic<uint64_t> upserts = 0;   //
  std::atomic<uint64_t> refused = 0;   // of all of these
  std::atomic<uint64_t> messages = 0;  // acknowledged
  Latencies ticks;  // from the tick of an assignment to its worker, by the clock of the machine
  Latencies acks;   // from a message to its acknowledgement
  Latencies calls;  // from a call to its answer
};

// One client of a server. Thread-safe.
class LoadClient {
 public:
  virtual ~LoadClient() = default;
  // Call once.
  virtual void Start() = 0;
  // Sends nothing of its own accord any more; what comes in is still answered.
  virtual void Finish() = 0;
  // Whether nothing that it has sent is unanswered.
  [[nodiscard]] virtual bool quiet() const = 0;
  // Returns when the call is over, which it is made to be. What went wrong before, if anything.
  [[nodiscard]] virtual Status End() = 0;
};

// --- Streams of items

// What a stream of items sends. Fill puts up to a message of items into `request`, whose last
// content may be written over, and returns their number; none: nothing is there to be sent. It is
// called by one thread at a time.
using FillResults = std::function<int(v1::ReportCrawlsRequest* request)>;
using FillSignals = std::function<int(v1::SignalChangesRequest* request)>;
using FillUpserts = std::function<int(v1::UpsertPagesRequest* request)>;

// A source of items that had nothing to send says by Wake that it has now.
class ItemStream : public LoadClient {
 public:
  virtual void Wake() = 0;
};

// At most `in_flight` messages are not acknowledged. `tally` outlives the client.
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
  uint32_t credit = 1000;  // none: it stays idle
  Duration lease = Duration::Seconds(60);
  // If set, hears how many assignments came at once, and when (microseconds since 1970).
  std::function<void(int count, int64_t unix_us)> on_assignments;
};

// Takes pages on a Crawl stream and answers each message of assignments with their results at once.
[[nodiscard]] std::unique_ptr<LoadClient> MakeCrawlWorker(
    const std::shared_ptr<grpc::Channel>& channel, WorkerSettings settings, LoadTally& tally);

// Calls Next for `credit` pages, again and again, and passes on what comes.
using PassOn = std::function<void(const v1::NextResponse& response)>;
[[nodiscard]] std::unique_ptr<LoadClient> MakeNextCaller(
    const std::shared_ptr<grpc::Channel>& channel, WorkerSettings settings, PassOn pass_on,
    LoadTally& tally);

// --- What they send

// What a crawl of a page found: what it was or, one time in four, something else.
struct Visit {
  uint64_t lease = 0;
  bool changed = false;
  std::string digest;
};
[[nodiscard]] Visit VisitPage(const v1::Assignment& assignment);
// Its result, by the lease alone.
void FillResult(const Visit& visit, v1::CrawlResult* result);
// The digest of a page's content, 16 bytes, at one of its versions.
void FillDigest(std::string_view url, uint64_t version, std::string* digest);

// Visits that wait to be reported. Thread-safe.
class VisitQueue {
 public:
  void Add(const v1::NextResponse& response) FRESHET_EXCLUDES(mutex_);
  // See FillResults.
  int Fill(v1::ReportCrawlsRequest* request) FRESHET_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::vector<Visit> visits_ FRESHET_GUARDED_BY(mutex_);
};

// Of pages of a synthetic store at random, `batch` items a message, from the source `bench`.
[[nodiscard]] FillSignals RandomSignals(const SyntheticOptions& pages, int batch, uint64_t seed);
// Likewise results by URL, as VisitPage finds them.
[[nodiscard]] FillResults RandomResults(const SyntheticOptions& pages, int batch, uint64_t seed);
// All pages in turn; several streams may share `next`, the first page that was not sent yet.
[[nodiscard]] FillUpserts AllPages(const SyntheticOptions& pages, int batch,
                                   std::atomic<uint64_t>& next);

}  // namespace freshet

#endif  // FRESHET_BENCH_LOAD_H_
