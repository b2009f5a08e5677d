#include "server/api/call_reactor.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "server/api/faults.h"
#include "server/api/request_id.h"
#include "server/api/wire.h"
#include "server/base/answer_limits.h"
#include "server/base/client_network.h"
#include "server/config.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

// Logs at `debug` that a stream was opened.
void NoteOpened(std::string_view path, const std::string& id, const IpAddress& network) {
  if (!Logger(LogModule::kApi).should_log(spdlog::level::debug)) return;
  const ScopedRequestId scope(id);
  LogWith(LogModule::kApi, spdlog::level::debug, "stream opened",
          {{"method", std::string(path)}, {"from", NetworkText(network)}});
}

}  // namespace

CallReactor::CallReactor(const CallParts& host, std::string_view path, CallKind kind,
                         grpc::CallbackServerContext* call)
    : host_(host),
      kind_(kind),
      call_(*call),
      request_id_(TakeRequestId(host.request_ids, *call)),
      auth_(host.authoriser, host.clock, path, *call),
      watch_(host.calls, host.clock, host.calls.Find(path), kind),
      patience_(host.config.list_write_timeout) {
  if (kind == CallKind::kStream) NoteOpened(path, request_id_, auth_.network());
}

void CallReactor::Begin() {
  CHECK(self_ == nullptr, "begun twice");
  self_ = shared_from_this();
  const std::shared_ptr<OpenCall> own = self_;
  host_.streams.Add(own);
  // Reads even if the call was dismissed: a pending read makes gRPC report when the client has
  // gone.
  StartRead(&incoming_);
}

void CallReactor::OnReadDone(bool ok) {
  // The call might end before this function returns. `held` then keeps this object alive.
  const std::shared_ptr<CallReactor> held = self_;
  NoteTurn();
  if (std::exchange(read_, true)) {
    // A second message has come. gRPC would keep this message and all later ones until the call
    // ends.
    if (ok) call_.TryCancel();
    return;
  }
  if (ok) {
    const MutexLock lock(mutex_);
    // gRPC allows no read after Finish.
    if (!ended_) StartRead(&further_);
  }
  if (spoken_.exchange(true)) return;
  if (const grpc::Status status = host_.streams.Admit(self_); !status.ok()) {
    End(status);
    return;
  }
  if (!ok) incoming_.Clear();
  size_t bytes = SizeOf(incoming_);
  if (TakesTurn()) bytes = std::max(bytes, MessageTurns::kShortBytes + 1);
  if (bytes <= MessageTurns::kShortBytes) return OnRequest(&incoming_);
  host_.streams.turns().Handle(client(), bytes, [held] {
    if (const grpc::Status status = held->stopped(); !status.ok()) {
      held->End(status);
    } else {
      held->OnRequest(&held->incoming_);
    }
  });
}

void CallReactor::Dismiss(grpc::Status status) {
  if (!spoken_.exchange(true)) {
    End(status);
    return;
  }
  {
    const MutexLock lock(mutex_);
    if (ended_ || dismissed_) return;
    dismissed_ = std::move(status);
  }
  OnStopped();
}

grpc::Status CallReactor::stopped() const {
  const MutexLock lock(mutex_);
  if (dismissed_) return *dismissed_;
  return cancelled_ ? grpc::Status(grpc::StatusCode::CANCELLED, "cancelled") : grpc::Status::OK;
}

void CallReactor::Write(const grpc::ByteBuffer& message, grpc::WriteOptions options) {
  outgoing_ = message;
  {
    const MutexLock lock(mutex_);
    patience_.Begin(outgoing_.Length(), Patience::Clock::now());
    timed_ = true;
  }
  StartWrite(&outgoing_, options);
}

// Cancels the call if the client is too slow. A call may be cancelled only while gRPC has it, so
// the work after the write waits until TryCancel returns.
Peer CallReactor::Look(Patience::Clock::time_point now, const Crowding& crowding) {
  {
    const MutexLock lock(mutex_);
    if (!timed_ || cutting_) return {};
    if (patience_.Stuck(now)) return auth_.peer();
    if (patience_.Until(crowding.answers) > now) return {};
    patience_.Cut(now);
    cutting_ = true;
  }
  call_.TryCancel();
  std::optional<bool> written;
  {
    const MutexLock lock(mutex_);
    cutting_ = false;
    written = std::exchange(written_, std::nullopt);
  }
  if (written) OnWritten(*written);
  return {};
}

void CallReactor::OnWriteDone(bool ok) {
  if (ok && kind_ == CallKind::kStream) watch_.CountSent();
  outgoing_.Clear();
  {
    const MutexLock lock(mutex_);
    patience_.End(Patience::Clock::now());
    timed_ = false;
    if (cutting_) {
      written_ = ok;
      return;
    }
  }
  OnWritten(ok);
}

bool CallReactor::BeginEnd(const grpc::Status& status) {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(ended_, true)) return false;
  }
  watch_.End(status.error_code());
  return true;
}

bool CallReactor::End(const grpc::Status& status) {
  if (!BeginEnd(status)) return false;
  Finish(status);
  return true;
}

bool CallReactor::EndWith(const grpc::ByteBuffer& message) {
  if (!BeginEnd(grpc::Status::OK)) return false;
  outgoing_ = message;
  StartWriteAndFinish(&outgoing_, {}, grpc::Status::OK);
  return true;
}

void CallReactor::OnCancel() {
  // If the message has not come yet, it might never come.
  if (!spoken_.exchange(true)) {
    End({grpc::StatusCode::CANCELLED, "cancelled"});
    return;
  }
  {
    const MutexLock lock(mutex_);
    cancelled_ = true;
  }
  OnStopped();
}

void CallReactor::SendAnswer(const grpc::ByteBuffer& message) {
  if (message.Length() <= limits::kMaxUntimedAnswerBytes && host_.streams.calls_are_few()) {
    EndWith(message);
  } else {
    Write(message);
  }
}

void CallReactor::OnDone() {
  OnOver();
  host_.streams.Remove(self_);
  // Nothing uses this object afterwards, unless another thread holds it.
  const std::shared_ptr<CallReactor> last = std::move(self_);
}

}  // namespace freshet
