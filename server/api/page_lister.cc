#include "server/api/page_lister.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "fmt/format.h"
#include "freshet/v1/pages.pb.h"
#include "grpc/support/time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/server_context.h"
#include "server/api/batch.h"
#include "server/api/caller.h"
#include "server/api/faults.h"
#include "server/api/from_proto.h"
#include "server/api/to_proto.h"
#include "server/api/wire.h"

namespace freshet {
namespace {

// Pages of one message: what a shard describes in about a millisecond.
constexpr size_t kChunk = 256;

StatusOr<ListQuery> MakeQuery(const v1::PageFilter& filter) {
  ListQuery query;
  if (filter.has_crawl_id()) {
    ASSIGN_OR_RETURN(query.crawl_id, CanonicalCrawlId(filter.crawl_id()));
  }
  if (filter.scope_case() == v1::PageFilter::kHost) {
    ASSIGN_OR_RETURN(query.host, ConvertHost(filter.host()));
  }
  if (filter.scope_case() == v1::PageFilter::kUrlPrefix) {
    const StatusOr<CanonicalUrl> prefix = Canonicalise(filter.url_prefix());
    if (!prefix.ok()) {
      return InvalidArgument("url_prefix: {}", std::string(prefix.status().message()));
    }
    query.host = prefix->host;
    query.url_prefix = prefix->text;
  }
  return query;
}

std::string_view PathOf(const v1::ListPagesRequest&) {
  return "/freshet.v1.PagesService/ListPages";
}
std::string_view PathOf(const v1::ExportPagesRequest&) {
  return "/freshet.v1.PagesService/ExportPages";
}

void AddPage(const PageRecord& page, const Explanation& explanation, const Sources& sources,
             v1::ListPagesResponse* response) {
  ToProto(page, explanation.lease, sources, response->add_pages());
}

void AddPage(const PageRecord& page, const Explanation& explanation, const Sources& sources,
             v1::ExportPagesResponse* response) {
  v1::PageRecord* record = response->add_pages();
  ToProto(page, explanation.lease, sources, record->mutable_page());
  ToProto(explanation.estimate, page, record->mutable_estimates());
  for (const CrawlObservation& observation : page.detail.statistics.recent) {
    ToProto(observation, sources, record->add_observations());
  }
}

// Thread-safe: one chunk at a time goes from the background thread over the shards to the wire.
template <typename Request, typename Response>
class Lister final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                     public std::enable_shared_from_this<Lister<Request, Response>> {
 public:
  Lister(const ServerContext& context, grpc::CallbackServerContext* call)
      : context_(context), call_(*call), admitted_(context.listings.Take()) {}
  ~Lister() override {
    if (admitted_) context_.listings.Give();
  }

  void Begin(const grpc::ByteBuffer& bytes) {
    self_ = this->shared_from_this();
    if (!admitted_) {
      return Finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
                     fmt::format("{} lists are being made: try again when one of them is done",
                                 limits::kMaxListings)});
    }
    grpc::ByteBuffer shared(bytes);
    Request request;
    MessageFaults faults;
    const Status status = ParseMessage(&shared, &request, &faults, MostBytes(context_));
    if (!status.ok()) return Finish(GrpcStatusOf(status));
    if (!faults.texts.empty()) return Finish(GrpcStatusOf(StatusOf(faults.texts.front())));
    if (request.has_limit()) left_ = request.limit();
    if (left_ == 0) return Finish(GrpcStatusOf(InvalidArgument("limit: is 0")));
    StatusOr<ListQuery> query = MakeQuery(request.filter());
    if (!query.ok()) return Finish(GrpcStatusOf(query.status()));
    query_ = *std::move(query);
    if (const Status may = CheckQuery(); !may.ok()) return Finish(GrpcStatusOf(may));
    if (!absl::WebSafeBase64Unescape(request.page_token(), &token_)) {
      return Finish(GrpcStatusOf(InvalidArgument("page_token: is none of this server's")));
    }
    ReadNext();
  }

  void OnWriteDone(bool ok) override {
    written_ = ok;
    alarm_->Cancel();
    EndHalfOfWrite();
  }
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override { const auto last = std::move(self_); }

 private:
  // A caller with limits lists what lies within them, and says so itself.
  [[nodiscard]] Status CheckQuery() {
    CallAuth auth(context_.authoriser, context_.clock, PathOf(Request()), call_);
    ASSIGN_OR_RETURN(const Caller* caller, auth.Get());
    if (!caller->limited()) return absl::OkStatus();
    return caller->CheckPage(query_.crawl_id.value_or(""), query_.host);
  }

