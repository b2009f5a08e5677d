// What bidirectional streams have in common: messages as bytes, acknowledgements in order, a bound
// on what is read and not yet acknowledged, and an orderly end.
#ifndef FRESHET_SERVER_API_STREAM_H_
#define FRESHET_SERVER_API_STREAM_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "grpcpp/alarm.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/api/call_stats.h"
#include "server/api/patience.h"
#include "server/api/stream_set.h"
#include "server/base/limits.h"
#include "sync/mutex.h"

namespace freshet {

// One open stream. It lives until gRPC is done with it and nobody holds it any more. Thread-safe;
// OnMessage is called one at a time.
class MessageStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                      public OpenCall,
                      public std::enable_shared_from_this<MessageStream> {
 public:
  // Reads no further while so many messages wait for their acknowledgements.
  explicit MessageStream(int unacked_messages = limits::kMaxUnackedMessagesPerStream)
      : max_unacked_messages_(static_cast<size_t>(unacked_messages)) {}
  // The stream is counted as one of that method. Before Begin; both outlive it.
  void Watch(CallStats& stats, Clock& clock, CallStats::Method method) {
    watch_.emplace(stats, clock, method, CallKind::kStream);
  }
  // A client that takes what it is sent more slowly than this loses the stream where others need
  // the room. Before Begin; unless it is called, none does.
  void SetPatience(Duration patience) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    patience_.emplace(patience);
  }
  // Starts reading. Call once, right after construction as a shared_ptr.
  void Begin(StreamSet* streams);
  // Reads nothing more, and ends with `status` once everything read is acknowledged and written.
  void End(grpc::Status status) FRESHET_EXCLUDES(mutex_);
  // The same, but what its client was let in for ends now, whatever is still to be acknowledged.
  void Dismiss(grpc::Status status) override FRESHET_EXCLUDES(mutex_) {
    OnClientGone();
    End(std::move(status));
  }
  [[nodiscard]] CallKind kind() const final { return CallKind::kStream; }
  // Goes on reading if it may.
  void Resume() final FRESHET_EXCLUDES(mutex_);
  void Look(std::chrono::steady_clock::time_point now, const Crowding& crowding) final
      FRESHET_EXCLUDES(mutex_);
  virtual void OnServerDraining() {}
  // How long whoever has opened the stream should send nothing, for what came of all its streams
  // and calls. Asked before the first message is read and after each pause. Thread-safe.
  [[nodiscard]] virtual Duration Owes() const { return {}; }

 protected:
  // What became of a message: it left; it broke off; it never left.
  enum class Fate : uint8_t { kSent, kBrokeOff, kNeverLeft };
  using Sent = std::function<void(Fate)>;

  // A message has arrived. What it is answered with goes through OpenAck and Acknowledge.
  // The bytes may be let go before it returns.
  virtual void OnMessage(grpc::ByteBuffer* bytes) = 0;
  // The most that a message of so many bytes is answered with, roughly. Thread-safe.
  [[nodiscard]] virtual size_t MostAnswered(size_t message_bytes) const;
  // The client has said all it will, and may still listen. Returns whether there is something to be
  // said to it yet: then it is for the stream to call End.
  virtual bool OnReadsEnded() { return false; }
  // The client has said all it will, or is gone; acknowledgements that are open still go out.
  // Called at least once, from any thread, before the stream is over.
  virtual void OnClientGone() {}
  // The client has taken what it was behind with. Called from any thread.
  virtual void OnCaughtUp() {}

  // Cancels the call, which gRPC still has. Any thread.
  virtual void Cancel() {}

  // A place in the order of acknowledgements. Each must be filled by one call of Acknowledge; until
  // then `bytes` of the client's share of answers are kept for it. Called in OnMessage.
  [[nodiscard]] uint64_t OpenAck(size_t bytes = 0) FRESHET_EXCLUDES(mutex_);
  void Acknowledge(uint64_t place, grpc::ByteBuffer message) FRESHET_EXCLUDES(mutex_);
  // Reads no further before all acknowledgements are out: the server is behind.
  void HoldReading() FRESHET_EXCLUDES(mutex_);
  // Reads no further for so long, and until nothing is owed: the client sends more than it may.
  // Called in OnMessage.
  void PauseReading(Duration time) FRESHET_EXCLUDES(mutex_);
  // Size of the message that OnMessage handles, inflated. Called in OnMessage.
  [[nodiscard]] size_t message_bytes() const { return message_bytes_; }
  // Whether so much waits for the client that nothing more should be sent to it until OnCaughtUp.
  // Any thread, with any lock.
  [[nodiscard]] bool behind() const { return behind_.load(std::memory_order_acquire); }
  // Sends a message in no particular order to acknowledgements. `sent` is called once, also when
  // the stream is over already. A message that is not its turn to be written within `patience`,
  // because the client does not read, does not leave.
  void Send(grpc::ByteBuffer message, Sent sent = nullptr, Duration patience = Duration::Infinite())
      FRESHET_EXCLUDES(mutex_);
  // The same for what a client that is behind can do without: then it is not sent.
  void SendNews(const grpc::ByteBuffer& message) FRESHET_EXCLUDES(mutex_) {
    if (!behind()) Send(message);
  }

 private:
  // An acknowledgement to come, how large the message was that it is for, and how large it may be.
  struct Place {
    std::optional<grpc::ByteBuffer> ack;
    size_t bytes = 0;
    size_t reserved = 0;
  };
  struct Outgoing {
    grpc::ByteBuffer message;
    Sent sent;
    std::chrono::steady_clock::time_point stale_at = std::chrono::steady_clock::time_point::max();
  };

