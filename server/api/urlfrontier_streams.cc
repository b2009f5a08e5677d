#include "server/api/urlfrontier_streams.h"

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/frontier_limits.h"
#include "core/base/limits.h"
#include "server/api/caller.h"
#include "server/api/caller_stream.h"
#include "server/api/faults.h"
#include "server/api/frontier_wire.h"
#include "server/api/list_stream.h"
#include "server/api/page_pull.h"
#include "server/api/scheduled_crawls.h"
#include "server/api/wire.h"
#include "server/base/client_network.h"
#include "server/frontier/frontier_names.h"
#include "server/frontier/frontier_scan.h"
#include "urlfrontier/urlfrontier.pb.h"

namespace freshet {
namespace {

// URLs of a list that are made before the client has taken them.
constexpr size_t kListedAtATime = 256;

constexpr std::string_view kGetUrlsPath = "/urlfrontier.URLFrontier/GetURLs";

// --- URLs that come in

// Thread-safe.
class PutUrlsStream final : public CallerStream {
 public:
  static constexpr std::string_view kPath = "/urlfrontier.URLFrontier/PutURLs";

  PutUrlsStream(const ServerContext& context, const grpc::CallbackServerContext& call)
      : CallerStream(context, kPath, call, limits::kMaxUnackedUrlsPerStream) {}

 private:
  void OnMessage(grpc::ByteBuffer* bytes) override {
    const uint64_t place = OpenAck();
    FlatMessage flat;
    FrontierItemMessage item;
    if (!flat.Take(bytes, MostBytes(context_)).ok() || !DecodeFrontierItem(flat.text(), &item)) {
      return Acknowledge(place, EncodeFrontierAck(item.id, FrontierOutcome::kSkipped));
    }
    std::string id(item.id.empty() ? item.info.url : item.id);
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
    put->known = item.known;
    put->due = item.due;
    std::vector<FrontierPut> puts;
    puts.push_back(*std::move(put));
    auto self = std::static_pointer_cast<PutUrlsStream>(shared_from_this());
    const bool go_on =
        PutUrls(context_, std::move(puts),
                [self, place, id = std::move(id)](const std::vector<FrontierOutcome>& outcomes) {
                  self->Acknowledge(place, EncodeFrontierAck(id, outcomes.front()));
                });
    if (!go_on) HoldReading();
  }
};

// Thread-safe.
class PutDiscoveredStream final : public CallerStream {
 public:
  static constexpr std::string_view kPath = "/urlfrontier.URLFrontier/PutDiscovered";

  PutDiscoveredStream(const ServerContext& context, const grpc::CallbackServerContext& call)
      : CallerStream(context, kPath, call, limits::kMaxUnackedUrlBatchesPerStream) {}

 private:
  void OnMessage(grpc::ByteBuffer* bytes) override {
    const uint64_t place = OpenAck();
    FlatMessage flat;
    FrontierBatchMessage batch;
    if (!flat.Take(bytes, MostBytes(context_)).ok() || !DecodeFrontierBatch(flat.text(), &batch)) {
      return Acknowledge(place, EncodeFrontierBatchAck(
                                    batch.id, std::vector(batch.count, FrontierOutcome::kSkipped)));
    }
    // Those that are too many for one batch may come again in another.
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
        context_, std::move(puts),
        [self, place, id = std::string(batch.id), all = std::move(outcomes),
         positions = std::move(positions)](const std::vector<FrontierOutcome>& own) mutable {
          for (size_t i = 0; i < own.size(); ++i) all[positions[i]] = own[i];
          self->Acknowledge(place, EncodeFrontierBatchAck(id, all));
        });
    if (!go_on) HoldReading();
  }
};

// --- URLs that go out

// One call. It writes one message at a time; the frontier is asked for more when all are written.
// Thread-safe.
class GetUrlsStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                            public std::enable_shared_from_this<GetUrlsStream> {
 public:
  GetUrlsStream(const ServerContext& context, StatusOr<Caller> caller, PullingClient who)
      : context_(context),
        caller_(std::move(caller)),
        who_(std::move(who)),
        watch_(context.calls, context.clock, context.calls.Find(kGetUrlsPath), CallKind::kStream) {}

