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

// One open stream. It lives until gRPC is done with it and nothing holds it any more. Thread-safe.
// OnMessage is never called concurrently.
class MessageStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                      public OpenCall,
                      public std::enable_shared_from_this<MessageStream> {
 public:
  // Stops reading while `unacked_messages` messages are not acknowledged.
  explicit MessageStream(int unacked_messages = limits::kMaxUnackedMessagesPerStream)
      : max_unacked_messages_(static_cast<size_t>(unacked_messages)) {}
  // Counts the stream as a call of `method`. Called before Begin. `stats` and `clock` outlive the
  // stream.
  void Watch(CallStats& stats, Clock& clock, CallStats::Method method) {
    watch_.emplace(stats, clock, method, CallKind::kStream);
  }
  // Sets how long the client may be slow (server/api/patience.h). A slower client loses its stream,
  // but only while others need the memory. Called before Begin; by default there is no limit.
  void SetPatience(Duration patience) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    patience_.emplace(patience);
  }
  // Starts reading. Called once, right after construction as a shared_ptr.
  void Begin(StreamSet* streams);
  // Stops reading, and ends with `status` once everything read is acknowledged and everything is
  // written.
  void End(grpc::Status status) FRESHET_EXCLUDES(mutex_);
  // Ends the stream like End, but calls OnClientGone now, even with open acknowledgements.
  void Dismiss(grpc::Status status) override FRESHET_EXCLUDES(mutex_) {
    OnClientGone();
    End(std::move(status));
  }
  [[nodiscard]] CallKind kind() const final { return CallKind::kStream; }
  // Continues to read if that is allowed.
  void Resume() final FRESHET_EXCLUDES(mutex_);
  Peer Look(std::chrono::steady_clock::time_point now, const Crowding& crowding) final
      FRESHET_EXCLUDES(mutex_);
  virtual void OnServerDraining() {}
  // How long the client should send nothing, on all its streams and calls. Called before the first
  // message is read, and after each pause. Thread-safe.
  [[nodiscard]] virtual Duration Owes() const { return {}; }

 protected:
  // The fate of a message: it was written, the write failed, or it was never written.
  enum class Fate : uint8_t { kSent, kBrokeOff, kNeverLeft };
  using Sent = std::function<void(Fate)>;

  // Handles a message. OpenAck and Acknowledge send the answer. The handler may free the bytes.
  virtual void OnMessage(grpc::ByteBuffer* bytes) = 0;
  // Returns the approximate maximum size in bytes of the answer to a message of `message_bytes`
  // bytes. Thread-safe.
  [[nodiscard]] virtual size_t MostAnswered(size_t message_bytes) const;
  // Called when the client has ended its side; the client may still read. Returns true if more
  // messages for the client will come. In that case the stream must call End later.
  virtual bool OnReadsEnded() { return false; }
  // Called when the client has ended its side or is gone. Open acknowledgements are still sent.
  // Called at least once, on any thread, before the stream ends.
  virtual void OnClientGone() {}
  // Called on any thread when a client that was behind has read enough messages.
  virtual void OnCaughtUp() {}

  // Cancels the call. Called on any thread, while gRPC still has the call.
  virtual void Cancel() {}
  // The other end of the call's connection; none = not known. Thread-safe.
  [[nodiscard]] virtual Peer peer() const { return {}; }

  // Opens a place in the order of acknowledgements. One call of Acknowledge must fill it. Until
  // then, `bytes` bytes of the client's share for answers are reserved. Called in OnMessage.
  [[nodiscard]] uint64_t OpenAck(size_t bytes = 0) FRESHET_EXCLUDES(mutex_);
  void Acknowledge(uint64_t place, grpc::ByteBuffer message) FRESHET_EXCLUDES(mutex_);
  // Stops reading until all open acknowledgements are filled, because the server is behind.
  void HoldReading() FRESHET_EXCLUDES(mutex_);
  // Stops reading for this time, and as long as Owes is above 0, because the client sends too much.
  // Called in OnMessage.
  void PauseReading(Duration time) FRESHET_EXCLUDES(mutex_);
  // Inflated size of the message that OnMessage handles. Called in OnMessage.
  [[nodiscard]] size_t message_bytes() const { return message_bytes_; }
  // Whether so many messages wait for the client that nothing more should be sent until OnCaughtUp.
  // May be called on any thread, with any lock held.
  [[nodiscard]] bool behind() const { return behind_.load(std::memory_order_acquire); }
  // Sends a message, in any order relative to acknowledgements. `sent` is called once, even if the
  // stream has already ended. If the client does not read and the message is not written within
  // `patience`, the message is dropped (kNeverLeft).
  void Send(grpc::ByteBuffer message, Sent sent = nullptr, Duration patience = Duration::Infinite())
      FRESHET_EXCLUDES(mutex_);
  // Sends a message that the client can do without. Drops it if the client is behind.
  void SendNews(const grpc::ByteBuffer& message) FRESHET_EXCLUDES(mutex_) {
    if (!behind()) Send(message);
  }

 private:
  // An open acknowledgement, with the size of the message to acknowledge, and the maximum size in
  // bytes of the acknowledgement.
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

  // The next gRPC operations that the state allows. They are performed without the lock.
  struct Steps {
    bool read = false;
    bool write = false;
    bool more = false;    // another message follows the one to write
    bool handle = false;  // handle the deferred message
    std::optional<grpc::Status> finish;
    std::vector<Sent> failed;  // of dropped messages
    StreamSet::Calls resumed;
    bool caught_up = false;
  };
  [[nodiscard]] Steps NextSteps() FRESHET_REQUIRES(mutex_);
  void NextWriteAndRead(Steps& steps) FRESHET_REQUIRES(mutex_);
  // Counts the bytes that wait for the client, and finds out whether the client is behind.
  void CountAnswers(Steps& steps) FRESHET_REQUIRES(mutex_);
  // Returns true if the received message may be handled, and then counts it as held.
  [[nodiscard]] bool MayHandle() FRESHET_REQUIRES(mutex_);
  // Counts the received message as unacknowledged, and marks it as being handled.
  void BeginHandling() FRESHET_REQUIRES(mutex_);
  // Handles the received message when it is the client's turn.
  void HandleInTurn() FRESHET_EXCLUDES(mutex_);
  // Handles the received message, or the end of reading if `ok` is false.
  void HandleMessage(bool ok) FRESHET_EXCLUDES(mutex_);
  // Frees the bytes of a message; returns the calls that may continue.
  [[nodiscard]] StreamSet::Calls LetGo(size_t bytes) FRESHET_REQUIRES(mutex_);
  void Perform(Steps steps) FRESHET_EXCLUDES(mutex_);
  // Calls the callbacks of dropped messages, resumes the calls that may continue, and makes another
  // thread handle the deferred message.
  void Tell(Steps& steps) FRESHET_EXCLUDES(mutex_);
  // Removes stale messages from the queue. Returns their callbacks.
  [[nodiscard]] std::vector<Sent> TakeStale() FRESHET_REQUIRES(mutex_);
  // Sets the alarm for the message that becomes stale first.
  void WatchStale() FRESHET_REQUIRES(mutex_);
  void OnStale() FRESHET_EXCLUDES(mutex_);
  void SetPause(Duration time) FRESHET_REQUIRES(mutex_);
  void OnPauseOver() FRESHET_EXCLUDES(mutex_);

  const size_t max_unacked_messages_;
  StreamSet* streams_ = nullptr;
  std::optional<CallWatch> watch_;       // set before Begin; unset = not counted
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
  // The message in incoming_ waits, still compressed, until there is room for its inflated size and
  // the client has read enough of its answers.
  bool deferred_ FRESHET_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::Alarm> handler_ FRESHET_GUARDED_BY(mutex_);  // starts the deferred message
  bool spoken_ FRESHET_GUARDED_BY(mutex_) = false;                   // a message has come
  bool starting_read_ FRESHET_GUARDED_BY(mutex_) = false;  // StartRead is about to be called
  bool reads_ended_ FRESHET_GUARDED_BY(mutex_) = false;
  // More messages will be sent although the client has ended its side.
  bool goes_on_ FRESHET_GUARDED_BY(mutex_) = false;
  size_t handled_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;  // bytes of the message in OnMessage
  size_t unacked_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  size_t unwritten_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;  // bytes of outgoing_ and acks_
  size_t writing_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  size_t reserved_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;  // bytes reserved for acks_
  // Bytes that the answer to the message being handled may have.
  size_t expected_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  // Bytes of answers that streams_ counts for this stream.
  size_t answer_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> behind_{false};
  std::optional<Patience> patience_ FRESHET_GUARDED_BY(mutex_);
  bool timed_ FRESHET_GUARDED_BY(mutex_) = false;    // patience_ is timing a write
  bool cutting_ FRESHET_GUARDED_BY(mutex_) = false;  // the call is being cancelled
  bool held_ FRESHET_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::Alarm> pause_ FRESHET_GUARDED_BY(mutex_);  // nullptr = no pause
  std::unique_ptr<grpc::Alarm> stale_ FRESHET_GUARDED_BY(mutex_);  // nullptr = not set
  bool broken_ FRESHET_GUARDED_BY(mutex_) = false;                 // writes fail
  bool finished_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> end_status_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_STREAM_H_
