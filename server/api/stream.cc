#include "server/api/stream.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "core/base/shares.h"
#include "fmt/format.h"
#include "grpc/support/time.h"
#include "server/api/batch.h"
#include "server/api/faults.h"
#include "server/api/wire.h"
#include "server/base/limits.h"

namespace freshet {
namespace {

// The longest pause before a client's rate is checked again. The rate can change in the meantime.
constexpr Duration kLongestPause = Duration::Hours(1);
// An item below this size has no valid URL, and its refusal needs fewer bytes than AckBytes allows
// for an item.
constexpr size_t kLeastBytesOfItem = 16;

using std::chrono::steady_clock;

// Calls `ring` after this time, on a thread of gRPC.
std::unique_ptr<grpc::Alarm> AlarmAfter(std::chrono::microseconds wait,
                                        std::function<void(bool)> ring) {
  auto alarm = std::make_unique<grpc::Alarm>();
  const int64_t micros = std::max<int64_t>(0, wait.count());
  alarm->Set(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_micros(micros, GPR_TIMESPAN)),
             std::move(ring));
  return alarm;
}

grpc::Status TakesNothing() {
  return {grpc::StatusCode::RESOURCE_EXHAUSTED,
          "the client takes nothing of what it is sent, and others need the room"};
}

}  // namespace

// --- MessageStream

void MessageStream::Begin(StreamSet* streams) {
  CHECK(self_ == nullptr, "begun twice");
  self_ = shared_from_this();
  streams_ = streams;
  if (grpc::Status added = streams_->Add(self_); !added.ok()) return End(std::move(added));
  // A new stream must wait, too. Otherwise clients could escape a pause by opening one.
  if (const Duration owed = Owes(); owed > Duration()) {
    const MutexLock lock(mutex_);
    return SetPause(owed);
  }
  Resume();
}

void MessageStream::Resume() {
  Steps steps;
  {
    const MutexLock lock(mutex_);
    steps = NextSteps();
  }
  Perform(std::move(steps));
}

// While cutting_ is set, the stream cannot finish, so gRPC still has the call.
Peer MessageStream::Look(Patience::Clock::time_point now, const Crowding& crowding) {
  if (crowding.answers == 0) return {};
  {
    const MutexLock lock(mutex_);
    if (!timed_ || finished_ || cutting_) return {};
    if (patience_->Until(crowding.answers) > now) return patience_->Stuck(now) ? peer() : Peer();
    patience_->Cut(now);
    cutting_ = true;
    if (!end_status_) end_status_ = TakesNothing();
  }
  Cancel();
  {
    const MutexLock lock(mutex_);
    cutting_ = false;
  }
  Resume();
  return {};
}

void MessageStream::End(grpc::Status status) {
  {
    const MutexLock lock(mutex_);
    if (!end_status_) end_status_ = std::move(status);
  }
  Resume();
}

uint64_t MessageStream::OpenAck(size_t bytes) {
  const MutexLock lock(mutex_);
  acks_.push_back(
      {.ack = std::nullopt, .bytes = std::exchange(handled_bytes_, 0), .reserved = bytes});
  reserved_bytes_ += bytes;
  return first_ack_ + acks_.size() - 1;
}

void MessageStream::Acknowledge(uint64_t place, grpc::ByteBuffer message) {
  Steps steps;
  StreamSet::Calls resumed;
  {
    const MutexLock lock(mutex_);
    CHECK(place >= first_ack_ && place - first_ack_ < acks_.size(), "no such acknowledgement");
    Place& own = acks_[place - first_ack_];
    CHECK(!own.ack, "acknowledged twice");
    own.ack = std::move(message);
    unwritten_bytes_ += own.ack->Length();
    reserved_bytes_ -= std::exchange(own.reserved, 0);
    resumed = LetGo(std::exchange(own.bytes, 0));
    while (!acks_.empty() && acks_.front().ack) {
      outgoing_.push_back({.message = *std::move(acks_.front().ack), .sent = nullptr});
      acks_.pop_front();
      ++first_ack_;
    }
    steps = NextSteps();
  }
  Perform(std::move(steps));
  ResumeAll(std::move(resumed));
}

