#include "server/api/page_lister.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "core/base/url.h"
#include "core/schedule/explanation.h"
#include "fmt/format.h"
#include "freshet/v1/pages.pb.h"
#include "grpcpp/server_context.h"
#include "server/api/caller.h"
#include "server/api/from_proto.h"
#include "server/api/list_stream.h"
#include "server/api/over_divisions.h"
#include "server/api/to_proto.h"
#include "server/api/wire.h"
#include "storage/pages_read.h"

namespace freshet {
namespace {

// The maximum number of pages in one message. A shard describes this number in about a millisecond.
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

// Lists pages. One chunk at a time goes from the background thread through the shards to the
// client. Thread-safe.
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
    if (context_.divisions != nullptr) shown_ = ShownBy(call());
    SpanDivisions();
    if (!TakeToken(request.page_token())) {
      return InvalidArgument("page_token: this server did not issue this token");
    }
    request_ = std::move(request);
    return absl::OkStatus();
  }

  // Sets the divisions that can have pages of the list.
  void SpanDivisions() {
    const SlotDivision own = context_.router.division();
    spans_ = SpansFleet(context_, shown_);
    division_ = spans_ ? 0 : own.division;
    end_ = spans_ ? own.divisions : own.division + 1;
    if (!spans_ || query_.host.empty()) return;
    division_ = own.Of(SlotOfHost(query_.host));
    end_ = division_ + 1;
  }

  // Reads the token. Over a fleet, the token begins with the division in hexadecimal digits and a
  // dot.
  [[nodiscard]] bool TakeToken(std::string token) {
    if (spans_ && !token.empty()) {
      uint32_t division = 0;
      int length = -1;
      const int read = std::sscanf(token.c_str(), "%4x.%n", &division, &length);
      if (read != 1 || length < 0 || division < division_ || division >= end_) return false;
      division_ = division;
      token.erase(0, static_cast<size_t>(length));
    }
    token_ = std::move(token);
    return !IsOwn() || absl::WebSafeBase64Unescape(std::string(token_), &token_);
  }
  [[nodiscard]] bool IsOwn() const { return division_ == context_.router.division().division; }

  // Checks that a caller with limits asks only for pages within them.
  [[nodiscard]] Status CheckQuery() {
    ASSIGN_OR_RETURN(const Caller* caller, auth().Get());
    if (!caller->limited()) return absl::OkStatus();
    return caller->CheckPage(query_.crawl_id.value_or(""), query_.host);
  }

  void Read() override {
    // The caller's limits may have changed since the last chunk.
    if (const Status may = CheckQuery(); !may.ok()) return EndList(may);
    if (!IsOwn()) return Ask();
    if (const Status status = Find(); !status.ok()) return EndList(status);
    if (pages_.empty() && !token_.empty() && !shown_.sent_on) return ReadNext();
    Describe();
  }

  // Reads as many pages as a list may read in one turn of the thread, and keeps those that match.
  // If none match, Read continues with the next pages, except if another server has asked for a
  // single message.
  Status Find() {
    const size_t most = static_cast<size_t>(std::min<uint64_t>(left_, kChunk));
    ASSIGN_OR_RETURN(ListResult list, context_.store.List(query_, token_, most));
    token_ = std::move(list.next_token);
    pages_ = std::move(list.pages);
    return absl::OkStatus();
  }

  // Asks the server of another division for one message of its list.
  void Ask() {
    request_.set_limit(std::min<uint64_t>(left_, kChunk));
    request_.set_page_token(token_);
    auto self = std::static_pointer_cast<Lister>(this->shared_from_this());
    AskDivisions(context_, PathOf(request_), shown_, {{division_, SerialiseMessage(request_)}},
                 kFleetListPatience,
                 [self](const DivisionAnswers& answers) { self->Pass(answers.front().answer); });
  }
  // If the division fails, ends the whole list, because a client could not see the gap.
  void Pass(const StatusOr<grpc::ByteBuffer>& answer) {
    StatusOr<Response> theirs = ResponseIn<Response>(answer);
    if (!theirs.ok()) return EndList(StatusOfDivision(division_, theirs.status()));
    token_ = theirs->next_page_token();
    const auto pages = static_cast<uint64_t>(theirs->pages_size());
    // None of the pages that were read match.
    if (pages == 0 && !token_.empty()) return ReadNext();
    WriteOn(pages, *std::move(theirs));
  }

  // Makes the shards describe the pages.
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
        [self] { self->WriteChunk(); }, ClientNumber(this->client()));
  }

  void WriteChunk() {
    Response response;
    for (size_t i = 0; i < pages_.size(); ++i) {
      AddPage(pages_[i], explanations_[i], context_.sources, &response);
    }
    const uint64_t pages = pages_.size();
    // Frees the pages now, so that only the bytes of the message are held while the client does not
    // read.
    std::vector<PageRecord>().swap(pages_);
    std::vector<Explanation>().swap(explanations_);
    WriteOn(pages, std::move(response));
  }

  // Writes the message with the token of the next one.
  void WriteOn(uint64_t pages, Response response) {
    left_ -= std::min(left_, pages);
    std::string token = token_;
    if (IsOwn()) absl::WebSafeBase64Escape(token_, &token);
    if (token.empty()) ++division_;
    if (division_ == end_) {
      response.clear_next_page_token();
    } else {
      response.set_next_page_token(spans_ ? fmt::format("{:x}.{}", division_, token) : token);
    }
    Write(SerialiseMessage(response));
  }

  void GoOn() override {
    if (division_ == end_ || left_ == 0 || shown_.sent_on) return EndList(absl::OkStatus());
    ReadNext();
  }

  ListQuery query_;
  Request request_;  // the request to other divisions
  ShownByClient shown_;
  bool spans_ = false;     // whether the list covers all divisions
  uint32_t division_ = 0;  // the division being read
  uint32_t end_ = 0;
  // A token of the store or of another server; empty at the start and at the end.
  std::string token_;
  uint64_t left_ = UINT64_MAX;
  std::vector<PageRecord> pages_;
  std::vector<Explanation> explanations_;
};

}  // namespace

Reactor* StartListing(const ServerContext& context, ServerCall* call) {
  return StartList<Lister<v1::ListPagesRequest, v1::ListPagesResponse>>(
      context, PathOf(v1::ListPagesRequest()), call);
}

Reactor* StartExport(const ServerContext& context, ServerCall* call) {
  return StartList<Lister<v1::ExportPagesRequest, v1::ExportPagesResponse>>(
      context, PathOf(v1::ExportPagesRequest()), call);
}

}  // namespace freshet