  void OnReadDone(bool ok) final;
  void OnWriteDone(bool ok) final;
  void OnDone() final;
  void OnCancel() final;

  // The next gRPC operation that the state allows; does what it returns outside of the lock.
  struct Steps {
    bool read = false;
    bool write = false;
    bool more = false;    // is to be written after it
    bool handle = false;  // the message that was deferred
    std::optional<grpc::Status> finish;
    std::vector<Sent> failed;  // messages that will not leave
    StreamSet::Calls resumed;
    bool caught_up = false;
  };
  [[nodiscard]] Steps NextSteps() FRESHET_REQUIRES(mutex_);
  void NextWriteAndRead(Steps& steps) FRESHET_REQUIRES(mutex_);
  // Counts what waits for the client, and tells whether it is behind with it.
  void CountAnswers(Steps& steps) FRESHET_REQUIRES(mutex_);
  // Whether the message that has come may be handled; if so, it counts as held.
  [[nodiscard]] bool MayHandle() FRESHET_REQUIRES(mutex_);
  // The message that has come counts as held, and is being handled.
  void BeginHandling() FRESHET_REQUIRES(mutex_);
  // Handles the message that has come when it is the turn of the client.
  void HandleInTurn() FRESHET_EXCLUDES(mutex_);
  // Handles the message that has come, or the end of reading if not `ok`.
  void HandleMessage(bool ok) FRESHET_EXCLUDES(mutex_);
  // The bytes of a message are no more; returns who may go on.
  [[nodiscard]] StreamSet::Calls LetGo(size_t bytes) FRESHET_REQUIRES(mutex_);
  void Perform(Steps steps) FRESHET_EXCLUDES(mutex_);
  // Tells others what has become of their messages, and that they may go on.
  void Tell(Steps& steps);
  // Takes what is stale out of what waits.
  [[nodiscard]] std::vector<Sent> TakeStale() FRESHET_REQUIRES(mutex_);
  // Has that looked after once the first that waits is stale.
  void WatchStale() FRESHET_REQUIRES(mutex_);
  void OnStale() FRESHET_EXCLUDES(mutex_);
  void SetPause(Duration time) FRESHET_REQUIRES(mutex_);
  void OnPauseOver() FRESHET_EXCLUDES(mutex_);

  const size_t max_unacked_messages_;
  StreamSet* streams_ = nullptr;
  std::optional<CallWatch> watch_;       // set before Begin, if ever
  std::shared_ptr<MessageStream> self_;  // until OnDone
  grpc::ByteBuffer incoming_;            // gRPC's while reading
  size_t message_bytes_ = 0;             // of it, once it is inflated; of who handles it
  grpc::ByteBuffer writing_;             // gRPC's while writing
  mutable Mutex mutex_;
  std::deque<Place> acks_ FRESHET_GUARDED_BY(mutex_);
  uint64_t first_ack_ FRESHET_GUARDED_BY(mutex_) = 0;  // place of acks_.front()
  std::deque<Outgoing> outgoing_ FRESHET_GUARDED_BY(mutex_);
  Sent writing_sent_ FRESHET_GUARDED_BY(mutex_);
  bool reading_ FRESHET_GUARDED_BY(mutex_) = false;
  bool in_write_ FRESHET_GUARDED_BY(mutex_) = false;
  bool has_written_ FRESHET_GUARDED_BY(mutex_) = false;
  bool handling_ FRESHET_GUARDED_BY(mutex_) = false;  // OnMessage runs
  // The message in incoming_ waits, compressed, until it fits once it is inflated, and until the
  // client has taken enough of what waits for it.
  bool deferred_ FRESHET_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::Alarm> handler_ FRESHET_GUARDED_BY(mutex_);  // of one that was deferred
  bool spoken_ FRESHET_GUARDED_BY(mutex_) = false;                   // a message has come
  bool starting_read_ FRESHET_GUARDED_BY(mutex_) = false;  // StartRead is about to be called
  bool reads_ended_ FRESHET_GUARDED_BY(mutex_) = false;
  bool goes_on_ FRESHET_GUARDED_BY(mutex_) = false;      // although the client has said all
  size_t handled_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;  // of the message in OnMessage
  size_t unacked_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  size_t unwritten_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;  // in outgoing_, and of acks_
  size_t writing_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  size_t reserved_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;  // for acks_
  size_t expected_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;  // of answers to the message in hand
  size_t answer_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;    // that the set counts
  std::atomic<bool> behind_{false};
  std::optional<Patience> patience_ FRESHET_GUARDED_BY(mutex_);
  bool timed_ FRESHET_GUARDED_BY(mutex_) = false;    // what is written is, by patience_
  bool cutting_ FRESHET_GUARDED_BY(mutex_) = false;  // the call is being cancelled
  bool held_ FRESHET_GUARDED_BY(mutex_) = false;
  bool paused_ FRESHET_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::Alarm> pause_ FRESHET_GUARDED_BY(mutex_);  // its end, while paused_
  std::unique_ptr<grpc::Alarm> stale_ FRESHET_GUARDED_BY(mutex_);  // null: nothing is watched
  bool broken_ FRESHET_GUARDED_BY(mutex_) = false;                 // writes fail
  bool finished_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> end_status_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_STREAM_H_
