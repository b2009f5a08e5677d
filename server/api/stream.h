// The calls that are open; and what the bidirectional streams of them have in common: messages as
// bytes, acknowledgements in order, a bound on what is read and not yet acknowledged, and an
// orderly end.
#ifndef FRESHET_SERVER_API_STREAM_H_
#define FRESHET_SERVER_API_STREAM_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/limits.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "grpcpp/alarm.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/api/call_stats.h"
#include "server/api/patience.h"
#include "server/base/live.h"
#include "sync/mutex.h"

namespace freshet {

class MessageStream;

// Value type, thread-compatible.
struct StreamLimits {
  // Open at a time that have said something; as many calls that are no streams, of which a thousand
  // may always be open; and as many of each that have said nothing.
  Live<size_t> streams = SIZE_MAX;
  Live<size_t> streams_per_client = SIZE_MAX;  // of these, streams and other calls each by itself
  // Bytes of messages that all streams have read and not acknowledged. Answers that wait for their
  // clients to take them may have as many bytes again.
  Live<size_t> unacked_bytes = SIZE_MAX;
};

// What is known of a call while it is open, whatever its method. Thread-safe.
class OpenCall {
 public:
  OpenCall() = default;
  virtual ~OpenCall() = default;
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;

  // Whoever has opened the call, as one text that stays the same; empty: nobody in particular.
  [[nodiscard]] virtual const std::string& client() const;
  // Whether whoever has opened the call may still have it.
  [[nodiscard]] virtual Status CheckCaller() const { return absl::OkStatus(); }
  // Its client may not be here any more, or has said nothing for too long: what it was let in for
  // ends now.
  virtual void Dismiss(grpc::Status status) = 0;
  // When what its client has shown of itself ends.
  [[nodiscard]] virtual Instant ends() const { return Instant::Infinite(); }
  // Whether it is a stream, which may stay open for long.
  [[nodiscard]] virtual CallKind kind() const = 0;
  // Whether that is an identity with the role admin.
  [[nodiscard]] virtual bool admin() const { return false; }
  // Called again and again: for what has become too late.
  virtual void Look(std::chrono::steady_clock::time_point) {}
  // What StreamSet::MayRead or TakeAnswers have refused may be asked for again.
  virtual void Resume() {}
};

// The open calls of the port, whatever their method, so that they can be counted, those of clients
// that may not be here any more ended, and streams of messages brought to their end when the
// server stops; and what these hold together. A call takes one of the places when its first message
// has come: clients that open calls and drop them without a word keep nobody out.
//
// Clients make the server keep what they send until it is acknowledged, and what they are answered
// until they take it. What is kept of each kind for one client has a share (core/base/shares.h) of
// StreamLimits::unacked_bytes. A client past a share is read no further, and is given no more to
// read, until the server, or it, has done its part. Thread-safe.
class StreamSet {
 public:
  using Calls = std::vector<std::shared_ptr<OpenCall>>;

  static constexpr Duration kCheckInterval = Duration::Seconds(30);

  explicit StreamSet(StreamLimits limits = {}) : limits_(limits) {}

  // From the next call and message on; those that are open stay.
  void SetLimits(const StreamLimits& limits) { limits_ = limits; }

