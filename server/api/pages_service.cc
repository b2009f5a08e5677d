#include "server/api/pages_service.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/url.h"
#include "core/schedule/explanation.h"
#include "core/schedule/page_book.h"
#include "core/schedule/policy_switch.h"
#include "server/api/batch_stream.h"
#include "server/api/faults.h"
#include "server/api/from_proto.h"
#include "server/api/page_lister.h"
#include "server/api/parted_ack.h"
#include "server/api/rate_sharing.h"
#include "server/api/to_proto.h"
#include "server/engine/dispatcher.h"
#include "server/engine/runtime_settings.h"

namespace freshet {
namespace {

class Upserts {
 public:
  using Request = v1::UpsertPagesRequest;
  using Response = v1::UpsertPagesResponse;
  static constexpr const char* kField = "pages";
  static constexpr std::string_view kPath = "/freshet.v1.PagesService/UpsertPages";

  explicit Upserts(const ServerContext& context) : context_(context) {}

  static auto* Of(Request* request) { return request->mutable_pages(); }
  Batch Convert(const Request& request, const std::vector<TextFault>& faults,
                const Caller& caller) const {
    const Instant now = context_.clock.Now();
    const bool reset = request.reset_unset_settings();
    Batch batch(request.sequence(), request.pages_size());
    batch.SetCaller(&caller);
    for (int i = 0; i < request.pages_size(); ++i) {
      Status fault = CheckTexts(faults, i);
      if (fault.ok()) fault = CheckUrlSize(request.pages(i).url(), context_.config);
      batch.Add(i, fault.ok() ? ConvertPage(request.pages(i), reset, now) : fault);
    }
    return batch;
  }
  static void CopyPart(const Request& request, const std::vector<uint32_t>& places, Request* part) {
    part->set_sequence(request.sequence());
    part->set_reset_unset_settings(request.reset_unset_settings());
    CopyItems(request.pages(), places, part->mutable_pages());
  }
  void Count(const BatchCounts& counts) const {
    context_.counters.upserts_applied += counts.unrefused;
    context_.counters.upserts_refused += counts.refused;
  }

