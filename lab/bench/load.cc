#include "lab/bench/load.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "core/base/random.h"
#include "fmt/format.h"
#include "google/protobuf/arena.h"
#include "server/base/limits.h"

namespace freshet {
namespace {

// The timeout of calls that should take less than a second.
constexpr std::chrono::seconds kLongestCall{30};

int64_t SteadyMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t UnixMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Status FromGrpc(const grpc::Status& status) {
  if (status.ok() || status.error_code() == grpc::StatusCode::CANCELLED) return {};
  return MakeStatus(absl::StatusCode::kUnavailable, "a call ended with {}", status.error_message());
}

// The status of a call, which another thread waits for. Thread-safe.
class CallEnd {
 public:
  void Set(const grpc::Status& status) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    status_ = FromGrpc(status);
    over_.NotifyAll();
  }
  [[nodiscard]] Status Await() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!status_) over_.Wait(mutex_);
    return *status_;
  }

 private:
  Mutex mutex_;
  Condition over_;
  std::optional<Status> status_ FRESHET_GUARDED_BY(mutex_);
};

// The send times of unacknowledged messages, which are acknowledged in order. Owner thread only.
class Unacknowledged {
 public:
  void Sent() { sent_.push_back(SteadyMicros()); }
  [[nodiscard]] size_t size() const { return sent_.size(); }
  // Takes the acknowledgement of the oldest message. Adds its latency and its refused items to the
  // tally, and returns the number of accepted items.
  uint64_t Acknowledge(const v1::BatchAck& ack, LoadTally& tally) {
    if (!sent_.empty()) {
      tally.acks.Add(SteadyMicros() - sent_.front());
      sent_.pop_front();
    }
    uint64_t refused = ack.has_error() ? ack.item_count() : 0;
    for (const v1::ItemStatus& status : ack.statuses()) {
      if (status.outcome() == v1::ITEM_OUTCOME_REFUSED) ++refused;
    }
    tally.refused += refused;
    ++tally.messages;
    return ack.item_count() - refused;
  }

 private:
  std::deque<int64_t> sent_;
};

// Reads messages one after the other into one arena, which is freed as a whole. Owner thread only.
template <typename Message>
class ArenaMessage {
 public:
  ArenaMessage() { Renew(); }
  [[nodiscard]] Message* get() { return message_; }
  void Renew() {
    arena_.Reset();
    message_ = google::protobuf::Arena::CreateMessage<Message>(&arena_);
  }

 private:
  google::protobuf::Arena arena_;
  Message* message_ = nullptr;
};

// --- Streams of items

template <typename Request, typename Response>
class ItemStreamOf final : public ItemStream, grpc::ClientBidiReactor<Request, Response> {
 public:
  using Fill = std::function<int(Request*)>;
  using Open =
      std::function<void(grpc::ClientContext*, grpc::ClientBidiReactor<Request, Response>*)>;

  ItemStreamOf(Fill fill, int in_flight, std::atomic<uint64_t>& taken, LoadTally& tally)
      : fill_(std::move(fill)),
        in_flight_(static_cast<size_t>(in_flight)),
        taken_(taken),
        tally_(tally) {}

  void Bind(const Open& open) { open(&context_, this); }
  void Start() override {
    this->AddHold();  // lets other threads write until End
    this->StartRead(response_.get());
    this->StartCall();
    Wake();
  }
  void Wake() override { TryWrite(); }
  void Finish() override {
    const MutexLock lock(mutex_);
    finished_ = true;
  }
  [[nodiscard]] bool quiet() const override {
    const MutexLock lock(mutex_);
    return over_ || (unacknowledged_.size() == 0 && !writing_ && !filled_);
  }
  Status End() override {
    Finish();
    context_.TryCancel();
    this->RemoveHold();
    return end_.Await();
  }