  struct Added {
    grpc::Status status;
    // The one that has been silent for the longest, if there are too many: to be dismissed with
    // TooSilent, without any lock.
    std::shared_ptr<OpenCall> outdone;
  };
  // A call that has said nothing yet. It is to be removed also if it is refused.
  [[nodiscard]] Added Add(const std::shared_ptr<OpenCall>& call) FRESHET_EXCLUDES(mutex_);
  // The same of one that ends in order when the server stops: not OK once it does.
  [[nodiscard]] Added Add(const std::shared_ptr<MessageStream>& stream) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] grpc::Status TooSilent() const;
  // Its first message has come. Refuses one call too many, in all or of its client, with a status
  // that says so.
  [[nodiscard]] grpc::Status Admit(const std::shared_ptr<OpenCall>& call) FRESHET_EXCLUDES(mutex_);
  void Remove(const std::shared_ptr<OpenCall>& call) FRESHET_EXCLUDES(mutex_);
  // Tells every open stream of messages that the server is stopping.
  void NoticeDraining() FRESHET_EXCLUDES(mutex_);
  // Whether that was said.
  [[nodiscard]] bool draining() const { return draining_; }
  // Ends every stream of messages, also those still to come, once what was read is acknowledged.
  void EndAll() FRESHET_EXCLUDES(mutex_);
  // Dismisses the calls whose callers may not go on (OpenCall::CheckCaller).
  void CheckCallers() FRESHET_EXCLUDES(mutex_);
  // Looks at every call, dismisses those of callers whose proof has ended by `now`, and every
  // kCheckInterval all whose callers may not go on.
  void Look(Instant now) FRESHET_EXCLUDES(mutex_);
  // Returns when no stream of messages is open or `timeout` has passed; whether none is.
  bool WaitUntilEmpty(Duration timeout) FRESHET_EXCLUDES(mutex_);
  // Streams that are open, of all methods.
  [[nodiscard]] size_t size() const FRESHET_EXCLUDES(mutex_);
  // Calls of all kinds that are open.
  [[nodiscard]] size_t calls() const FRESHET_EXCLUDES(mutex_);
  // One too many, whether it had said something or not.
  [[nodiscard]] uint64_t refused() const FRESHET_EXCLUDES(mutex_);
  // Of these, one too many of its client.
  [[nodiscard]] uint64_t refused_by_client() const FRESHET_EXCLUDES(mutex_);

