// Bidirectional streams: messages as bytes, acknowledgements in order, a bound on unacknowledged
// messages, and an orderly end.
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

// One open stream. It lives until gRPC is done with it and nobody holds it. Thread-safe; OnMessage
// is called one at a time.
class MessageStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                      public OpenCall,
                      public std::enable_shared_from_this<MessageStream> {
 public:
  // Stops reading while `unacked_messages` messages wait for their acknowledgements.
  explicit MessageStream(int unacked_messages = limits::kMaxUnackedMessagesPerStream)
      : max_unacked_messages_(static_cast<size_t>(unacked_messages)) {}
  // Counts the stream for that method. To be called before Begin; both outlive the stream.
  void Watch(CallStats& stats, Clock& clock, CallStats::Method method) {
    watch_.emplace(stats, clock, method, CallKind::kStream);
  }
  // Sets the patience with slow clients: one that takes its messages more slowly loses the stream
  // when others need the room. To be called before Begin; by default clients may be slow.
  void SetPatience(Duration patience) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    patience_.emplace(patience);
  }
  // Starts reading. To be called once, right after construction as a shared_ptr.
  void Begin(StreamSet* streams);
  // Reads nothing more, and ends with `status` once everything read is acknowledged and written.
  void End(grpc::Status status) FRESHET_EXCLUDES(mutex_);
  // Ends the stream like End, but withdraws the client's rights now, even with open
  // acknowledgements.
  void Dismiss(grpc::Status status) override FRESHET_EXCLUDES(mutex_) {
    OnClientGone();
    End(std::move(status));
  }
  [[nodiscard]] CallKind kind() const final { return CallKind::kStream; }
  // Reads on if it may.
  void Resume() final FRESHET_EXCLUDES(mutex_);
  Peer Look(std::chrono::steady_clock::time_point now, const Crowding& crowding) final
      FRESHET_EXCLUDES(mutex_);
  virtual void OnServerDraining() {}
  // How long the client should send nothing, for all its streams and calls. Asked before the first
  // message is read and after each pause. Thread-safe.
  [[nodiscard]] virtual Duration Owes() const { return {}; }

 protected:
  // The fate of a message: it left; it broke off; it never left.
  enum class Fate : uint8_t { kSent, kBrokeOff, kNeverLeft };
  using Sent = std::function<void(Fate)>;

  // A message has arrived. Its answer goes through OpenAck and Acknowledge. The bytes may be freed
  // before this returns.
  virtual void OnMessage(grpc::ByteBuffer* bytes) = 0;
  // The most bytes, roughly, of the answer to a message of `message_bytes`. Thread-safe.
  [[nodiscard]] virtual size_t MostAnswered(size_t message_bytes) const;
  // The client has ended its side, and may still listen. Returns whether messages for it are still
  // to come: then the stream must call End.
  virtual bool OnReadsEnded() { return false; }
  // The client has ended its side, or is gone; open acknowledgements still go out. Called at least
  // once, from any thread, before the stream is over.
  virtual void OnClientGone() {}
  // The client has taken the messages that it was behind with. Called from any thread.
  virtual void OnCaughtUp() {}

  // Cancels the call, which gRPC still has. Any thread.
  virtual void Cancel() {}
  // The other side of the connection of the call; none: nobody in particular. Thread-safe.
  [[nodiscard]] virtual Peer peer() const { return {}; }

  // Opens a place in the order of acknowledgements. One call of Acknowledge must fill it; until
  // then `bytes` of the client's share of answers are kept for it. Called in OnMessage.
  [[nodiscard]] uint64_t OpenAck(size_t bytes = 0) FRESHET_EXCLUDES(mutex_);
  void Acknowledge(uint64_t place, grpc::ByteBuffer message) FRESHET_EXCLUDES(mutex_);
  // Reads no further before all acknowledgements are out, because the server is behind.
  void HoldReading() FRESHET_EXCLUDES(mutex_);
  // Reads no further for this time, and while anything is owed, because the client sends too much.
  // Called in OnMessage.
  void PauseReading(Duration time) FRESHET_EXCLUDES(mutex_);
  // Inflated size of the message that OnMessage handles. Called in OnMessage.
  [[nodiscard]] size_t message_bytes() const { return message_bytes_; }
  // Whether so much waits for the client that nothing more should be sent until OnCaughtUp. Any
  // thread, with any lock.
  [[nodiscard]] bool behind() const { return behind_.load(std::memory_order_acquire); }
  // Sends a message in no fixed order to acknowledgements. `sent` is called once, even when the
  // stream is already over. A message that is not written within `patience`, because the client
  // does not read, never leaves.
  void Send(grpc::ByteBuffer message, Sent sent = nullptr, Duration patience = Duration::Infinite())
      FRESHET_EXCLUDES(mutex_);
  // Sends a message that the client can do without, unless it is behind.
  void SendNews(const grpc::ByteBuffer& message) FRESHET_EXCLUDES(mutex_) {
    if (!behind()) Send(message);
  }

 private:
  // An acknowledgement to come, with the size of its message, and the most bytes that it may have.
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

  // The next gRPC operations that the state allows, to be done outside of the lock.
  struct Steps {
    bool read = false;
    bool write = false;
    bool more = false;    // another message follows it
    bool handle = false;  // the deferred message
    std::optional<grpc::Status> finish;
    std::vector<Sent> failed;  // messages that never leave
    StreamSet::Calls resumed;
    bool caught_up = false;
  };
  [[nodiscard]] Steps NextSteps() FRESHET_REQUIRES(mutex_);
  void NextWriteAndRead(Steps& steps) FRESHET_REQUIRES(mutex_);
  // Counts the bytes that wait for the client, and tells whether it is behind.
  void CountAnswers(Steps& steps) FRESHET_REQUIRES(mutex_);
  // Whether the message that has come may be handled; counts it as held then.
  [[nodiscard]] bool MayHandle() FRESHET_REQUIRES(mutex_);
  // Counts the message that has come as held, and begins to handle it.
  void BeginHandling() FRESHET_REQUIRES(mutex_);
  // Handles the message that has come when it is the client's turn.
  void HandleInTurn() FRESHET_EXCLUDES(mutex_);
  // Handles the message that has come, or the end of reading if not `ok`.
  void HandleMessage(bool ok) FRESHET_EXCLUDES(mutex_);
  // Frees the bytes of a message; returns the calls that may continue.
  [[nodiscard]] StreamSet::Calls LetGo(size_t bytes) FRESHET_REQUIRES(mutex_);
  void Perform(Steps steps) FRESHET_EXCLUDES(mutex_);
  // Reports to others the outcomes of their messages, and that they may continue. Has another
  // thread handle the deferred message.
  void Tell(Steps& steps) FRESHET_EXCLUDES(mutex_);
  // Takes stale messages out of the waiting ones.
  [[nodiscard]] std::vector<Sent> TakeStale() FRESHET_REQUIRES(mutex_);
  // Sets the alarm for the first waiting message that becomes stale.
  void WatchStale() FRESHET_REQUIRES(mutex_);
  void OnStale() FRESHET_EXCLUDES(mutex_);
  void SetPause(Duration time) FRESHET_REQUIRES(mutex_);
  void OnPauseOver() FRESHET_EXCLUDES(mutex_);

  const size_t max_unacked_messages_;
  StreamSet* streams_ = nullptr;
  std::optional<CallWatch> watch_;       // set before Begin, if ever
  std::shared_ptr<MessageStream> self_;  // until OnDone
  grpc::ByteBuffer incoming_;            // used by gRPC while reading
  size_t message_bytes_ = 0;             // its inflated size; used by the thread that handles it
  grpc::ByteBuffer writing_;             // used by gRPC while writing
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
  // client has taken enough of its answers.
  bool deferred_ FRESHET_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::Alarm> handler_ FRESHET_GUARDED_BY(mutex_);  // runs a deferred message
  bool spoken_ FRESHET_GUARDED_BY(mutex_) = false;                   // a message has come
  bool starting_read_ FRESHET_GUARDED_BY(mutex_) = false;  // StartRead is about to be called
  bool reads_ended_ FRESHET_GUARDED_BY(mutex_) = false;
  bool goes_on_ FRESHET_GUARDED_BY(mutex_) = false;      // although the client has ended its side
  size_t handled_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;  // bytes of the message in OnMessage
  size_t unacked_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  size_t unwritten_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;  // bytes of outgoing_ and acks_
  size_t writing_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  size_t reserved_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;  // bytes reserved for acks_
  // bytes that answers to the present message may have
  size_t expected_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  // bytes of answers that the set counts for this stream
  size_t answer_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> behind_{false};
  std::optional<Patience> patience_ FRESHET_GUARDED_BY(mutex_);
  bool timed_ FRESHET_GUARDED_BY(mutex_) = false;    // patience_ times the present write
  bool cutting_ FRESHET_GUARDED_BY(mutex_) = false;  // the call is being cancelled
  bool held_ FRESHET_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::Alarm> pause_ FRESHET_GUARDED_BY(mutex_);  // its end; nullptr = no pause
  std::unique_ptr<grpc::Alarm> stale_ FRESHET_GUARDED_BY(mutex_);  // nullptr = nothing is watched
  bool broken_ FRESHET_GUARDED_BY(mutex_) = false;                 // writes fail
  bool finished_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> end_status_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_STREAM_H_