  void Begin(const grpc::ByteBuffer& bytes) {
    self_ = shared_from_this();
    urlfrontier::GetParams params;
    Status status = caller_.status();
    if (status.ok()) status = ReadRequest(bytes, &params, MostBytes(context_));
    if (!status.ok()) return End(GrpcStatusOf(status));
    if (params.crawl_case() == urlfrontier::GetParams::kCrawlID) {
      pull_->crawl = std::string(FrontierCrawlName(params.crawlid()));
      status = caller_->CheckCrawlId(*pull_->crawl);
      if (!status.ok()) return End(GrpcStatusOf(status));
    }
    pull_->only = caller_->crawl_ids();
    pull_->key = params.key();
    // A key names a queue within a crawl id.
    if (!pull_->key.empty() && !pull_->crawl) return End(grpc::Status::OK);
    if (params.max_urls_per_queue() > 0) pull_->urls_per_queue = params.max_urls_per_queue();
    if (params.max_queues() > 0) pull_->queues = params.max_queues();
    if (params.delay_requestable() > 0) pull_->lease_seconds = params.delay_requestable();
    pull_->lease_seconds = PullLeaseSeconds(context_, pull_->lease_seconds);
    Ask();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      GiveBackRest();
      return End({grpc::StatusCode::CANCELLED, "the client is gone"});
    }
    watch_.CountSent();
    ++next_;
    GoOn();
  }
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override { const auto last = std::move(self_); }

 private:
  // The last use of this object, unless somebody holds it.
  void End(const grpc::Status& status) {
    watch_.End(status.error_code());
    Finish(status);
  }

  void Ask() {
    PullUrls(context_, pull_, limits::kMaxUrlsPerPull, who_,
             [self = shared_from_this()](std::vector<FrontierServed> served) {
               self->urls_ = std::move(served);
               self->next_ = 0;
               self->GoOn();
             });
  }

  void GoOn() {
    if (cancelled_) {
      GiveBackRest();
      return End({grpc::StatusCode::CANCELLED, "the client is gone"});
    }
    if (next_ < urls_.size()) {
      bytes_ = EncodeFrontierUrl(urls_[next_]);
      // What follows at once may leave with it, but for the first message: gRPC holds that back
      // together with what begins the stream, and does not say that it is written.
      grpc::WriteOptions options;
      if (std::exchange(begun_, true) && next_ + 1 < urls_.size()) options.set_buffer_hint();
      return StartWrite(&bytes_, options);
    }
    if (pull_->over) return End(grpc::Status::OK);
    Ask();
  }

  void GiveBackRest() {
    if (next_ >= urls_.size()) return;
    urls_.erase(urls_.begin(), urls_.begin() + static_cast<ptrdiff_t>(next_));
    GiveBackUrls(context_, std::move(urls_));
    urls_.clear();
  }

  const ServerContext& context_;
  const StatusOr<Caller> caller_;
  const PullingClient who_;
  CallWatch watch_;
  std::shared_ptr<GetUrlsStream> self_;  // until OnDone
  const std::shared_ptr<FrontierPull> pull_ = std::make_shared<FrontierPull>();
  std::atomic<bool> cancelled_{false};
  // Of whoever goes on: gRPC after a write, the frontier after a pull.
  std::vector<FrontierServed> urls_;
  size_t next_ = 0;         // of urls_: to be written, or being written
  bool begun_ = false;      // a message was written
  grpc::ByteBuffer bytes_;  // gRPC's while writing
};

// --- Lists

