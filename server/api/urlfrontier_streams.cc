#include "server/api/urlfrontier_streams.h"

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "server/api/call_reactor.h"
#include "server/api/caller.h"
#include "server/api/caller_stream.h"
#include "server/api/faults.h"
#include "server/api/frontier_wire.h"
#include "server/api/list_stream.h"
#include "server/api/page_pull.h"
#include "server/api/scheduled_crawls.h"
#include "server/api/unary.h"
#include "server/api/wire.h"
#include "server/base/answer_limits.h"
#include "server/base/client_network.h"
#include "server/base/frontier_limits.h"
#include "server/config.h"
#include "server/frontier/frontier_names.h"
#include "server/frontier/frontier_scan.h"
#include "urlfrontier/urlfrontier.pb.h"

namespace freshet {
namespace {

// The maximum number of URLs of a list that are prepared before the client has read them.
constexpr size_t kListedAtATime = 256;

constexpr std::string_view kGetUrlsPath = "/urlfrontier.URLFrontier/GetURLs";

// --- Incoming URLs

// Whether the caller may report results of fetches, as in ReportCrawls.
bool MayReport(const Caller& caller) {
  return caller.is_admin() || (caller.identity()->roles & kWorker) != 0;
}

// One call of PutURLs. Thread-safe.
class PutUrlsStream final : public CallerStream {
 public:
  static constexpr std::string_view kPath = "/urlfrontier.URLFrontier/PutURLs";

  PutUrlsStream(const ServerContext& context, grpc::CallbackServerContext& call)
      : CallerStream(context, kPath, call, limits::kMaxUnackedUrlsPerStream) {}

 private:
  void OnMessage(grpc::ByteBuffer* bytes) override {
    // The answer repeats an id or a URL of the message, and adds a status.
    const uint64_t place = OpenAck(message_bytes());
    FlatMessage flat;
    FrontierItemMessage item({.status = context_.config.frontier_status_keys,
                              .digest = context_.config.frontier_digest_keys});
    if (!flat.Take(bytes, MostBytes(context_)).ok() || !DecodeFrontierItem(flat.text(), &item)) {
      ChargeForRefused();
      return Acknowledge(place, EncodeFrontierAck(item.id, FrontierOutcome::kSkipped));
    }
    std::string id(FrontierAckId(item.id.empty() ? item.info.url : item.id));
    const StatusOr<const Caller*> caller = GetCaller();
    if (!caller.ok()) {
      return Acknowledge(place, EncodeFrontierAck(id, FrontierOutcome::kFailed));
    }
    Charge(**caller, 1);
    StatusOr<FrontierPut> put = MakeFrontierPut(std::move(item.info));
    if (!item.given || !put.ok()) {
      return Acknowledge(place, EncodeFrontierAck(id, FrontierOutcome::kSkipped));
    }
    if (!(*caller)->CheckCrawlId(put->crawl).ok()) {
      return Acknowledge(place, EncodeFrontierAck(id, FrontierOutcome::kFailed));
    }
    put->claim = (*caller)->claim();
    put->reports = MayReport(**caller);
    put->known = item.known;
    put->due = item.due;
    put->fetch = FetchOf(item);
    std::vector<FrontierPut> puts;
    puts.push_back(*std::move(put));
    auto self = std::static_pointer_cast<PutUrlsStream>(shared_from_this());
    const bool go_on =
        PutUrls(context_, std::move(puts), (*caller)->name(),
                [self, place, id = std::move(id)](const std::vector<FrontierOutcome>& outcomes) {
                  self->Acknowledge(place, EncodeFrontierAck(id, outcomes.front()));
                });
    if (!go_on) HoldReading();
  }
};

// One call of PutDiscovered. Thread-safe.
class PutDiscoveredStream final : public CallerStream {
 public:
  static constexpr std::string_view kPath = "/urlfrontier.URLFrontier/PutDiscovered";

  PutDiscoveredStream(const ServerContext& context, grpc::CallbackServerContext& call)
      : CallerStream(context, kPath, call, limits::kMaxUnackedUrlBatchesPerStream) {}