 private:
  const ServerContext& context_;
};

bool IsAllRefused(const v1::BatchAck& ack, int items) {
  const auto refused = std::count_if(
      ack.statuses().begin(), ack.statuses().end(),
      [](const v1::ItemStatus& status) { return status.outcome() == v1::ITEM_OUTCOME_REFUSED; });
  return refused == items;
}

// Runs the URLs of a unary request as one batch. The call is answered when everything is durable.
template <typename Request, typename Response>
void RunUrls(const ServerContext& context, UnaryCall<Request, Response>* call,
             StatusOr<RoutedEvent> (*convert)(std::string_view, std::string_view)) {
  const Request& request = call->request();
  if (const Status count = CheckItemCount("urls", request.urls_size(), context.config);
      !count.ok()) {
    return call->Answer(GrpcStatusOf(count));
  }
  const StatusOr<std::string> id = CanonicalCrawlId(request.crawl_id());
  if (!id.ok()) return call->Answer(GrpcStatusOf(id.status()));
  if (const Status may = call->caller().CheckCrawlId(*id); !may.ok()) {
    return call->Answer(GrpcStatusOf(may));
  }
  // The client has already paid for the first URL, because the call itself costs one item.
  const auto others = static_cast<uint64_t>(request.urls_size()) - 1;
  (void)call->caller().Pay(others, context.clock.Now());
  std::vector<TextFault> faults = call->text_faults();
  auto urls = request.urls();
  PartSender<Request, Response> sender(context, call->path(), /*streams=*/false);
  sender.SetClient(call->shown());
  const PartedAck::Done acked = sender.SendOthers(
      /*sequence=*/0, &urls, &faults,
      [&request](const std::vector<uint32_t>& places, Request* part) {
        part->set_crawl_id(request.crawl_id());
        CopyItems(request.urls(), places, part->mutable_urls());
      },
      [call](v1::BatchAck ack) {
        if (IsAllRefused(ack, call->request().urls_size())) call->NoteNoChange();
        *call->response()->mutable_ack() = std::move(ack);
        call->Answer(grpc::Status::OK);
      });
  if (urls.empty()) return acked({});
  Batch batch(0, urls.size());
  batch.SetCaller(&call->caller());
  for (int i = 0; i < urls.size(); ++i) {
    const Status texts = CheckTexts(faults, i);
    batch.Add(i, texts.ok() ? convert(urls[i], request.crawl_id()) : texts);
  }
  (void)std::move(batch).Submit(context.router,
                                [acked](v1::BatchAck ack, BatchCounts) { acked(std::move(ack)); });
}

void RemovePages(const ServerContext& context,
                 UnaryCall<v1::RemovePagesRequest, v1::RemovePagesResponse>* call) {
  RunUrls(context, call, ConvertRemove);
}

void RecheckPages(const ServerContext& context,
                  UnaryCall<v1::RecheckPagesRequest, v1::RecheckPagesResponse>* call) {
  RunUrls(context, call, ConvertRecheck);
}

std::string Standstill(const ServerContext& context) {
  const Dispatcher& dispatcher = context.dispatcher;
  if (const std::optional<std::string> reason = dispatcher.pause(); reason) {
    return reason->empty() ? "assignments are paused" : "assignments are paused: " + *reason;
  }
  if (dispatcher.rate() != Rate()) return "";
  const bool whole = context.rates.total() == Rate();
  return whole ? "the crawl rate is 0"
               : "the fleet's leader grants this server no part of the crawl rate now";
}

// Finds the page with this key, and explains it. Called on the thread of the page's shard.
grpc::Status DescribePage(const ServerContext& context, const PageKey& key, const ShardView& view,
                          v1::GetPageResponse* response) {
  const Status unknown = NotFound("url: {} is not known in crawl id {}", key.url, key.crawl_id);
  std::vector<PageNumber> candidates;
  view.state.pages().FindNumbers(key, &candidates);
  StatusOr<PageRecord> page = unknown;
  for (StatusOr<PageRecord>& candidate : context.store.ReadPages(candidates)) {
    if (candidate.ok() && candidate->key != key) continue;
    // A commit that the shard has not installed yet has removed the page.
    if (absl::IsNotFound(candidate.status())) continue;
    page = std::move(candidate);
    if (page.ok()) break;
  }
  if (!page.ok()) return GrpcStatusOf(page.status());
  const Explanation explanation = view.state.Explain(*page, view.now);
  const StatusOr<CrawlPolicy> policy = ResolvePolicy(context.settings.policy());
  const bool follows = policy.ok() && view.state.policies().in_force() == *policy;
  ToProto(*page, explanation.lease, context.sources, response->mutable_page());
  ToProto(explanation, *page,
          {.policy = context.settings.policy_status(follows).in_force,
           .standstill = Standstill(context),
           .now = view.now},
          context.sources, response->mutable_explanation());
  return grpc::Status::OK;
}

void GetPage(const ServerContext& context,
             UnaryCall<v1::GetPageRequest, v1::GetPageResponse>* call) {
  const v1::GetPageRequest& request = call->request();
  const StatusOr<HostedKey> named = ConvertKey(request.url(), request.crawl_id());
  if (!named.ok()) return call->Answer(GrpcStatusOf(named.status()));
  const Status may = call->caller().CheckPage(named->key.crawl_id, named->host);
  if (!may.ok()) return call->Answer(GrpcStatusOf(may));
  const auto describe = [&context, call, key = named->key](const ShardView& view) {
    call->Answer(DescribePage(context, key, view, call->response()));
  };
  const PushOutcome asked =
      context.router.OwnerOf(SlotOfHost(named->host)).Read(describe, call->caller().claim().client);
  if (asked != PushOutcome::kTaken) call->Answer(UnreadStatus(asked));
}

}  // namespace

std::vector<CallMethod> PagesMethods(const ServerContext& context) {
  return {
      Streaming(Upserts::kPath, context, StartBatchStream<Upserts>),
      Paid("/freshet.v1.PagesService/RemovePages", context, freshet::RemovePages),
      Paid("/freshet.v1.PagesService/RecheckPages", context, freshet::RecheckPages),
      Paid("/freshet.v1.PagesService/GetPage", context, freshet::GetPage),
      Streaming("/freshet.v1.PagesService/ListPages", context, StartListing),
      Streaming("/freshet.v1.PagesService/ExportPages", context, StartExport),
  };
}

}  // namespace freshet
