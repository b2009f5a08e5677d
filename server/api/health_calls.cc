#include "server/api/health_calls.h"

#include <utility>

#include "google/protobuf/wrappers.pb.h"
#include "server/api/faults.h"
#include "server/api/wire.h"
#include "server/base/limits.h"

namespace freshet {
namespace {

// The messages of grpc.health.v1 have one field, with number 1: a string or an integer. Protobuf's
// wrapper types have the same encoding.
using HealthRequest = google::protobuf::StringValue;
using HealthResponse = google::protobuf::Int32Value;

enum HealthStatus : int32_t { kServing = 1, kNotServing = 2, kServiceUnknown = 3 };

int32_t StatusOfService(const std::optional<bool>& serving) {
  if (!serving) return kServiceUnknown;
  return *serving ? kServing : kNotServing;
}

grpc::ByteBuffer HealthMessage(int32_t status) {
  HealthResponse response;
  response.set_value(status);
  return SerialiseMessage(response);
}

}  // namespace

// One call: Watch is a stream, Check is not. Thread-safe.
class HealthCall final : public CallReactor {
 public:
  HealthCall(HealthCalls& service, std::string_view path, CallKind kind, ServerCall* call)
      : CallReactor(service.host_, path, kind, call), service_(service) {}

  // Sends the state of the service to the client, unless the client already has it.
  void Tell() FRESHET_EXCLUDES(mutex_) {
    const int32_t status = StatusOfService(service_.Find(name_));
    {
      const MutexLock lock(mutex_);
      if (busy_ || status == told_) return;
      busy_ = true;
      told_ = status;
    }
    Write(HealthMessage(status));
  }

 private:
  void OnRequest(grpc::ByteBuffer* bytes) override {
    HealthRequest request;
    const Status status =
        ReadRequest(*bytes, &request, static_cast<size_t>(limits::kMaxMetadataBytes));
    bytes->Clear();
    if (!status.ok()) return Stop(GrpcStatusOf(status));
    name_ = request.value();
    if (kind() == CallKind::kStream) {
      service_.Watch(std::static_pointer_cast<HealthCall>(shared_from_this()));
      return Tell();
    }
    const std::optional<bool> serving = service_.Find(name_);
    if (!serving) return Stop({grpc::StatusCode::NOT_FOUND, "service name unknown"});
    {
      const MutexLock lock(mutex_);
      if (std::exchange(busy_, true)) return;
    }
    SendAnswer(HealthMessage(StatusOfService(serving)));
  }
  void OnWritten(bool ok) override {
    const bool goes_on = ok && kind() == CallKind::kStream;
    // SetIdle comes first, so that a stop from now on knows that no message is being written.
    SetIdle();
    if (const grpc::Status why = stopped(); !why.ok()) return Stop(why);
    if (goes_on) return Tell();
    Stop(ok ? grpc::Status::OK
            : grpc::Status(grpc::StatusCode::UNAVAILABLE, "the answer was not taken"));
  }
  void OnStopped() override { Stop(stopped()); }
  void OnOver() override {
    service_.Forget(std::static_pointer_cast<HealthCall>(shared_from_this()));
  }

  void SetIdle() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    busy_ = false;
  }
  // Ends the call, or leaves that to OnWritten while something is being written.
  void Stop(const grpc::Status& status) FRESHET_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (std::exchange(busy_, true)) return;
    }
    End(status);
  }

  HealthCalls& service_;
  std::string name_;  // set by the request
  Mutex mutex_;
  int32_t told_ FRESHET_GUARDED_BY(mutex_) = 0;
  // A message is being written, or the call has ended.
  bool busy_ FRESHET_GUARDED_BY(mutex_) = false;
};

void HealthCalls::Set(const std::string& service, bool serving) {
  {
    const MutexLock lock(mutex_);
    serving_[service] = serving;
  }
  TellWatchers();
}

void HealthCalls::SetAll(bool serving) {
  {
    const MutexLock lock(mutex_);
    for (auto& [service, its] : serving_) its = serving;
  }
  TellWatchers();
}

std::vector<CallMethod> HealthCalls::Methods() {
  const auto method = [this](std::string_view path, CallKind kind) -> CallMethod {
    return {path, [this, path, kind](ServerCall* call) { return Start(path, kind, call); }};
  };
  return {method("/grpc.health.v1.Health/Check", CallKind::kUnary),
          method("/grpc.health.v1.Health/Watch", CallKind::kStream)};
}

Reactor* HealthCalls::Start(std::string_view path, CallKind kind, ServerCall* call) {
  const auto own = std::make_shared<HealthCall>(*this, path, kind, call);
  own->Begin();
  return own.get();
}

std::optional<bool> HealthCalls::Find(const std::string& service) const {
  const MutexLock lock(mutex_);
  const auto it = serving_.find(service);
  return it == serving_.end() ? std::nullopt : std::optional(it->second);
}

void HealthCalls::Watch(const std::shared_ptr<HealthCall>& call) {
  const MutexLock lock(mutex_);
  watchers_.insert(call);
}

void HealthCalls::Forget(const std::shared_ptr<HealthCall>& call) {
  const MutexLock lock(mutex_);
  watchers_.erase(call);
}

std::set<std::shared_ptr<HealthCall>> HealthCalls::watchers() const {
  const MutexLock lock(mutex_);
  return watchers_;
}

void HealthCalls::TellWatchers() {
  for (const auto& call : watchers()) call->Tell();
}

void HealthCalls::EndWatches() {
  for (const auto& call : watchers()) {
    call->Dismiss({grpc::StatusCode::UNAVAILABLE, "the server is shutting down"});
  }
}

}  // namespace freshet