 private:
  // Fills the next message before the last one is sent, so that both can be sent together.
  void TryWrite() {
    const MutexLock lock(mutex_);
    if (writing_ || over_ || unacknowledged_.size() >= in_flight_) return;
    if (!filled_ && !finished_) filled_ = fill_(next_) > 0;
    if (!filled_) return;
    std::swap(request_, next_);
    unacknowledged_.Sent();
    filled_ = !finished_ && unacknowledged_.size() < in_flight_ && fill_(next_) > 0;
    grpc::WriteOptions options;
    if (filled_) options.set_buffer_hint();
    writing_ = true;
    this->StartWrite(request_, options);
  }
  void OnWriteDone(bool ok) override {
    {
      const MutexLock lock(mutex_);
      writing_ = false;
      over_ |= !ok;
    }
    TryWrite();
  }
  void OnReadDone(bool ok) override {
    {
      const MutexLock lock(mutex_);
      over_ |= !ok;
      if (!ok) return;
      taken_ += unacknowledged_.Acknowledge(response_.get()->ack(), tally_);
    }
    response_.Renew();
    this->StartRead(response_.get());
    TryWrite();
  }
  void OnDone(const grpc::Status& status) override { end_.Set(status); }

  const Fill fill_;
  const size_t in_flight_;
  std::atomic<uint64_t>& taken_;
  LoadTally& tally_;
  grpc::ClientContext context_;
  CallEnd end_;
  ArenaMessage<Response> response_;
  mutable Mutex mutex_;
  std::array<Request, 2> requests_ FRESHET_GUARDED_BY(mutex_);
  Request* request_ FRESHET_GUARDED_BY(mutex_) = &requests_[0];  // gRPC owns it while writing
  Request* next_ FRESHET_GUARDED_BY(mutex_) = &requests_[1];
  bool filled_ FRESHET_GUARDED_BY(mutex_) = false;  // next_ is filled
  Unacknowledged unacknowledged_ FRESHET_GUARDED_BY(mutex_);
  bool writing_ FRESHET_GUARDED_BY(mutex_) = false;
  bool finished_ FRESHET_GUARDED_BY(mutex_) = false;
  bool over_ FRESHET_GUARDED_BY(mutex_) = false;
};

// Makes a stream of items on a call that `open` begins.
template <typename Request, typename Response>
std::unique_ptr<ItemStream> MakeItemStream(
    typename ItemStreamOf<Request, Response>::Fill fill, int in_flight,
    std::atomic<uint64_t>& taken, LoadTally& tally,
    const typename ItemStreamOf<Request, Response>::Open& open) {
  auto stream =
      std::make_unique<ItemStreamOf<Request, Response>>(std::move(fill), in_flight, taken, tally);
  stream->Bind(open);
  return stream;
}

// --- Workers

