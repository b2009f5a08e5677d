#include "server/api/page_lister.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "core/base/url.h"
#include "freshet/v1/pages.pb.h"
#include "grpcpp/server_context.h"
#include "server/api/caller.h"
#include "server/api/from_proto.h"
#include "server/api/list_stream.h"
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

// One chunk at a time goes from the background thread over the shards to the wire. Thread-safe.
template <typename Request, typename Response>
class Lister final : public ListStream {
 public:
  using ListStream::ListStream;

 private:
  Status Open(const grpc::ByteBuffer& bytes) override {
    Request request;
    RETURN_IF_ERROR(ReadRequest(bytes, &request, MostBytes(context_)));
    if (request.has_limit()) left_ = request.limit();
    if (left_ == 0) return InvalidArgument("limit: is 0");
    ASSIGN_OR_RETURN(query_, MakeQuery(request.filter()));
    RETURN_IF_ERROR(CheckQuery());
    if (!absl::WebSafeBase64Unescape(request.page_token(), &token_)) {
      return InvalidArgument("page_token: is none of this server's");
    }
    return absl::OkStatus();
  }

  // A caller with limits lists what lies within them, and says so itself.
  [[nodiscard]] Status CheckQuery() {
    CallAuth auth(context_.authoriser, context_.clock, PathOf(Request()), call());
    ASSIGN_OR_RETURN(const Caller* caller, auth.Get());
    if (!caller->limited()) return absl::OkStatus();
    return caller->CheckPage(query_.crawl_id.value_or(""), query_.host);
  }

  void Read() override {
    if (const Status status = Find(); !status.ok()) return End(status);
    Describe();
  }

  // Pages that fit.
  Status Find() {
    pages_.clear();
    while (pages_.empty()) {
      if (cancelled()) return MakeStatus(absl::StatusCode::kCancelled, "cancelled");
      const size_t most = static_cast<size_t>(std::min<uint64_t>(left_, kChunk));
      ASSIGN_OR_RETURN(ListResult list, context_.store.List(query_, token_, most));
      token_ = std::move(list.next_token);
      pages_ = std::move(list.pages);
      if (token_.empty()) break;
    }
    return absl::OkStatus();
  }

  // Has the shards say what they know of them.
  void Describe() {
    explanations_.assign(pages_.size(), {});
    auto self = std::static_pointer_cast<Lister>(this->shared_from_this());
    context_.router.QueryAll(
        [self](size_t shard, const ShardView& view) {
          const size_t shards = self->context_.router.shards().size();
          for (size_t i = 0; i < self->pages_.size(); ++i) {
            const PageRecord& page = self->pages_[i];
            if (SlotOfHost(page.host).value() % shards != shard) continue;
            self->explanations_[i] = view.state.Explain(page, view.now);
          }
        },
        [self] { self->WriteChunk(); });
  }

  void WriteChunk() {
    Response response;
    for (size_t i = 0; i < pages_.size(); ++i) {
      AddPage(pages_[i], explanations_[i], context_.sources, &response);
    }
    left_ -= std::min<uint64_t>(left_, pages_.size());
    std::string token;
    absl::WebSafeBase64Escape(token_, &token);
    response.set_next_page_token(token);
    // A client that does not read holds up the bytes alone.
    std::vector<PageRecord>().swap(pages_);
    std::vector<Explanation>().swap(explanations_);
    Write(SerialiseMessage(response));
  }

  void GoOn() override {
    if (token_.empty() || left_ == 0) return End(absl::OkStatus());
    ReadNext();
  }

  ListQuery query_;
  std::string token_;  // of the store; empty at the start and at the end
  uint64_t left_ = UINT64_MAX;
  std::vector<PageRecord> pages_;
  std::vector<Explanation> explanations_;
};

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartListing(const ServerContext& context,
                                                         grpc::CallbackServerContext* call,
                                                         const grpc::ByteBuffer& request) {
  return StartList<Lister<v1::ListPagesRequest, v1::ListPagesResponse>>(
      context, PathOf(v1::ListPagesRequest()), call, request);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartExport(const ServerContext& context,
                                                        grpc::CallbackServerContext* call,
                                                        const grpc::ByteBuffer& request) {
  return StartList<Lister<v1::ExportPagesRequest, v1::ExportPagesResponse>>(
      context, PathOf(v1::ExportPagesRequest()), call, request);
}

}  // namespace freshet