StreamSet::Calls MessageStream::LetGo(size_t bytes) {
  if (bytes == 0) return {};
  CHECK(bytes <= unacked_bytes_, "{} bytes of {}", bytes, unacked_bytes_);
  unacked_bytes_ -= bytes;
  return streams_->Release(*this, bytes);
}

void MessageStream::PauseReading(Duration time) {
  const MutexLock lock(mutex_);
  CHECK(handling_, "nothing has come");
  if (pause_ == nullptr) SetPause(time);
}

void MessageStream::SetPause(Duration time) {
  pause_ = AlarmAfter(std::min(time, kLongestPause).chrono(),
                      [self = shared_from_this()](bool) { self->OnPauseOver(); });
}

void MessageStream::OnPauseOver() {
  // The client's other streams can have sent something in the meantime.
  const Duration owed = Owes();
  {
    const MutexLock lock(mutex_);
    // The alarm's callback, which runs now, keeps this stream alive.
    pause_.reset();
    if (owed > Duration() && !finished_ && !end_status_) return SetPause(owed);
  }
  Resume();
}

void MessageStream::HoldReading() {
  const MutexLock lock(mutex_);
  held_ = true;
}

void MessageStream::Send(grpc::ByteBuffer message, Sent sent, Duration patience) {
  Steps steps;
  {
    const MutexLock lock(mutex_);
    unwritten_bytes_ += message.Length();
    Outgoing& last = outgoing_.emplace_back(Outgoing{.message = message, .sent = std::move(sent)});
    if (!patience.infinite()) last.stale_at = steady_clock::now() + patience.chrono();
    steps = NextSteps();
    WatchStale();
  }
  Perform(std::move(steps));
}

std::vector<MessageStream::Sent> MessageStream::TakeStale() {
  std::vector<Sent> stale;
  size_t bytes = 0;
  const steady_clock::time_point now = steady_clock::now();
  std::erase_if(outgoing_, [&](Outgoing& waiting) {
    if (waiting.stale_at > now) return false;
    bytes += waiting.message.Length();
    if (waiting.sent) stale.push_back(std::move(waiting.sent));
    return true;
  });
  unwritten_bytes_ -= bytes;
  return stale;
}

void MessageStream::WatchStale() {
  if (stale_ != nullptr || finished_) return;
  auto first = steady_clock::time_point::max();
  for (const Outgoing& waiting : outgoing_) first = std::min(first, waiting.stale_at);
  if (first == steady_clock::time_point::max()) return;
  const auto wait = std::chrono::ceil<std::chrono::microseconds>(first - steady_clock::now());
  stale_ = AlarmAfter(wait, [self = shared_from_this()](bool) { self->OnStale(); });
}

void MessageStream::OnStale() {
  Steps stale;
  {
    const MutexLock lock(mutex_);
    stale_.reset();
    stale.failed = TakeStale();
    WatchStale();
  }
  Tell(stale);
  Resume();
}

MessageStream::Steps MessageStream::NextSteps() {
  Steps steps;
  if (broken_ || finished_) {
    for (Outgoing& left : outgoing_) {
      if (left.sent) steps.failed.push_back(std::move(left.sent));
    }
    outgoing_.clear();
    unwritten_bytes_ = 0;
  }
  // This must come before NextWriteAndRead, which decides whether the stream may read.
  CountAnswers(steps);
  if (!finished_) NextWriteAndRead(steps);
  return steps;
}

void MessageStream::CountAnswers(Steps& steps) {
  if (const size_t now = unwritten_bytes_ + writing_bytes_ + reserved_bytes_ + expected_bytes_;
      now != answer_bytes_) {
    steps.resumed = streams_->SetAnswers(*this, std::exchange(answer_bytes_, now), now);
  }
  if (broken_ || finished_) return;
  const bool behind =
      !outgoing_.empty() &&
      (unwritten_bytes_ >= limits::kMaxUnwrittenBytesPerStream || !streams_->HasRoom(self_, 0, 1));
  steps.caught_up = behind_.exchange(behind) && !behind;
}

