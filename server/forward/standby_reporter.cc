#include "server/forward/standby_reporter.h"

#include <utility>

#include "core/base/units.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

constexpr Duration kReportEvery = Duration::Seconds(1);
constexpr Duration kReportPatience = Duration::Seconds(2);

}  // namespace

StandbyReporter::StandbyReporter(const ServerConfig& config, const Door& door, Find find,
                                 Describe describe, Answered answered)
    : find_(std::move(find)),
      describe_(std::move(describe)),
      answered_(std::move(answered)),
      connection_(config, door) {
  ticker_ = std::make_unique<Ticker>(kReportEvery, [this] { Tell(); });
}

StandbyReporter::~StandbyReporter() {
  connection_.Stop();
  ticker_->Stop();
}

void StandbyReporter::Tell() {
  const std::optional<ServingPeer> peer = find_();
  if (!peer) return;
  v1::ReportStandbyRequest request;
  *request.mutable_standby() = describe_();
  v1::ReportStandbyResponse response;
  const grpc::Status status = connection_.Ask(
      *peer, {}, kReportPatience,
      [&](auto& stub, auto* call) { return stub.ReportStandby(call, request, &response); });
  if (status.ok()) {
    answered_(response);
  } else {
    connection_.Drop();
  }
  NoteEnd(status);
}

void StandbyReporter::NoteEnd(const grpc::Status& status) {
  // The forwarder already logs why the server cannot be reached.
  const bool away = IsUnanswered(status) ||
                    status.error_code() == grpc::StatusCode::INVALID_ARGUMENT ||
                    status.error_code() == grpc::StatusCode::CANCELLED;
  if (!status.ok() && !away && status.error_code() != refused_) {
    spdlog::warn("the server that serves does not list this standby: {}", status.error_message());
  }
  refused_ = away ? grpc::StatusCode::OK : status.error_code();
}

}  // namespace freshet