 private:
  void OnMessage(grpc::ByteBuffer* bytes) override {
    // The answer repeats the id, and adds a status for each item. An item has at least two bytes.
    const uint64_t place = OpenAck(message_bytes());
    FlatMessage flat;
    FrontierBatchMessage batch;
    if (!flat.Take(bytes, MostBytes(context_)).ok() || !DecodeFrontierBatch(flat.text(), &batch)) {
      ChargeForRefused();
      return Acknowledge(place, EncodeFrontierBatchAck(
                                    batch.id, std::vector(batch.count, FrontierOutcome::kSkipped)));
    }
    // URLs beyond the limit of a batch fail, so the client can send them again in another batch.
    std::vector<FrontierOutcome> outcomes(batch.count, FrontierOutcome::kFailed);
    std::vector<FrontierPut> puts;
    std::vector<size_t> positions;
    const StatusOr<const Caller*> caller = GetCaller();
    if (caller.ok()) Charge(**caller, batch.items.size());
    for (size_t i = 0; caller.ok() && i < batch.items.size(); ++i) {
      StatusOr<FrontierPut> put = MakeFrontierPut(std::move(batch.items[i]));
      outcomes[i] = FrontierOutcome::kSkipped;
      if (!put.ok()) continue;
      if (!(*caller)->CheckCrawlId(put->crawl).ok()) {
        outcomes[i] = FrontierOutcome::kFailed;
        continue;
      }
      put->claim = (*caller)->claim();
      puts.push_back(*std::move(put));
      positions.push_back(i);
    }
    if (puts.empty()) return Acknowledge(place, EncodeFrontierBatchAck(batch.id, outcomes));
    auto self = std::static_pointer_cast<PutDiscoveredStream>(shared_from_this());
    const bool go_on = PutUrls(
        context_, std::move(puts), (*caller)->name(),
        [self, place, id = std::string(FrontierAckId(batch.id)), all = std::move(outcomes),
         positions = std::move(positions)](const std::vector<FrontierOutcome>& own) mutable {
          for (size_t i = 0; i < own.size(); ++i) all[positions[i]] = own[i];
          self->Acknowledge(place, EncodeFrontierBatchAck(id, all));
        });
    if (!go_on) HoldReading();
  }
};

// --- Outgoing URLs

// One call, which writes one message at a time. When all messages are written, the call asks the
// frontier for more URLs, as soon as StreamSet has room for more bytes of the client. Thread-safe.
class GetUrlsStream final : public CallReactor {
 public:
  GetUrlsStream(const ServerContext& context, ServerCall* call)
      : CallReactor(context, "/urlfrontier.URLFrontier/GetURLs", CallKind::kStream, call),
        context_(context) {}

 private:
  void OnRequest(grpc::ByteBuffer* bytes) override {
    const Status status = Open(*bytes);
    bytes->Clear();
    if (!status.ok()) {
      End(GrpcStatusOf(status));
    } else if (const grpc::Status paid = Pay(); !paid.ok()) {
      End(paid);
    } else if (!pull_->key.empty() && !pull_->crawl) {
      // A key names a queue only within a crawl id.
      End(grpc::Status::OK);
    } else {
      Ask();
    }
  }

  Status Open(const grpc::ByteBuffer& bytes) {
    urlfrontier::GetParams params;
    RETURN_IF_ERROR(auth().Check());
    RETURN_IF_ERROR(ReadRequest(bytes, &params, MostBytes(context_)));
    if (params.crawl_case() == urlfrontier::GetParams::kCrawlID) {
      pull_->crawl = std::string(FrontierCrawlName(params.crawlid()));
    }
    RETURN_IF_ERROR(Follow());
    pull_->key = params.key();
    if (params.max_urls_per_queue() > 0) pull_->urls_per_queue = params.max_urls_per_queue();
    if (params.max_queues() > 0) pull_->queues = params.max_queues();
    if (params.delay_requestable() > 0) pull_->lease_seconds = params.delay_requestable();
    pull_->lease_seconds = PullLeaseSeconds(context_, pull_->lease_seconds);
    return absl::OkStatus();
  }