class CrawlWorker final : public LoadClient,
                          grpc::ClientBidiReactor<v1::CrawlRequest, v1::CrawlResponse> {
 public:
  CrawlWorker(const std::shared_ptr<grpc::Channel>& channel, WorkerSettings settings,
              LoadTally& tally)
      : settings_(std::move(settings)),
        tally_(tally),
        stub_(v1::SchedulerService::NewStub(channel)) {
    v1::WorkerHello& hello = *hello_.mutable_hello();
    hello.set_worker(settings_.name);
    hello.mutable_lease_duration()->set_seconds(settings_.lease.micros() / 1'000'000);
  }

  void Start() override {
    stub_->async()->Crawl(&context_, this);
    StartRead(response_.get());
    {
      const MutexLock lock(mutex_);
      writing_ = true;
      credit_due_ = settings_.credit;
      StartWrite(&hello_);
    }
    StartCall();
  }
  // Grants no more credit. The server can still use up the credit that it has.
  void Finish() override {
    const MutexLock lock(mutex_);
    finished_ = true;
  }
  [[nodiscard]] bool quiet() const override {
    const MutexLock lock(mutex_);
    return over_ || (visits_.empty() && unacknowledged_.size() == 0 && !writing_);
  }
  Status End() override {
    context_.TryCancel();
    return end_.Await();
  }

 private:
  void OnReadDone(bool ok) override {
    const MutexLock lock(mutex_);
    over_ |= !ok;
    if (!ok) return;
    const v1::CrawlResponse& response = *response_.get();
    if (response.has_assignments()) {
      TakeAssignments(response.assignments());
    } else if (response.has_result_ack()) {
      tally_.results += unacknowledged_.Acknowledge(response.result_ack(), tally_);
    }
    response_.Renew();
    StartRead(response_.get());
    TryWrite();
  }
  void OnWriteDone(bool ok) override {
    const MutexLock lock(mutex_);
    writing_ = false;
    over_ |= !ok;
    TryWrite();
  }
  void OnDone(const grpc::Status& status) override { end_.Set(status); }

  void TakeAssignments(const v1::AssignmentBatch& batch) FRESHET_REQUIRES(mutex_) {
    const int64_t now = UnixMicros() + settings_.lease.micros();
    for (const v1::Assignment& assignment : batch.assignments()) {
      // A lease begins at its tick, so the tick is the deadline minus the length of the lease.
      const google::protobuf::Timestamp& deadline = assignment.deadline();
      tally_.ticks.Add(now - deadline.seconds() * 1'000'000 - deadline.nanos() / 1000);
      visits_.push_back(VisitPage(assignment));
    }
    const auto count = static_cast<uint32_t>(batch.assignments_size());
    if (settings_.on_assignments) {
      settings_.on_assignments(batch.assignments_size(), now - settings_.lease.micros());
    }
    tally_.assignments += count;
    credit_due_ += count;
  }
  // The server sends no pages without credit. So credit goes first, and is granted in large
  // amounts.
  void TryWrite() FRESHET_REQUIRES(mutex_) {
    if (writing_ || over_) return;
    if (!finished_ && credit_due_ > 0 && credit_due_ >= settings_.credit / 4) {
      credit_.mutable_credit()->set_assignments(std::exchange(credit_due_, 0));
      writing_ = true;
      StartWrite(&credit_);
    } else if (!visits_.empty()) {
      WriteResults();
    }
  }
  void WriteResults() FRESHET_REQUIRES(mutex_) {
    v1::ResultBatch& batch = *results_.mutable_results();
    batch.Clear();
    batch.set_sequence(++sequence_);
    const size_t count = std::min<size_t>(visits_.size(), limits::kMaxItemsPerMessage);
    for (size_t i = 0; i < count; ++i) FillResult(visits_[i], batch.add_results());
    visits_.erase(visits_.begin(), visits_.begin() + static_cast<std::ptrdiff_t>(count));
    writing_ = true;
    unacknowledged_.Sent();
    StartWrite(&results_);
  }

  const WorkerSettings settings_;
  LoadTally& tally_;
  const std::unique_ptr<v1::SchedulerService::Stub> stub_;
  grpc::ClientContext context_;
  CallEnd end_;
  ArenaMessage<v1::CrawlResponse> response_;
  v1::CrawlRequest hello_;
  mutable Mutex mutex_;
  v1::CrawlRequest credit_ FRESHET_GUARDED_BY(mutex_);
  v1::CrawlRequest results_ FRESHET_GUARDED_BY(mutex_);
  std::vector<Visit> visits_ FRESHET_GUARDED_BY(mutex_);  // to be reported
  Unacknowledged unacknowledged_ FRESHET_GUARDED_BY(mutex_);
  uint64_t sequence_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint32_t credit_due_ FRESHET_GUARDED_BY(mutex_) = 0;
  bool writing_ FRESHET_GUARDED_BY(mutex_) = false;
  bool finished_ FRESHET_GUARDED_BY(mutex_) = false;
  bool over_ FRESHET_GUARDED_BY(mutex_) = false;
};

