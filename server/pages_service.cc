#include "server/pages_service.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/url.h"
#include "server/batch_stream.h"
#include "server/convert.h"
#include "server/page_lister.h"

namespace freshet {
namespace {

class UpsertStream final : public BatchStream<v1::UpsertPagesRequest, v1::UpsertPagesResponse> {
 public:
  using BatchStream::BatchStream;

 private:
  const char* ItemField() const override { return "pages"; }
  int ItemCount(const v1::UpsertPagesRequest& request) const override {
    return request.pages_size();
  }
  void FillBatch(const v1::UpsertPagesRequest& request, const std::vector<TextFault>& faults,
                 Batch* batch) override {
    const Instant now = context_.clock.Now();
    for (int i = 0; i < request.pages_size(); ++i) {
      const auto place = static_cast<size_t>(i);
      if (const TextFault* fault = FindTextFault(faults, place)) {
        batch->Refuse(place, FaultOf(*fault));
        continue;
      }
      batch->Convert(place, [&](RoutedEvent* event) {
        return ConvertPage(request.pages(i), request.reset_unset_settings(), now, event);
      });
    }
  }
  void Count(const BatchCounts& counts) override {
    context_.counters.upserts_applied += counts.unrefused;
    context_.counters.upserts_refused += counts.refused;
  }
};

// The urls of a unary request as one batch; the call is answered when all is durable.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* RunUrls(const ServerContext& context, grpc::CallbackServerContext* call,
                                  const Request& request, Response* response,
                                  Fault (*convert)(std::string_view, std::string_view,
                                                   RoutedEvent*)) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  if (const Fault fault = CheckItemCount("urls", request.urls_size())) {
    reactor->Finish(GrpcStatusOf(*fault));
    return reactor;
  }
  if (const auto id = CanonicalCrawlId(request.crawl_id()); !id.ok()) {
    reactor->Finish(GrpcStatusOf(id.status()));
    return reactor;
  }
  Batch batch(0, static_cast<size_t>(request.urls_size()));
  for (int i = 0; i < request.urls_size(); ++i) {
    batch.Convert(static_cast<size_t>(i), [&](RoutedEvent* event) {
      return convert(request.urls(i), request.crawl_id(), event);
    });
  }
  (void)std::move(batch).Submit(context.router, [reactor, response](v1::BatchAck ack, BatchCounts) {
    *response->mutable_ack() = std::move(ack);
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

// On the shard's thread: reads the page, checks that it is the one meant, explains it.
grpc::Status DescribePage(const ServerContext& context, const PageKey& key, const ShardView& view,
                          v1::GetPageResponse* response) {
  const Status unknown = NotFound("url: {} is not known in crawl {}", key.url, key.crawl_id);
  const std::optional<PageNumber> number = view.state.FindNumber(key);
  if (!number) return GrpcStatusOf(unknown);
  const StatusOr<PageRecord> page = context.store.ReadPages({&*number, 1}).front();
  if (!page.ok()) return GrpcStatusOf(page.status());
  if (page->key != key) return GrpcStatusOf(unknown);
  const Explanation explanation = view.state.Explain(*page, view.now);
  const StatusOr<CrawlPolicy> policy = ResolvePolicy(context.settings.policy());
  const bool follows = policy.ok() && view.state.in_force() == *policy;
  ToProto(*page, explanation.lease, context.sources, response->mutable_page());
  ToProto(explanation, *page,
          {.policy = context.settings.policy_status(follows).in_force,
           .paused = context.dispatcher.paused() || context.dispatcher.rate() == Rate(),
           .defaults = context.politeness(),
           .now = view.now},
          context.sources, response->mutable_explanation());
  return grpc::Status::OK;
}

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* PagesService::UpsertPages(
    grpc::CallbackServerContext*) {
  const auto stream = std::make_shared<UpsertStream>(context_);
  stream->Begin(&context_.streams);
  return stream.get();
}

grpc::ServerUnaryReactor* PagesService::RemovePages(grpc::CallbackServerContext* call,
                                                    const v1::RemovePagesRequest* request,
                                                    v1::RemovePagesResponse* response) {
  return RunUrls(context_, call, *request, response, ConvertRemove);
}

grpc::ServerUnaryReactor* PagesService::RecheckPages(grpc::CallbackServerContext* call,
                                                     const v1::RecheckPagesRequest* request,
                                                     v1::RecheckPagesResponse* response) {
  return RunUrls(context_, call, *request, response, ConvertRecheck);
}

grpc::ServerUnaryReactor* PagesService::GetPage(grpc::CallbackServerContext* call,
                                                const v1::GetPageRequest* request,
                                                v1::GetPageResponse* response) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  PageKey key;
  std::string host;
  if (const Fault fault = ConvertKey(request->url(), request->crawl_id(), &key, &host)) {
    reactor->Finish(GrpcStatusOf(*fault));
    return reactor;
  }
  const bool asked = context_.router.OwnerOf(SlotOfHost(host))
                         .Query([this, key, reactor, response](const ShardView& view) {
                           reactor->Finish(DescribePage(context_, key, view, response));
                         });
  if (!asked) reactor->Finish({grpc::StatusCode::UNAVAILABLE, "the server is shutting down"});
  return reactor;
}

grpc::ServerWriteReactor<v1::ListPagesResponse>* PagesService::ListPages(
    grpc::CallbackServerContext*, const v1::ListPagesRequest* request) {
  return StartListing(context_, *request);
}

grpc::ServerWriteReactor<v1::ExportPagesResponse>* PagesService::ExportPages(
    grpc::CallbackServerContext*, const v1::ExportPagesRequest* request) {
  return StartExport(context_, *request);
}

}  // namespace freshet