  void ReadNext() {
    const bool posted = context_.background.Post([self = this->shared_from_this()] {
      const Status status = self->ReadChunk();
      if (!status.ok()) self->Finish(GrpcStatusOf(status));
    });
    if (!posted) Finish({grpc::StatusCode::UNAVAILABLE, "the server is shutting down"});
  }

  // Finds pages that fit and hands them to the shards.
  Status ReadChunk() {
    pages_.clear();
    while (pages_.empty()) {
      if (cancelled_) return MakeStatus(absl::StatusCode::kCancelled, "cancelled");
      const size_t most = static_cast<size_t>(std::min<uint64_t>(left_, kChunk));
      ASSIGN_OR_RETURN(ListResult list, context_.store.List(query_, token_, most));
      token_ = std::move(list.next_token);
      pages_ = std::move(list.pages);
      if (token_.empty()) break;
    }
    Describe();
    return absl::OkStatus();
  }

  void Describe() {
    explanations_.assign(pages_.size(), {});
    auto self = this->shared_from_this();
    context_.router.QueryAll(
        [self](size_t shard, const ShardView& view) {
          const size_t shards = self->context_.router.shards().size();
          for (size_t i = 0; i < self->pages_.size(); ++i) {
            const PageRecord& page = self->pages_[i];
            if (SlotOfHost(page.host).value() % shards != shard) continue;
            self->explanations_[i] = view.state.Explain(page, view.now);
          }
        },
        [self] { self->Write(); });
  }

  void Write() {
    Response response;
    for (size_t i = 0; i < pages_.size(); ++i) {
      AddPage(pages_[i], explanations_[i], context_.sources, &response);
    }
    left_ -= std::min<uint64_t>(left_, pages_.size());
    std::string token;
    absl::WebSafeBase64Escape(token_, &token);
    response.set_next_page_token(token);
    bytes_ = SerialiseMessage(response);
    // A client that does not read holds up the bytes alone.
    std::vector<PageRecord>().swap(pages_);
    std::vector<Explanation>().swap(explanations_);
    StartTimedWrite();
  }

  // A client that reads no further would keep its place for ever.
  void StartTimedWrite() {
    halves_left_ = 2;
    // A new one each time: the last one's callback may not have returned yet.
    alarm_ = std::make_unique<grpc::Alarm>();
    alarm_->Set(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                             gpr_time_from_micros(context_.config.list_write_timeout.micros(),
                                                  GPR_TIMESPAN)),
                [this](bool over) {
                  if (over) call_.TryCancel();
                  EndHalfOfWrite();
                });
    StartWrite(&bytes_);
  }

  // The write and its alarm both report, in any order. The call goes on, and may end, after the
  // later of the two, so that neither finds the call or the lister gone.
  void EndHalfOfWrite() {
    if (--halves_left_ > 0) return;
    if (!written_) return Finish({grpc::StatusCode::UNAVAILABLE, "the list was cut off"});
    if (token_.empty() || left_ == 0) return Finish(grpc::Status::OK);
    ReadNext();
  }

  const ServerContext& context_;
  grpc::CallbackServerContext& call_;  // until OnDone
  const bool admitted_;
  std::shared_ptr<Lister> self_;  // until OnDone
  std::atomic<bool> cancelled_{false};
  ListQuery query_;
  std::string token_;  // of the store; empty at the start and at the end
  uint64_t left_ = UINT64_MAX;
  std::vector<PageRecord> pages_;
  std::vector<Explanation> explanations_;
  grpc::ByteBuffer bytes_;  // gRPC's while writing
  std::unique_ptr<grpc::Alarm> alarm_;
  std::atomic<int> halves_left_{0};
  bool written_ = false;
};

template <typename Request, typename Response>
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartLister(const ServerContext& context,
                                                        grpc::CallbackServerContext* call,
                                                        const grpc::ByteBuffer& request) {
  const auto lister = std::make_shared<Lister<Request, Response>>(context, call);
  lister->Begin(request);
  return lister.get();
}

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartListing(const ServerContext& context,
                                                         grpc::CallbackServerContext* call,
                                                         const grpc::ByteBuffer& request) {
  return StartLister<v1::ListPagesRequest, v1::ListPagesResponse>(context, call, request);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartExport(const ServerContext& context,
                                                        grpc::CallbackServerContext* call,
                                                        const grpc::ByteBuffer& request) {
  return StartLister<v1::ExportPagesRequest, v1::ExportPagesResponse>(context, call, request);
}

}  // namespace freshet