class NextCaller final : public LoadClient {
 public:
  NextCaller(const std::shared_ptr<grpc::Channel>& channel, const WorkerSettings& settings,
             PassOn pass_on, LoadTally& tally)
      : pass_on_(std::move(pass_on)), tally_(tally), stub_(v1::SchedulerService::NewStub(channel)) {
    request_.set_max_assignments(settings.credit);
    request_.set_worker(settings.name);
    request_.mutable_max_wait()->set_seconds(1);
    request_.mutable_lease_duration()->set_seconds(settings.lease.micros() / 1'000'000);
  }

  void Start() override { Call(); }
  void Finish() override { finished_ = true; }
  [[nodiscard]] bool quiet() const override { return over_; }
  Status End() override {
    Finish();
    return end_.Await();
  }

 private:
  void Call() {
    context_ = std::make_unique<grpc::ClientContext>();
    context_->set_deadline(std::chrono::system_clock::now() + kLongestCall);
    called_ = SteadyMicros();
    stub_->async()->Next(context_.get(), &request_, response_.get(),
                         [this](const grpc::Status& status) { OnAnswer(status); });
  }
  void OnAnswer(const grpc::Status& status) {
    tally_.calls.Add(SteadyMicros() - called_);
    tally_.assignments += static_cast<uint64_t>(response_.get()->assignments_size());
    pass_on_(*response_.get());
    response_.Renew();
    if (status.ok() && !finished_) return Call();
    over_ = true;
    end_.Set(status);
  }

  const PassOn pass_on_;
  LoadTally& tally_;
  const std::unique_ptr<v1::SchedulerService::Stub> stub_;
  v1::NextRequest request_;
  ArenaMessage<v1::NextResponse> response_;       // of the running call
  std::unique_ptr<grpc::ClientContext> context_;  // of the running call
  int64_t called_ = 0;                            // when the running call began
  std::atomic<bool> finished_ = false;
  std::atomic<bool> over_ = false;
  CallEnd end_;
};

}  // namespace

std::unique_ptr<ItemStream> MakeResultStream(const std::shared_ptr<grpc::Channel>& channel,
                                             FillResults fill, int in_flight, LoadTally& tally) {
  return MakeItemStream<v1::ReportCrawlsRequest, v1::ReportCrawlsResponse>(
      std::move(fill), in_flight, tally.results, tally, [&channel](auto* context, auto* reactor) {
        v1::IngestService::NewStub(channel)->async()->ReportCrawls(context, reactor);
      });
}

std::unique_ptr<ItemStream> MakeSignalStream(const std::shared_ptr<grpc::Channel>& channel,
                                             FillSignals fill, int in_flight, LoadTally& tally) {
  return MakeItemStream<v1::SignalChangesRequest, v1::SignalChangesResponse>(
      std::move(fill), in_flight, tally.signals, tally, [&channel](auto* context, auto* reactor) {
        v1::IngestService::NewStub(channel)->async()->SignalChanges(context, reactor);
      });
}

std::unique_ptr<ItemStream> MakeUpsertStream(const std::shared_ptr<grpc::Channel>& channel,
                                             FillUpserts fill, int in_flight, LoadTally& tally) {
  return MakeItemStream<v1::UpsertPagesRequest, v1::UpsertPagesResponse>(
      std::move(fill), in_flight, tally.upserts, tally, [&channel](auto* context, auto* reactor) {
        v1::PagesService::NewStub(channel)->async()->UpsertPages(context, reactor);
      });
}

std::unique_ptr<LoadClient> MakeCrawlWorker(const std::shared_ptr<grpc::Channel>& channel,
                                            WorkerSettings settings, LoadTally& tally) {
  return std::make_unique<CrawlWorker>(channel, std::move(settings), tally);
}

std::unique_ptr<LoadClient> MakeNextCaller(const std::shared_ptr<grpc::Channel>& channel,
                                           WorkerSettings settings, PassOn pass_on,
                                           LoadTally& tally) {
  return std::make_unique<NextCaller>(channel, settings, std::move(pass_on), tally);
}

// --- Items