  void OnWritten(bool ok) override {
    if (ok) {
      Hold(held_ - BytesOf(urls_[next_]));
      ++next_;
    }
    GoOn(ok ? grpc::Status::OK
            : grpc::Status(grpc::StatusCode::CANCELLED, "the client is gone, or takes nothing"));
  }

  void Ask() {
    const std::shared_ptr<CallReactor> self = shared_from_this();
    if (!context_.streams.TryHold(self, 0, limits::kMaxBytesPerPull)) {
      // If the call was stopped before it began to wait, the stop did not wake it.
      if (!stopped().ok()) OnStopped();
      return;
    }
    held_ = limits::kMaxBytesPerPull;
    asked_ = context_.clock.Now();
    PullUrls(context_, pull_, limits::kMaxUrlsPerPull,
             {.client = auth().client(), .address = NetworkText(auth().network())},
             [this, self](std::vector<FrontierServed> served) {
               urls_ = std::move(served);
               next_ = 0;
               size_t bytes = 0;
               for (const FrontierServed& url : urls_) bytes += BytesOf(url);
               Hold(bytes);
               GoOn(grpc::Status::OK);
             });
  }

  void Resume() override { GoOn(grpc::Status::OK); }

  void OnStopped() override {
    if (context_.streams.StopWaiting(shared_from_this())) GoOn(stopped());
  }

  // Changes the bytes that are counted as waiting for the client.
  void Hold(size_t bytes) {
    ResumeAll(context_.streams.SetAnswers(*this, std::exchange(held_, bytes), bytes));
  }

  void GoOn(grpc::Status status) {
    if (status.ok()) status = stopped();
    if (status.ok()) {
      status = GrpcStatusOf(Follow());
    }
    const bool late = next_ < urls_.size() && HalfOver();
    if (!status.ok() || late) {
      GiveBackRest();
      Hold(0);
      End(status);
    } else if (next_ < urls_.size()) {
      const grpc::ByteBuffer bytes = EncodeFrontierUrl(urls_[next_]);
      // Messages that follow one another may be sent together, except the first message. With the
      // hint, gRPC would hold back the first message with the stream's headers, and not report it
      // as written.
      grpc::WriteOptions options;
      if (std::exchange(begun_, true) && next_ + 1 < urls_.size()) options.set_buffer_hint();
      Write(bytes, options);
    } else if (pull_->over) {
      End(grpc::Status::OK);
    } else {
      Ask();
    }
  }

  // Returns true if the client would have less than half of the lease that it asked for. This
  // happens if the process or the log stalls, or if the client is slow.
  [[nodiscard]] bool HalfOver() const {
    return (context_.clock.Now() - asked_) * 2 > Duration::Seconds(pull_->lease_seconds);
  }

  grpc::Status Pay() {
    const StatusOr<const Caller*> caller = auth().Get();
    return caller.ok() ? PayForCall(context_, **caller, call()) : GrpcStatusOf(caller.status());
  }

  // Applies the caller's present limits to the pull.
  Status Follow() {
    ASSIGN_OR_RETURN(const Caller* caller, auth().Get());
    pull_->only = caller->crawl_ids();
    pull_->taker = caller->claim();
    return pull_->crawl ? caller->CheckCrawlId(*pull_->crawl) : absl::OkStatus();
  }

  void GiveBackRest() {
    if (next_ >= urls_.size()) return;
    urls_.erase(urls_.begin(), urls_.begin() + static_cast<ptrdiff_t>(next_));
    GiveBackUrls(context_, std::move(urls_), pull_->taker.client);
    urls_.clear();
  }

  const ServerContext& context_;
  const std::shared_ptr<FrontierPull> pull_ = std::make_shared<FrontierPull>();
  // Used by one thread at a time: a thread of gRPC after a write, and the frontier's thread after a
  // pull.
  std::vector<FrontierServed> urls_;
  Instant asked_;       // an instant before any lease of urls_ began
  size_t next_ = 0;     // index in urls_ of the URL being written, or to be written next
  size_t held_ = 0;     // bytes that context_.streams counts
  bool begun_ = false;  // a message was written
};

// --- Lists

// One call of ListURLs: reads slice by slice, and writes a message for each URL. Thread-safe.
class ListUrlsStream final : public ListStream {
 public:
  using ListStream::ListStream;

