#include "server/api/fleet_urls.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/safe_text.h"
#include "server/api/batch.h"
#include "server/api/caller_stream.h"
#include "server/api/faults.h"
#include "server/api/lease_returns.h"
#include "server/api/page_pull.h"
#include "server/api/url_events.h"
#include "server/api/url_pages.h"
#include "server/api/wire.h"
#include "server/base/frontier_limits.h"
#include "server/base/limits.h"
#include "server/engine/dispatcher.h"

namespace freshet {
namespace {

// Sets the outcome of the event at this position.
void SetOutcome(const Status& status, int place, v1::TakeUrlsResponse* response) {
  response->set_codes(place, static_cast<uint32_t>(status.code()));
  const std::string message(status.message());
  response->set_messages(place, CutText(message, limits::kMaxReasonBytes));
}

// One stream. Thread-safe.
class TakeUrlsStream final : public CallerStream {
 public:
  TakeUrlsStream(const ServerContext& context, grpc::CallbackServerContext& call)
      : CallerStream(context, kTakeUrlsPath, call, limits::kMaxUnackedUrlsPerStream) {}

  // The server at the other end keeps the stream open as long as it serves, so this server does not
  // wait for the stream to end.
  void OnServerDraining() override {
    End({grpc::StatusCode::UNAVAILABLE, "this server is about to end: try again"});
  }

 private:
  void OnMessage(grpc::ByteBuffer* bytes) override {
    if (const Status caller = GetCaller().status(); !caller.ok()) return End(GrpcStatusOf(caller));
    const uint64_t place = OpenAck();
    v1::TakeUrlsRequest request;
    MessageFaults faults;
    // An unreadable message gets an empty answer, so that the other messages of the stream are not
    // affected.
    if (!ParseMessage(bytes, &request, &faults, MostBytes(context_)).ok()) {
      return Acknowledge(place, SerialiseMessage(v1::TakeUrlsResponse()));
    }
    auto response = std::make_shared<v1::TakeUrlsResponse>();
    std::vector<RoutedEvent> events;
    std::vector<int> places;  // positions in the response's codes
    const Instant now = context_.clock.Now();
    for (int i = 0; i < request.events_size(); ++i) {
      const bool whole = FindTextFault(faults.texts, i) == nullptr;
      StatusOr<RoutedEvent> event = InvalidArgument("events: is not UTF-8");
      if (whole) event = FromProto(request.events(i), now);
      response->add_codes(0);
      response->add_messages();
      SetOutcome(event.status(), i, response.get());
      if (!event.ok()) continue;
      events.push_back(*std::move(event));
      places.push_back(i);
    }
    if (events.empty()) return Acknowledge(place, SerialiseMessage(*response));
    auto self = std::static_pointer_cast<TakeUrlsStream>(shared_from_this());
    const bool go_on = context_.router.Submit(
        std::move(events),
        [self, place, response, places = std::move(places)](const std::vector<Reply>& replies) {
          for (size_t i = 0; i < replies.size(); ++i) {
            SetOutcome(replies[i].status, places[i], response.get());
          }
          self->Acknowledge(place, SerialiseMessage(*response));
        },
        nullptr, request.client() == 0 ? kOfFrontier : request.client());
    if (!go_on) HoldReading();
  }
};

}  // namespace

Reactor* StartTakeUrls(const ServerContext& context, ServerCall* call) {
  const auto stream = std::make_shared<TakeUrlsStream>(context, *call);
  stream->Begin(&context.streams);
  if (context.streams.draining()) stream->OnServerDraining();
  return stream.get();
}

void HandleLeaseUrls(const ServerContext& context,
                     UnaryCall<v1::LeaseUrlsRequest, v1::LeaseUrlsResponse>* call) {
  const v1::LeaseUrlsRequest& request = call->request();
  if (request.crawl_ids().empty()) {
    return call->Answer(GrpcStatusOf(InvalidArgument("crawl_ids: is empty")));
  }
  if (request.max_urls() < 1 || request.max_urls() > limits::kMaxAssignmentsPerNext) {
    return call->Answer(GrpcStatusOf(InvalidArgument(
        "max_urls: {} is not from 1 to {}", request.max_urls(), limits::kMaxAssignmentsPerNext)));
  }
  PullPages(context,
            {.crawl_ids = {request.crawl_ids().begin(), request.crawl_ids().end()},
             .who = {.client = request.client(), .address = request.address()},
             .lease_seconds = request.lease_seconds(),
             .most = request.max_urls()},
            [&context, call](const std::vector<Assignment>& assignments) {
              if (call->cancelled()) {
                context.router.GiveBack(LeasesOf(assignments), /*never_left=*/true);
                return call->Answer(grpc::Status::CANCELLED);
              }
              for (const Assignment& assignment : assignments) {
                v1::LeasedUrl* const url = call->response()->add_urls();
                url->set_lease_id(assignment.lease.value());
                url->mutable_page()->set_crawl_id(assignment.key.crawl_id);
                url->mutable_page()->set_url(assignment.key.url);
              }
              call->Answer(grpc::Status::OK);
            });
}

}  // namespace freshet
