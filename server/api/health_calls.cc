#include "server/api/health_calls.h"

#include <atomic>
#include <utility>

#include "core/base/limits.h"
#include "google/protobuf/wrappers.pb.h"
#include "server/api/caller.h"
#include "server/api/faults.h"
#include "server/api/wire.h"

namespace freshet {
namespace {

// The messages of grpc.health.v1 have one field of the number 1 each, as those of a string and of
// an integer do.
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

// One call. Thread-safe.
class HealthCall final : public Reactor,
                         public OpenCall,
                         public std::enable_shared_from_this<HealthCall> {
 public:
  HealthCall(HealthCalls& service, ServerCall* call, bool watches)
      : service_(service),
        call_(*call),
        watches_(watches),
        client_(Authoriser::ClientOf(Caller(), CredentialsOf(*call))) {}

  void Begin() {
    self_ = shared_from_this();
    const std::shared_ptr<OpenCall> own = self_;
    const StreamSet::Added added = service_.calls_.Add(own);
    if (added.outdone != nullptr) added.outdone->Dismiss(service_.calls_.TooSilent());
    StartRead(&incoming_);
  }
  // What it is to be told, if it was not yet.
  void Tell() FRESHET_EXCLUDES(mutex_) {
    const int32_t status = StatusOfService(service_.Find(name_));
    {
      const MutexLock lock(mutex_);
      if (writing_ || ending_ || status == told_) return;
      writing_ = true;
      told_ = status;
    }
    outgoing_ = HealthMessage(status);
    StartWrite(&outgoing_);
  }

  [[nodiscard]] const std::string& client() const override { return client_; }
  [[nodiscard]] CallKind kind() const override {
    return watches_ ? CallKind::kStream : CallKind::kUnary;
  }
  void Dismiss(grpc::Status status) override { End(std::move(status)); }

 private:
  void OnReadDone(bool ok) override {
    const std::shared_ptr<HealthCall> held = self_;
    if (std::exchange(read_, true)) {
      // A second message. gRPC would keep that, and all that follow it.
      if (ok) call_.TryCancel();
      return;
    }
    if (spoken_.exchange(true)) return;
    grpc::Status status = service_.calls_.Admit(self_);
    HealthRequest request;
    if (!ok) incoming_.Clear();
    if (status.ok()) {
      status = GrpcStatusOf(
          ReadRequest(incoming_, &request, static_cast<size_t>(limits::kMaxMetadataBytes)));
    }
    incoming_.Clear();
    if (!status.ok()) return End(status);
    name_ = request.value();
    if (watches_) {
      {
        const MutexLock lock(mutex_);
        // gRPC allows no read after Finish.
        if (!ending_) StartRead(&further_);
      }
      service_.Watch(self_);
      return Tell();
    }
    const std::optional<bool> serving = service_.Find(name_);
    if (!serving) return End({grpc::StatusCode::NOT_FOUND, "service name unknown"});
    {
      const MutexLock lock(mutex_);
      if (std::exchange(ending_, true)) return;
    }
    outgoing_ = HealthMessage(StatusOfService(serving));
    StartWriteAndFinish(&outgoing_, {}, grpc::Status::OK);
  }
  void OnWriteDone(bool ok) override {
    std::optional<grpc::Status> end;
    {
      const MutexLock lock(mutex_);
      writing_ = false;
      if (!ok && !ending_) end_ = grpc::Status::CANCELLED;
      end = std::exchange(end_, std::nullopt);
      ending_ = ending_ || end.has_value();
    }
    if (end) {
      Finish(*end);
    } else {
      Tell();
    }
  }
  void OnCancel() override {
    spoken_ = true;
    End(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    service_.Forget(self_);
    service_.calls_.Remove(self_);
    const std::shared_ptr<HealthCall> last = std::move(self_);
  }

  // Once what is being written has left.
  void End(grpc::Status status) FRESHET_EXCLUDES(mutex_) {
    spoken_ = true;
    {
      const MutexLock lock(mutex_);
      if (ending_) return;
      if (writing_) {
        end_ = std::move(status);
        return;
      }
      ending_ = true;
    }
    Finish(status);
  }

  HealthCalls& service_;
  ServerCall& call_;  // gRPC's, until OnDone
  const bool watches_;
  const std::string client_;
  std::shared_ptr<HealthCall> self_;  // until OnDone
  std::atomic<bool> spoken_{false};
  std::string name_;   // once it has spoken
  bool read_ = false;  // what was read has come; of OnReadDone
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer further_;
  grpc::ByteBuffer outgoing_;
  Mutex mutex_;
  int32_t told_ FRESHET_GUARDED_BY(mutex_) = 0;
  bool writing_ FRESHET_GUARDED_BY(mutex_) = false;
  bool ending_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> end_ FRESHET_GUARDED_BY(mutex_);  // when the write is through
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
  return {{"/grpc.health.v1.Health/Check", [this](ServerCall* call) { return Start(call, false); }},
          {"/grpc.health.v1.Health/Watch", [this](ServerCall* call) { return Start(call, true); }}};
}

Reactor* HealthCalls::Start(ServerCall* call, bool watches) {
  const auto own = std::make_shared<HealthCall>(*this, call, watches);
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