 private:
  Status Open(const grpc::ByteBuffer& bytes) override {
    urlfrontier::ListUrlParams params;
    RETURN_IF_ERROR(ReadRequest(bytes, &params, MostBytes(context_)));
    to_skip_ = params.start();
    left_ = params.size() > 0 ? params.size() : limits::kUsualFrontierPage;
    crawl_ = std::string(FrontierCrawlName(params.crawlid()));
    RETURN_IF_ERROR(CheckCrawl());
    scan_ = std::make_unique<FrontierScan>(*context_.frontier,
                                           FrontierQuery{.crawl = crawl_,
                                                         .key = params.key(),
                                                         .filter = params.filter(),
                                                         .ignore_case = params.ignorecase()});
    return absl::OkStatus();
  }

  // Checks the caller's present limits.
  Status CheckCrawl() {
    ASSIGN_OR_RETURN(const Caller* caller, auth().Get());
    return caller->CheckCrawlId(crawl_);
  }

  void Read() override {
    if (const Status may = CheckCrawl(); !may.ok()) return EndList(may);
    const Status status =
        scan_->Slice(limits::kFrontierSlice, [this](const FrontierScan::Found& found) {
          if (to_skip_ > 0) {
            --to_skip_;
            return true;
          }
          Add(found);
          --left_;
          return left_ > 0 && items_.size() < kListedAtATime && bytes_ < limits::kMaxBytesPerPull;
        });
    if (!status.ok()) return EndList(status);
    GoOn();
  }

  void Add(const FrontierScan::Found& found) {
    urlfrontier::URLItem item;
    urlfrontier::KnownURLItem& known = *item.mutable_known();
    // Metadata is stored as encoded fields of this message.
    (void)known.mutable_info()->MergeFromString(found.item.metadata);
    known.mutable_info()->set_url(std::string(found.url));
    known.mutable_info()->set_key(found.key);
    known.mutable_info()->set_crawlid(crawl_);
    known.set_refetchable_from_date(found.item.due);
    item.set_creation_date(found.item.created);
    items_.push_back(SerialiseMessage(item));
    bytes_ += items_.back().Length();
  }

  void GoOn() override {
    if (!items_.empty()) {
      grpc::ByteBuffer next = items_.front();
      items_.pop_front();
      bytes_ -= next.Length();
      return Write(next);
    }
    if (left_ == 0 || scan_->over()) return EndList(absl::OkStatus());
    ReadNext();
  }

  std::string crawl_;
  std::unique_ptr<FrontierScan> scan_;
  uint64_t to_skip_ = 0;
  uint64_t left_ = 0;
  std::deque<grpc::ByteBuffer> items_;
  size_t bytes_ = 0;  // bytes of items_
};

template <typename Stream>
Reactor* StartPut(const ServerContext& context, std::string_view path, ServerCall* call) {
  NoteStream(path, context, *call);
  const auto stream = std::make_shared<Stream>(context, *call);
  stream->Begin(&context.streams);
  return stream.get();
}

}  // namespace

Reactor* StartPutUrls(const ServerContext& context, ServerCall* call) {
  return StartPut<PutUrlsStream>(context, "/urlfrontier.URLFrontier/PutURLs", call);
}

Reactor* StartPutDiscovered(const ServerContext& context, ServerCall* call) {
  return StartPut<PutDiscoveredStream>(context, "/urlfrontier.URLFrontier/PutDiscovered", call);
}

Reactor* StartGetUrls(const ServerContext& context, ServerCall* call) {
  const auto stream = std::make_shared<GetUrlsStream>(context, call);
  stream->Begin();
  return stream.get();
}

Reactor* StartListUrls(const ServerContext& context, ServerCall* call) {
  return StartList<ListUrlsStream>(context, "/urlfrontier.URLFrontier/ListURLs", call);
}

}  // namespace freshet