  // A message of so many bytes has come in by the call.
  void Hold(const OpenCall& call, size_t bytes) FRESHET_EXCLUDES(mutex_);
  // The same where so many bytes are within the share of its client, or the client's only ones;
  // false, and nothing is held, where they are not: then a Release will return the call.
  [[nodiscard]] bool TryHold(const std::shared_ptr<OpenCall>& call, size_t bytes)
      FRESHET_EXCLUDES(mutex_);
  // The message is no more. Returns the calls that may go on: for Resume, without any lock.
  [[nodiscard]] Calls Release(const OpenCall& call, size_t bytes) FRESHET_EXCLUDES(mutex_);
  // Whether the stream may read; if not, a Release or SetAnswers will return it.
  [[nodiscard]] bool MayRead(const std::shared_ptr<OpenCall>& stream) FRESHET_EXCLUDES(mutex_);
  // Whether its client is within its share of answers; if not, a SetAnswers will return the call.
  [[nodiscard]] bool MayAnswer(const std::shared_ptr<OpenCall>& call) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] size_t unacked_bytes() const FRESHET_EXCLUDES(mutex_);
  // Answers of the call that wait for its client had `was` bytes, and have `now`. Returns as
  // Release.
  [[nodiscard]] Calls SetAnswers(const OpenCall& call, size_t was, size_t now)
      FRESHET_EXCLUDES(mutex_);
  // So many bytes of answers of the call wait, if its client may have them wait; if not, a
  // SetAnswers will return it.
  [[nodiscard]] bool TakeAnswers(const std::shared_ptr<OpenCall>& call, size_t bytes)
      FRESHET_EXCLUDES(mutex_);
  // Nothing will return the call; false: something has, or nothing would have.
  bool StopWaiting(const std::shared_ptr<OpenCall>& call) FRESHET_EXCLUDES(mutex_);
  // Bytes of answers that wait for clients, and at most so many of those that are being made.
  [[nodiscard]] size_t answer_bytes() const FRESHET_EXCLUDES(mutex_);
  // Whether so many wait that clients which take nothing are in others' way: what clients share of
  // the room is full (core/base/shares.h).
  [[nodiscard]] bool crowded() const FRESHET_EXCLUDES(mutex_);

 private:
  // A call that waits for so many bytes.
  struct Waiting {
    std::shared_ptr<OpenCall> call;
    size_t message = 0;
    size_t answers = 0;
  };
  // What is kept for a client, and its calls that wait until they may go on, in the order in which
  // they were opened.
  struct Client {
    size_t messages = 0;  // bytes that were read and are not acknowledged
    size_t answers = 0;   // bytes that it has not taken
    size_t calls = 0;     // that are open
    bool admin = false;
    std::map<uint64_t, Waiting> waiting;
  };
  struct Entry {
    uint64_t number = 0;  // in order of opening, calls that are no streams after streams
    bool admitted = false;
    std::shared_ptr<MessageStream> ends;  // it, if it ends in order
  };
  // Those that were admitted.
  struct Places {
    size_t taken = 0;
    absl::flat_hash_map<std::string, size_t> by_client;
  };
  [[nodiscard]] std::vector<std::shared_ptr<OpenCall>> All() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] Added AddLocked(const std::shared_ptr<OpenCall>& call, Entry entry)
      FRESHET_REQUIRES(mutex_);
  [[nodiscard]] std::vector<std::shared_ptr<MessageStream>> Ending() const FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Client& ClientOf(const OpenCall& call) FRESHET_REQUIRES(mutex_);
  // Whether so many bytes more are within a client's share, that holds `held` of `taken`. One that
  // holds nothing may have what its first call asks for, as long as there is room for newcomers.
  [[nodiscard]] bool Fits(const Client& client, size_t held, size_t taken, size_t bytes) const;
  [[nodiscard]] bool FitsMessage(const Client& client, size_t bytes) const
      FRESHET_REQUIRES(mutex_) {
    return Fits(client, client.messages, unacked_bytes_, bytes);
  }
  [[nodiscard]] bool FitsAnswers(const Client& client, size_t bytes) const
      FRESHET_REQUIRES(mutex_) {
    return Fits(client, client.answers, answer_bytes_, bytes);
  }
  void Wait(Client& client, const Waiting& waiting) FRESHET_REQUIRES(mutex_);
  bool StopWaitingLocked(const std::shared_ptr<OpenCall>& call) FRESHET_REQUIRES(mutex_);
  // The calls that may go on.
  [[nodiscard]] Calls TakeReady() FRESHET_REQUIRES(mutex_);
  // Forgets the client if nothing is kept for it any more.
  void Forget(const std::string& client) FRESHET_REQUIRES(mutex_);

  StreamLimits limits_;
  std::atomic<bool> draining_{false};
  std::atomic<Instant> checked_{};  // callers were
  mutable Mutex mutex_;
  Condition empty_;
  absl::flat_hash_map<std::shared_ptr<OpenCall>, Entry> calls_ FRESHET_GUARDED_BY(mutex_);
  std::array<Places, 2> places_ FRESHET_GUARDED_BY(mutex_);  // by CallKind
  size_t streams_ FRESHET_GUARDED_BY(mutex_) = 0;            // of all methods
  size_t ends_ FRESHET_GUARDED_BY(mutex_) = 0;               // streams of messages
  // Those that have said nothing yet and are not to be ended, by number.
  std::map<uint64_t, std::shared_ptr<OpenCall>> silent_ FRESHET_GUARDED_BY(mutex_);
  uint64_t opened_ FRESHET_GUARDED_BY(mutex_) = 0;
  size_t unacked_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  size_t answer_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  // By client; none without bytes and calls.
  absl::flat_hash_map<std::string, Client> clients_ FRESHET_GUARDED_BY(mutex_);
  std::set<std::string> waiting_ FRESHET_GUARDED_BY(mutex_);  // clients with calls that wait
  uint64_t refused_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t refused_by_client_ FRESHET_GUARDED_BY(mutex_) = 0;
  bool ending_ FRESHET_GUARDED_BY(mutex_) = false;
};

// Has each of the calls go on, without any lock. What one of them lets go on in turn, on the same
// thread, has its turn after these: thousands that end together must not stand on one stack.
void ResumeAll(StreamSet::Calls calls);

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
  void Look(std::chrono::steady_clock::time_point now) final FRESHET_EXCLUDES(mutex_);
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
  size_t answer_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;    // that the set counts
  std::atomic<bool> behind_{false};
  std::optional<Patience> patience_ FRESHET_GUARDED_BY(mutex_);
  std::optional<Patience::Clock::time_point> too_slow_ FRESHET_GUARDED_BY(mutex_);  // while writing
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