Visit VisitPage(const v1::Assignment& assignment) {
  Visit visit = {.lease = assignment.lease_id(), .changed = assignment.lease_id() % 4 == 0};
  FillDigest(assignment.url(), visit.changed ? visit.lease : 0, &visit.digest);
  return visit;
}

void FillResult(const Visit& visit, v1::CrawlResult* result) {
  result->set_lease_id(visit.lease);
  result->set_outcome(visit.changed ? v1::CRAWL_OUTCOME_CHANGED : v1::CRAWL_OUTCOME_UNCHANGED);
  result->set_content_digest(visit.digest);
  result->set_http_status(200);
}

void FillDigest(std::string_view url, uint64_t version, std::string* digest) {
  uint64_t hash = 0x9E3779B97F4A7C15u + version;
  for (size_t i = 0; i < url.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, url.data() + i, std::min(sizeof word, url.size() - i));
    hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
    hash ^= hash >> 29;
  }
  const uint64_t words[2] = {hash, hash * 0x94D049BB133111EBu};
  digest->assign(reinterpret_cast<const char*>(words), sizeof words);
}

void VisitQueue::Add(const v1::NextResponse& response) {
  const MutexLock lock(mutex_);
  for (const v1::Assignment& assignment : response.assignments()) {
    visits_.push_back(VisitPage(assignment));
  }
}

int VisitQueue::Fill(v1::ReportCrawlsRequest* request) {
  const MutexLock lock(mutex_);
  const auto count = std::min(visits_.size(), size_t{limits::kMaxItemsPerMessage});
  request->clear_results();
  for (size_t i = 0; i < count; ++i) FillResult(visits_[i], request->add_results());
  visits_.erase(visits_.begin(), visits_.begin() + static_cast<std::ptrdiff_t>(count));
  return static_cast<int>(count);
}

FillSignals RandomSignals(const SyntheticOptions& pages, int batch, uint64_t seed) {
  return [pages, batch, random = Random(seed)](v1::SignalChangesRequest* request) mutable {
    while (request->signals_size() < batch) request->add_signals()->set_source(kBenchSource);
    for (v1::ChangeSignal& signal : *request->mutable_signals()) {
      WriteSyntheticUrl(pages, random.Below(pages.pages), signal.mutable_url());
    }
    request->set_sequence(request->sequence() + 1);
    return batch;
  };
}

FillResults RandomResults(const SyntheticOptions& pages, int batch, uint64_t seed) {
  return [pages, batch, random = Random(seed)](v1::ReportCrawlsRequest* request) mutable {
    while (request->results_size() < batch) request->add_results()->set_http_status(200);
    for (v1::CrawlResult& result : *request->mutable_results()) {
      WriteSyntheticUrl(pages, random.Below(pages.pages), result.mutable_url());
      const uint64_t version = random.Below(4) == 0 ? random.Next() : 0;
      result.set_outcome(version > 0 ? v1::CRAWL_OUTCOME_CHANGED : v1::CRAWL_OUTCOME_UNCHANGED);
      FillDigest(result.url(), version, result.mutable_content_digest());
    }
    request->set_sequence(request->sequence() + 1);
    return batch;
  };
}

FillUpserts AllPages(const SyntheticOptions& pages, int batch, std::atomic<uint64_t>& next) {
  return [pages, batch, &next](v1::UpsertPagesRequest* request) {
    const uint64_t first = std::min(next.fetch_add(static_cast<uint64_t>(batch)), pages.pages);
    const auto count =
        static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(batch), pages.pages - first));
    while (request->pages_size() > count) request->mutable_pages()->RemoveLast();
    while (request->pages_size() < count) request->add_pages();
    for (int i = 0; i < count; ++i) {
      WriteSyntheticUrl(pages, first + static_cast<uint64_t>(i),
                        request->mutable_pages(i)->mutable_url());
    }
    request->set_sequence(request->sequence() + 1);
    return count;
  };
}

}  // namespace freshet
