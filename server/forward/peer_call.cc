#include "server/forward/peer_call.h"

#include "core/base/check.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/client_callback.h"

namespace freshet {
namespace {

Status Unanswered(uint32_t division) {
  return MakeStatus(absl::StatusCode::kUnavailable,
                    "division {} cannot be reached at the moment: try again", division);
}

// Returns true if a gRPC call was broken off, and false if the server refused it.
bool BrokeOff(const Status& status) {
  return status.ok() || absl::IsUnavailable(status) || absl::IsCancelled(status) ||
         absl::IsUnknown(status) || absl::IsInternal(status);
}

Status TooMuch() {
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "too many requests wait for servers of other divisions (parts of the hosts): "
                    "try again later");
}

Status Stopping() {
  return MakeStatus(absl::StatusCode::kUnavailable, "the server is shutting down");
}

}  // namespace

// One gRPC call. Deletes itself when gRPC is done with it.
class PeerCall::Attempt final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Attempt(std::shared_ptr<PeerCall> call, PeerLink link)
      : call_(std::move(call)), link_(std::move(link)) {
    for (const auto& [name, value] : OnBehalfOf(call_->client_, link_.key)) {
      context_.AddMetadata(name, value);
    }
  }

  // Starts the call with two holds. The first lasts until the server's last message, and the caller
  // must remove the second.
  void Start() {
    grpc::GenericStub(link_.channel).PrepareBidiStreamingCall(&context_, call_->path_, {}, this);
    AddMultipleHolds(2);
    StartRead(&read_);
    StartCall();
  }
  void Write(const grpc::ByteBuffer& message) {
    written_ = message;
    StartWrite(&written_);
  }
  void Cancel() { context_.TryCancel(); }
  [[nodiscard]] uint64_t serving() const { return link_.serving; }

  void OnWriteDone(bool ok) override {
    written_.Clear();
    // A failed write ends the call. OnEnd then answers the message.
    if (ok) call_->OnWriteDone();
  }
  void OnReadDone(bool ok) override {
    if (!ok) {
      call_->OnEnding();
      return RemoveHold();
    }
    call_->OnAnswer(std::exchange(read_, grpc::ByteBuffer()));
    StartRead(&read_);
  }
  void OnDone(const grpc::Status& status) override {
    call_->OnEnd(Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()),
                 link_);
    delete this;
  }

 private:
  const std::shared_ptr<PeerCall> call_;
  const PeerLink link_;
  grpc::ClientContext context_;
  grpc::ByteBuffer read_;     // in use by gRPC
  grpc::ByteBuffer written_;  // in use by gRPC during a write
};

PeerCall::PeerCall(PeerCalls& calls, uint32_t division, std::string path, ShownByClient client)
    : calls_(calls), division_(division), path_(std::move(path)), client_(std::move(client)) {}

PeerCall::~PeerCall() = default;

void PeerCall::Send(const grpc::ByteBuffer& message, DivisionCall::Answered answered,
                    uint64_t client) {
  if (!calls_.Hold(message.Length())) return answered(TooMuch());
  Steps steps;
  {
    const MutexLock lock(mutex_);
    CHECK(!closed_, "sent after the end");
    // Turns are counted in bytes, because the receiver takes about the same time for each byte.
    waiting_.Push(client,
                  {.message = message, .answered = std::move(answered), .since = calls_.Now()},
                  message.Length() + 1);
    steps = NextSteps({});
  }
  Perform(std::move(steps));
}

void PeerCall::Close() {
  Steps steps;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    steps = NextSteps({});
  }
  Perform(std::move(steps));
}

void PeerCall::Attend(Instant too_long, Instant idle, uint64_t serving) {
  Steps steps;
  bool untaken = false;
  {
    const MutexLock lock(mutex_);
    // If the server takes messages, there is no limit on how long a message waits.
    const bool reached = attempt_ != nullptr && taken_;
    const auto is_late = [&](const Waiting& waiting) { return waiting.since < too_long; };
    if (!reached && waiting_.Find(is_late) != nullptr) GiveUp(Unanswered(division_), &steps);
    untaken = attempt_ != nullptr && writing_ && !taken_ && heard_ < too_long;
    const bool rests = reached && !writing_ && sent_.empty() && waiting_.empty();
    steps = rests && heard_ < idle ? EndWrites(std::move(steps)) : NextSteps(std::move(steps));
  }
  CancelAttempt([&](const Attempt& attempt) {
    return !untaken && (serving == 0 || attempt.serving() == serving);
  });
  Perform(std::move(steps));
}

void PeerCall::Stop() {
  Steps steps;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    steps = NextSteps({});
  }
  CancelAttempt([](const Attempt&) { return false; });
  Perform(std::move(steps));
}