// Read slice by slice, a message for each URL. Thread-safe.
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
    CallAuth auth(context_.authoriser, context_.clock, "/urlfrontier.URLFrontier/ListURLs", call());
    ASSIGN_OR_RETURN(const Caller* caller, auth.Get());
    RETURN_IF_ERROR(caller->CheckCrawlId(crawl_));
    scan_ = std::make_unique<FrontierScan>(*context_.frontier,
                                           FrontierQuery{.crawl = crawl_,
                                                         .key = params.key(),
                                                         .filter = params.filter(),
                                                         .ignore_case = params.ignorecase()});
    return absl::OkStatus();
  }

  void Read() override {
    const Status status =
        scan_->Slice(limits::kFrontierSlice, [this](const FrontierScan::Found& found) {
          if (to_skip_ > 0) {
            --to_skip_;
            return true;
          }
          Add(found);
          --left_;
          return left_ > 0 && items_.size() < kListedAtATime;
        });
    if (!status.ok()) return End(status);
    GoOn();
  }

  void Add(const FrontierScan::Found& found) {
    urlfrontier::URLItem item;
    urlfrontier::KnownURLItem& known = *item.mutable_known();
    // Metadata is kept as fields of this message.
    (void)known.mutable_info()->MergeFromString(found.item.metadata);
    known.mutable_info()->set_url(std::string(found.url));
    known.mutable_info()->set_key(found.key);
    known.mutable_info()->set_crawlid(crawl_);
    known.set_refetchable_from_date(found.item.due);
    item.set_creation_date(found.item.created);
    items_.push_back(SerialiseMessage(item));
  }

  void GoOn() override {
    if (!items_.empty()) {
      grpc::ByteBuffer next = items_.front();
      items_.pop_front();
      return Write(next);
    }
    if (left_ == 0 || scan_->over()) return End(absl::OkStatus());
    ReadNext();
  }

  std::string crawl_;
  std::unique_ptr<FrontierScan> scan_;
  uint64_t to_skip_ = 0;
  uint64_t left_ = 0;
  std::deque<grpc::ByteBuffer> items_;
};

template <typename Stream>
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartPut(
    const ServerContext& context, const grpc::CallbackServerContext& call) {
  using Reactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;
  if (auto* away = TurnAway<Reactor>(context.authoriser, Stream::kPath, call)) return away;
  const auto stream = std::make_shared<Stream>(context, call);
  stream->Begin(&context.streams);
  return stream.get();
}

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartPutUrls(
    const ServerContext& context, const grpc::CallbackServerContext& call) {
  return StartPut<PutUrlsStream>(context, call);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartPutDiscovered(
    const ServerContext& context, const grpc::CallbackServerContext& call) {
  return StartPut<PutDiscoveredStream>(context, call);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartGetUrls(const ServerContext& context,
                                                         const grpc::CallbackServerContext& call,
                                                         const grpc::ByteBuffer& request) {
  using Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;
  if (auto* away = TurnAway<Reactor>(context.authoriser, kGetUrlsPath, call)) return away;
  StatusOr<Caller> caller = Caller();
  const Credentials credentials = CredentialsOf(call);
  if (context.authoriser.enabled()) {
    const MethodRule* rule = FindMethod(kGetUrlsPath);
    CHECK(rule != nullptr, "GetURLs has no rule");
    caller = context.authoriser.Check(*rule, credentials);
  }
  PullingClient who = {
      .client = Authoriser::ClientOf(caller.ok() ? *caller : Caller(), credentials),
      .address = NetworkText(credentials.network)};
  const auto stream = std::make_shared<GetUrlsStream>(context, std::move(caller), std::move(who));
  stream->Begin(request);
  return stream.get();
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartListUrls(const ServerContext& context,
                                                          grpc::CallbackServerContext* call,
                                                          const grpc::ByteBuffer& request) {
  return StartList<ListUrlsStream>(context, "/urlfrontier.URLFrontier/ListURLs", call, request);
}

}  // namespace freshet
