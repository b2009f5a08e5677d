#include "server/api/fleet_service.h"

#include <functional>
#include <optional>
#include <utility>

#include "server/api/batch.h"
#include "server/api/epoch_totals.h"
#include "server/api/fleet_urls.h"
#include "server/api/lease_returns.h"
#include "server/api/leased_pages.h"
#include "server/api/rate_sharing.h"
#include "server/api/settings_sharing.h"
#include "server/api/standby_roster.h"
#include "server/api/url_pages.h"
#include "server/config.h"
#include "server/engine/epoch_exchange.h"

namespace freshet {
namespace {

// Makes a callback that answers the call with a result, or with its error.
template <typename Request, typename Response>
std::function<void(StatusOr<Response>)> Answering(UnaryCall<Request, Response>* call) {
  return [call](StatusOr<Response> answer) {
    if (!answer.ok()) return call->Answer(GrpcStatusOf(answer.status()));
    *call->response() = *std::move(answer);
    call->Answer(grpc::Status::OK);
  };
}

void ShareRate(const ServerContext& context,
               UnaryCall<v1::ShareRateRequest, v1::ShareRateResponse>* call) {
  context.rates.Hear(call->request(), Answering(call));
}

void ShareSettings(const ServerContext& context,
                   UnaryCall<v1::ShareSettingsRequest, v1::ShareSettingsResponse>* call) {
  if (context.shared_settings == nullptr) {
    return call->Answer({grpc::StatusCode::FAILED_PRECONDITION, "this server shares no settings"});
  }
  context.shared_settings->Hear(call->request(), Answering(call));
}

void GetEpochTotals(const ServerContext& context,
                    UnaryCall<v1::GetEpochTotalsRequest, v1::GetEpochTotalsResponse>* call) {
  if (const std::optional<EpochTotals> totals = context.epochs.Totals()) {
    ToProto(*totals, context.sources, call->response()->mutable_totals());
  }
  call->Answer(grpc::Status::OK);
}

void TakePing(const ServerContext& context,
              UnaryCall<v1::TakePingRequest, v1::TakePingResponse>* call) {
  context.take_ping(call->request(), Answering(call));
}

void AnswerPing(const ServerContext& context,
                UnaryCall<v1::AnswerPingRequest, v1::AnswerPingResponse>* call) {
  context.answer_ping(call->request(), call->credentials(), Answering(call));
}

void ReportStandby(const ServerContext& context,
                   UnaryCall<v1::ReportStandbyRequest, v1::ReportStandbyResponse>* call) {
  call->response()->set_load(context.standbys.asked_to_load());
  call->Answer(GrpcStatusOf(context.standbys.Hear(call->request().standby(), context.clock.Now())));
}

void ReturnLeases(const ServerContext& context,
                  UnaryCall<v1::ReturnLeasesRequest, v1::ReturnLeasesResponse>* call) {
  const auto& lease_ids = call->request().lease_ids();
  const Status fault = CheckItemCount("lease_ids", lease_ids.size(), context.config);
  if (!fault.ok()) return call->Answer(GrpcStatusOf(fault));
  // The result of Submit does not matter: it only says whether to hold back further messages, and a
  // unary call has none.
  (void)ConvertReturns(/*sequence=*/0, lease_ids, call->caller())
      .Submit(context.router, [call](v1::BatchAck ack, BatchCounts) {
        *call->response()->mutable_ack() = std::move(ack);
        call->Answer(grpc::Status::OK);
      });
}

}  // namespace

std::vector<CallMethod> FleetMethods(const ServerContext& context) {
  return {
      Free("/freshet.v1.FleetService/ShareRate", context, freshet::ShareRate),
      Free("/freshet.v1.FleetService/ShareSettings", context, freshet::ShareSettings),
      Free("/freshet.v1.FleetService/GetEpochTotals", context, freshet::GetEpochTotals),
      Free("/freshet.v1.FleetService/TakePing", context, freshet::TakePing),
      Unary(Payment::kFreeOfCaller, "/freshet.v1.FleetService/AnswerPing", context,
            freshet::AnswerPing),
      Free("/freshet.v1.FleetService/ReportStandby", context, freshet::ReportStandby),
      Unary(Payment::kFreeOfCaller, kReturnLeasesPath, context, freshet::ReturnLeases),
      Streaming("/freshet.v1.FleetService/TakeUrls", context, StartTakeUrls),
      Free(kLeaseUrlsPath, context, HandleLeaseUrls),
      Free(kCountLeasedPagesPath, context, HandleCountLeasedPages),
  };
}

}  // namespace freshet