void PeerCall::GiveUp(const Status& why, Steps* steps) {
  while (!waiting_.empty()) {
    Waiting waiting = waiting_.Pop();
    steps->freed += waiting.message.Length();
    steps->answers.emplace_back(std::move(waiting.answered), why);
  }
}

PeerCall::Steps PeerCall::EndWrites(Steps steps) {
  if (connecting_ || ending_ || writing_ || writes_done_) return steps;
  writes_done_ = steps.writes_done = true;
  steps.attempt = attempt_;
  attempt_->AddHold();
  return steps;
}

PeerCall::Steps PeerCall::NextSteps(Steps steps) {
  if (stopped_) GiveUp(Stopping(), &steps);
  if (over_ || connecting_) return steps;
  if (attempt_ == nullptr) {
    if (!waiting_.empty()) {
      steps.connect = connecting_ = true;
    } else if (closed_ || stopped_) {
      over_ = steps.over = true;
    }
    return steps;
  }
  if (ending_ || writing_ || writes_done_) return steps;
  if (waiting_.empty()) return closed_ ? EndWrites(std::move(steps)) : std::move(steps);
  writing_ = true;
  Waiting next = waiting_.Pop();
  writing_bytes_ = next.message.Length();
  steps.write = std::move(next.message);
  // The callback is queued before the write, because the answer can come before OnWriteDone.
  sent_.push_back(std::move(next.answered));
  steps.attempt = attempt_;
  attempt_->AddHold();
  return steps;
}

void PeerCall::Perform(Steps steps) {
  if (steps.freed > 0) calls_.Free(steps.freed);
  for (auto& [answered, answer] : steps.answers) answered(std::move(answer));
  if (steps.write) steps.attempt->Write(*steps.write);
  if (steps.writes_done) steps.attempt->StartWritesDone();
  if (steps.attempt != nullptr) steps.attempt->RemoveHold();
  if (steps.connect) Connect();
  // OnOver is called last, because the owner may then drop the call.
  if (steps.over) calls_.OnOver(shared_from_this());
}

void PeerCall::Connect() {
  Attempt* attempt = nullptr;
  if (std::optional<PeerLink> link = calls_.Connect(shared_from_this())) {
    attempt = new Attempt(shared_from_this(), *std::move(link));
    {
      const MutexLock lock(mutex_);
      attempt_ = attempt;
      ending_ = writing_ = writes_done_ = taken_ = false;
      heard_ = calls_.Now();
    }
    attempt->Start();
  }
  Steps steps;
  bool stopped = false;
  {
    const MutexLock lock(mutex_);
    connecting_ = false;
    stopped = stopped_;
    // If there is no link, Attend tries again.
    if (attempt != nullptr || waiting_.empty()) steps = NextSteps({});
  }
  if (attempt != nullptr) {
    if (stopped) attempt->Cancel();
    attempt->RemoveHold();
  }
  Perform(std::move(steps));
}

void PeerCall::CancelAttempt(const std::function<bool(const Attempt&)>& spares) {
  Attempt* attempt = nullptr;
  {
    const MutexLock lock(mutex_);
    if (attempt_ == nullptr || connecting_ || ending_ || spares(*attempt_)) return;
    attempt = attempt_;
    attempt->AddHold();
  }
  attempt->Cancel();
  attempt->RemoveHold();
}

void PeerCall::OnWriteDone() {
  Steps steps;
  {
    const MutexLock lock(mutex_);
    writing_ = false;
    taken_ = true;
    heard_ = calls_.Now();
    steps.freed = std::exchange(writing_bytes_, 0);
    steps = NextSteps(std::move(steps));
  }
  Perform(std::move(steps));
}

void PeerCall::OnAnswer(grpc::ByteBuffer message) {
  DivisionCall::Answered answered;
  {
    const MutexLock lock(mutex_);
    heard_ = calls_.Now();
    // An answer without a message is ignored.
    if (sent_.empty()) return;
    answered = std::move(sent_.front());
    sent_.pop_front();
  }
  answered(std::move(message));
}

void PeerCall::OnEnding() {
  const MutexLock lock(mutex_);
  ending_ = true;
}

void PeerCall::OnEnd(const Status& status, const PeerLink& link) {
  calls_.Release(*this, link);
  Steps steps;
  {
    const MutexLock lock(mutex_);
    attempt_ = nullptr;
    steps.freed = std::exchange(writing_bytes_, 0);
    for (DivisionCall::Answered& answered : std::exchange(sent_, {})) {
      steps.answers.emplace_back(std::move(answered),
                                 BrokeOff(status) ? Unanswered(division_) : status);
    }
    steps = NextSteps(std::move(steps));
  }
  Perform(std::move(steps));
}

}  // namespace freshet
