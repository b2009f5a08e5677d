#include "server/forward/standby_reporter.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "core/base/units.h"
#include "freshet/v1/fleet.grpc.pb.h"
#include "server/auth/on_behalf.h"
#include "server/config.h"
#include "spdlog/spdlog.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

constexpr Duration kReportEvery = Duration::Seconds(1);
constexpr std::chrono::seconds kReportDeadline{2};

}  // namespace

// One call, which keeps itself until it has ended.
class StandbyReporter::Report : public std::enable_shared_from_this<Report> {
 public:
  Report(const ServingPeer& peer, const std::shared_ptr<grpc::Channel>& channel,
         v1::FleetStandby standby)
      : stub_(v1::FleetService::NewStub(channel)) {
    *request_.mutable_standby() = std::move(standby);
    call_.set_deadline(std::chrono::system_clock::now() + kReportDeadline);
    for (const auto& [name, value] : OnBehalfOf({.sent_on = true}, peer.key)) {
      call_.AddMetadata(name, value);
    }
  }

  void Send() {
    stub_->async()->ReportStandby(&call_, &request_, &response_,
                                  [self = shared_from_this()](const grpc::Status& status) {
                                    const MutexLock lock(self->mutex_);
                                    self->status_ = status;
                                    self->ended_ = true;
                                    self->wake_.NotifyAll();
                                  });
  }
  [[nodiscard]] bool ended() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return ended_;
  }
  // How it ended, once it has.
  [[nodiscard]] grpc::Status status() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return status_;
  }
  // The answer. Precondition: it has ended well.
  [[nodiscard]] const v1::ReportStandbyResponse& response() const { return response_; }
  void Cancel() FRESHET_EXCLUDES(mutex_) {
    call_.TryCancel();
    const MutexLock lock(mutex_);
    while (!ended_) wake_.Wait(mutex_);
  }

 private:
  const std::unique_ptr<v1::FleetService::Stub> stub_;
  grpc::ClientContext call_;
  v1::ReportStandbyRequest request_;
  v1::ReportStandbyResponse response_;
  mutable Mutex mutex_;
  Condition wake_;
  bool ended_ FRESHET_GUARDED_BY(mutex_) = false;
  grpc::Status status_ FRESHET_GUARDED_BY(mutex_);
};

StandbyReporter::StandbyReporter(const ServerConfig& config, const Door& door, Find find,
                                 Describe describe, Answered answered)
    : config_(config),
      door_(door),
      find_(std::move(find)),
      describe_(std::move(describe)),
      answered_(std::move(answered)) {
  ticker_ = std::make_unique<Ticker>(kReportEvery, [this] { Tell(); });
}

StandbyReporter::~StandbyReporter() {
  ticker_->Stop();
  if (report_ != nullptr) report_->Cancel();
}

void StandbyReporter::Tell() {
  if (report_ != nullptr) {
    if (!report_->ended()) return;
    NoteEnd(*report_);
    report_ = nullptr;
  }
  std::optional<ServingPeer> peer = find_();
  if (!peer) return;
  if (peer != peer_) {
    StatusOr<std::shared_ptr<grpc::Channel>> channel = ConnectTo(*peer, config_, door_);
    // The forwarder says why it cannot be reached.
    if (!channel.ok()) return;
    channel_ = *std::move(channel);
    peer_ = std::move(peer);
  }
  report_ = std::make_shared<Report>(*peer_, channel_, describe_());
  report_->Send();
}

void StandbyReporter::NoteEnd(const Report& report) {
  const grpc::Status status = report.status();
  if (status.ok()) {
    answered_(report.response());
  } else {
    // The next connection shows what the files have then.
    peer_.reset();
  }
  const grpc::StatusCode code = status.error_code();
  const bool away = IsUnanswered(status);
  if (!status.ok() && !away && code != refused_) {
    spdlog::warn("the server that serves does not list this standby: {}", status.error_message());
  }
  refused_ = away ? grpc::StatusCode::OK : code;
}

}  // namespace freshet
