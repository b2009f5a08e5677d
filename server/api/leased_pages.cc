#include "server/api/leased_pages.h"

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/url.h"
#include "core/schedule/crawl_book.h"
#include "core/schedule/host_book.h"
#include "server/api/faults.h"
#include "server/api/over_divisions.h"
#include "server/api/url_pages.h"
#include "server/engine/router.h"

namespace freshet {
namespace {

using LeasesCounted = std::function<void(StatusOr<uint64_t>)>;

// Counts pages of this server.
void CountHere(const ServerContext& context, const v1::CountLeasedPagesRequest& request,
               LeasesCounted done) {
  if (request.host().empty()) {
    const auto count = std::make_shared<std::atomic<uint64_t>>(0);
    return context.router.QueryAll(
        [count, crawl_id = request.crawl_id()](size_t /*shard*/, const ShardView& view) {
          const std::optional<CrawlStatus> crawl = view.state.crawls().StatusOf(crawl_id);
          if (crawl) *count += crawl->counters.out;
        },
        [count, done = std::move(done)] { done(count->load()); }, kOfFrontier);
  }
  const auto count = [host = request.host(), done](const ShardView& view) {
    const StatusOr<HostStatus> status = view.state.hosts().Describe(host, view.now);
    done(status.ok() ? status->in_flight : 0);
  };
  const PushOutcome asked =
      context.router.OwnerOf(SlotOfHost(request.host())).Read(count, kOfFrontier);
  if (asked == PushOutcome::kTaken) return;
  done(MakeStatus(absl::StatusCode::kUnavailable, "the server is busy: try again"));
}

void AddAnswers(const DivisionAnswers& answers, uint64_t* count) {
  for (const DivisionAnswer& one : answers) {
    const auto response = ResponseIn<v1::CountLeasedPagesResponse>(one.answer);
    if (response.ok()) *count += response->pages();
  }
}

}  // namespace

void CountLeasedPages(const ServerContext& context, const v1::CountLeasedPagesRequest& request,
                      std::function<void(StatusOr<uint64_t>)> done) {
  const SlotDivision own = context.router.division();
  const bool of_host = !request.host().empty();
  const uint32_t owner = of_host ? own.Of(SlotOfHost(request.host())) : own.division;
  if (context.divisions == nullptr || (of_host && owner == own.division)) {
    return CountHere(context, request, std::move(done));
  }
  const grpc::ByteBuffer bytes = SerialiseMessage(request);
  if (of_host) {
    return AskDivisions(context, kCountLeasedPagesPath, {}, {{owner, bytes}}, kFleetViewPatience,
                        [done = std::move(done)](const DivisionAnswers& answers) {
                          uint64_t count = 0;
                          AddAnswers(answers, &count);
                          done(count);
                        });
  }
  AskOtherDivisions(context, kCountLeasedPagesPath, {}, bytes, kFleetViewPatience,
                    [&context, request, done = std::move(done)](const DivisionAnswers& answers) {
                      uint64_t others = 0;
                      AddAnswers(answers, &others);
                      CountHere(context, request, [others, done](const StatusOr<uint64_t>& here) {
                        done(here.ok() ? StatusOr<uint64_t>(*here + others) : here);
                      });
                    });
}

void HandleCountLeasedPages(
    const ServerContext& context,
    UnaryCall<v1::CountLeasedPagesRequest, v1::CountLeasedPagesResponse>* call) {
  // The server that makes these calls limits their number.
  CountHere(context, call->request(), [call](const StatusOr<uint64_t>& count) {
    if (count.ok()) call->response()->set_pages(*count);
    call->Answer(GrpcStatusOf(count.status()));
  });
}

}  // namespace freshet