void MessageStream::NextWriteAndRead(Steps& steps) {
  if (!in_write_ && !outgoing_.empty()) {
    writing_ = outgoing_.front().message;
    writing_bytes_ = writing_.Length();
    unwritten_bytes_ -= writing_bytes_;
    writing_sent_ = std::move(outgoing_.front().sent);
    outgoing_.pop_front();
    in_write_ = steps.write = true;
    timed_ = patience_.has_value();
    if (timed_) patience_->Begin(writing_bytes_, Patience::Clock::now());
    // The first message has no buffer hint. With the hint, gRPC would hold the message back, and
    // not report it as written, until something else makes gRPC write.
    steps.more = std::exchange(has_written_, true) && !outgoing_.empty();
  }
  if (acks_.empty()) held_ = false;
  const bool over = (reads_ended_ && !goes_on_) || end_status_.has_value();
  if (over) {
    deferred_ = false;
    if (acks_.empty() && outgoing_.empty() && !in_write_ && !handling_ && !starting_read_ &&
        !cutting_) {
      finished_ = true;
      steps.finish = end_status_.value_or(grpc::Status::OK);
    }
    return;
  }
  if (deferred_) {
    if (MayHandle()) {
      deferred_ = false;
      BeginHandling();
      steps.handle = true;
    }
    return;
  }
  // Answers that wait to be written count as unacknowledged messages. So the server stops reading
  // from a client that does not read its answers.
  const size_t unacked = acks_.size() + outgoing_.size();
  if (!reading_ && !handling_ && !held_ && pause_ == nullptr && !reads_ended_ &&
      unacked < max_unacked_messages_ && unacked_bytes_ < limits::kMaxUnackedBytesPerStream &&
      unwritten_bytes_ < limits::kMaxUnwrittenBytesPerStream && streams_->HasRoom(self_, 1, 1)) {
    reading_ = starting_read_ = steps.read = true;
  }
}

bool MessageStream::MayHandle() {
  // There was room for the answer when reading began, but other calls may have used it since.
  // Thousands of messages can wait for their turns, so each is counted before it waits.
  const size_t answers = MostAnswered(message_bytes_);
  if (!streams_->TryHold(self_, message_bytes_, answers)) return false;
  expected_bytes_ = answers;
  answer_bytes_ += answers;
  return true;
}

size_t MessageStream::MostAnswered(size_t message_bytes) const {
  return AckBytes(std::clamp<size_t>(message_bytes / kLeastBytesOfItem, 1,
                                     static_cast<size_t>(limits::kMaxItemsPerMessage)));
}

void MessageStream::Tell(Steps& steps) {
  for (const Sent& sent : std::exchange(steps.failed, {})) sent(Fate::kNeverLeft);
  if (std::exchange(steps.caught_up, false)) OnCaughtUp();
  ResumeAll(std::exchange(steps.resumed, {}));
  if (!std::exchange(steps.handle, false)) return;
  // This thread may be working for another call, so another thread handles the message.
  const MutexLock lock(mutex_);
  handler_ = AlarmAfter({}, [self = shared_from_this()](bool) {
    {
      const MutexLock done(self->mutex_);
      self->handler_.reset();
    }
    self->HandleInTurn();
  });
}

void MessageStream::BeginHandling() {
  handling_ = true;
  handled_bytes_ = message_bytes_;
  unacked_bytes_ += message_bytes_;
}

void MessageStream::Perform(Steps steps) {
  Tell(steps);
  while (steps.write || steps.read) {
    if (steps.write) {
      // More follows at once, so gRPC may hold this message back and write all in one system call.
      grpc::WriteOptions options;
      if (steps.more) options.set_buffer_hint();
      StartWrite(&writing_, options);
    }
    if (!steps.read) return;
    // gRPC allows no read after Finish, so no thread finishes until this read has begun.
    StartRead(&incoming_);
    {
      const MutexLock lock(mutex_);
      starting_read_ = false;
      steps = NextSteps();
    }
    // The message that was just read may have been deferred, and may fit by now.
    Tell(steps);
  }
  // Finish is the last use of the object, which may be destroyed by the time it returns.
  if (!steps.finish) return;
  if (watch_) watch_->End(steps.finish->error_code());
  Finish(*steps.finish);
}

void MessageStream::OnReadDone(bool ok) {
  NoteTurn();
  if (ok && watch_) watch_->CountReceived();
  {
    const MutexLock lock(mutex_);
    CHECK(reading_ && !handling_, "one message at a time");
    reading_ = false;
    if (!ok) reads_ended_ = true;
    if (ok && !end_status_ && !std::exchange(spoken_, true)) {
      grpc::Status status = streams_->Admit(self_);
      if (!status.ok()) end_status_ = std::move(status);
    }
    // A message that is larger than allowed is refused before it is inflated.
    message_bytes_ = ok ? std::min<size_t>(SizeOf(incoming_), limits::kMaxMessageBytes) : 0;
    if (!ok || end_status_) {
      streams_->Hold(*this, message_bytes_);
    } else if (!MayHandle()) {
      deferred_ = true;
      return;
    }
    BeginHandling();
  }
  if (ok) return HandleInTurn();
  HandleMessage(/*ok=*/false);
}

void MessageStream::HandleInTurn() {
  streams_->turns().Handle(client(), message_bytes_,
                           [self = shared_from_this()] { self->HandleMessage(/*ok=*/true); });
}

void MessageStream::HandleMessage(bool ok) {
  bool ending = false;
  bool goes_on = false;
  {
    const MutexLock lock(mutex_);
    ending = end_status_.has_value();
  }
  if (!ok) {
    goes_on = !ending && OnReadsEnded();
    if (!goes_on) OnClientGone();
  } else if (!ending) {
    // A message that comes after the end was decided is not acknowledged, so the client may send it
    // again.
    OnMessage(&incoming_);
  }
  Steps steps;
  StreamSet::Calls resumed;
  {
    const MutexLock lock(mutex_);
    handling_ = false;
    // The answer has been made, or OpenAck has reserved bytes for it.
    expected_bytes_ = 0;
    goes_on_ = goes_on;
    // Frees the bytes of a message that gets no acknowledgement.
    resumed = LetGo(std::exchange(handled_bytes_, 0));
    steps = NextSteps();
  }
  Perform(std::move(steps));
  ResumeAll(std::move(resumed));
}

void MessageStream::OnWriteDone(bool ok) {
  Sent sent;
  Steps steps;
  {
    const MutexLock lock(mutex_);
    CHECK(in_write_, "nothing is written");
    in_write_ = false;
    writing_bytes_ = 0;
    if (std::exchange(timed_, false)) patience_->End(Patience::Clock::now());
    broken_ |= !ok;
    sent = std::exchange(writing_sent_, nullptr);
    steps = NextSteps();
  }
  if (ok && watch_) watch_->CountSent();
  if (sent) sent(ok ? Fate::kSent : Fate::kBrokeOff);
  Perform(std::move(steps));
}

void MessageStream::OnCancel() {
  {
    const MutexLock lock(mutex_);
    broken_ = true;
    if (!end_status_) end_status_ = grpc::Status(grpc::StatusCode::CANCELLED, "cancelled");
  }
  OnClientGone();
  Resume();
}

void MessageStream::OnDone() {
  OnClientGone();
  streams_->Remove(self_);
  Steps steps;
  {
    const MutexLock lock(mutex_);
    broken_ = finished_ = true;
    writing_bytes_ = 0;
    if (pause_ != nullptr) pause_->Cancel();
    if (stale_ != nullptr) stale_->Cancel();
    steps = NextSteps();
  }
  Tell(steps);
  // Open acknowledgements can still hold the stream.
  const std::shared_ptr<MessageStream> last = std::move(self_);
}

}  // namespace freshet
