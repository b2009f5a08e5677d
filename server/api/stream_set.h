// The calls that are open, and what is kept for their clients: one table of bytes that all share.
#ifndef FRESHET_SERVER_API_STREAM_SET_H_
#define FRESHET_SERVER_API_STREAM_SET_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "grpcpp/support/status.h"
#include "server/api/call_stats.h"
#include "server/api/message_turns.h"
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

// How far the places are taken that newcomers find in the two tables of bytes: 0 where clients have
// not filled what they share, 1 where no newcomer finds any. Whoever takes nothing is waited for
// less the further this is (server/api/patience.h). Value type, thread-compatible.
struct Crowding {
  double messages = 0;
  double answers = 0;
};

// Bytes of a call that StreamSet::Keep has counted: a forwarder learns how many there are only when
// they have come. Value type, thread-compatible.
struct Kept {
  size_t bytes = 0;
  bool answers = false;
  bool beside = false;  // of the share of its client
};

// What is known of a call while it is open, whatever its method. Thread-safe.
class OpenCall {
 public:
  OpenCall() = default;
  virtual ~OpenCall() = default;
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;

  // The client that has opened the call, as one text that stays the same; empty: nobody in
  // particular.
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
  virtual void Look(std::chrono::steady_clock::time_point, const Crowding&) {}
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
  // Adds a stream that ends in order when the server stops: not OK once it does.
  [[nodiscard]] Added Add(const std::shared_ptr<MessageStream>& stream) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] grpc::Status TooSilent() const;
  // Its first message has come. Refuses one call too many, in all or of its client, with a status
  // that says so.
  [[nodiscard]] grpc::Status Admit(const std::shared_ptr<OpenCall>& call) FRESHET_EXCLUDES(mutex_);
  void Remove(const std::shared_ptr<OpenCall>& call) FRESHET_EXCLUDES(mutex_);
  // Whether so few calls that are no streams have a place that clients may leave their answers.
  [[nodiscard]] bool calls_are_few() const;
  // Tells every open stream of messages that the server is stopping.
  void NoticeDraining() FRESHET_EXCLUDES(mutex_);
  // Whether that was said.
  [[nodiscard]] bool draining() const { return draining_; }
  // Ends every stream of messages, also those still to come, once what was read is acknowledged.
  void EndAll() FRESHET_EXCLUDES(mutex_);
  // Dismisses the calls whose callers may not go on (OpenCall::CheckCaller).
  void CheckCallers() FRESHET_EXCLUDES(mutex_);
  // Dismisses the calls that have said nothing yet.
  void DismissSilent(const grpc::Status& status) FRESHET_EXCLUDES(mutex_);
  // Lets those go on that Release has not found yet, looks at every call, dismisses those of
  // callers whose proof has ended by `now`, and every kCheckInterval all whose callers may not go
  // on.
  void Look(Instant now) FRESHET_EXCLUDES(mutex_);
  // Returns when no stream of messages is open or `timeout` has passed; whether none is.
  bool WaitUntilEmpty(Duration timeout) FRESHET_EXCLUDES(mutex_);
  // Streams that are open, of all methods.
  [[nodiscard]] size_t size() const FRESHET_EXCLUDES(mutex_);
  // Calls of all kinds that are open.
  [[nodiscard]] size_t calls() const FRESHET_EXCLUDES(mutex_);
  // One too many, whether it had said something or not.
  [[nodiscard]] uint64_t refused() const FRESHET_EXCLUDES(mutex_);
  // Calls that were refused because their client had too many.
  [[nodiscard]] uint64_t refused_by_client() const FRESHET_EXCLUDES(mutex_);

  // A message of so many bytes has come in by the call.
  void Hold(const OpenCall& call, size_t bytes) FRESHET_EXCLUDES(mutex_);
  // The same where so many bytes are within the share of its client, or the client's only ones, and
  // so are `answers` bytes that it may be answered with, which then count as answers that wait;
  // false, and nothing is held, where they are not: then a Release or SetAnswers will return the
  // call.
  [[nodiscard]] bool TryHold(const std::shared_ptr<OpenCall>& call, size_t bytes,
                             size_t answers = 0) FRESHET_EXCLUDES(mutex_);
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
  // So many bytes of the call have come: of a message, or of an answer that waits for the client.
  // Bytes beyond the share of the client take no place from others. They have a place of their own,
  // as large as each table, for all clients and both kinds together. Nothing: that is full.
  [[nodiscard]] std::optional<Kept> Keep(const OpenCall& call, bool answers, size_t bytes)
      FRESHET_EXCLUDES(mutex_);
  // They are no more. Returns as Release.
  [[nodiscard]] Calls Drop(const OpenCall& call, const Kept& kept) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] Crowding crowding() const FRESHET_EXCLUDES(mutex_);
  // In which messages of the calls are handled.
  [[nodiscard]] MessageTurns& turns() { return turns_; }

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
  using Silent = std::map<uint64_t, std::shared_ptr<OpenCall>>;
  [[nodiscard]] Silent& SilentOf(const OpenCall& call) FRESHET_REQUIRES(mutex_) {
    return silent_[static_cast<size_t>(call.kind())];
  }
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
  // Besides what the call waits for already: it is returned as soon as one of them fits.
  void Wait(Client& client, const Waiting& waiting) FRESHET_REQUIRES(mutex_);
  bool StopWaitingLocked(const std::shared_ptr<OpenCall>& call) FRESHET_REQUIRES(mutex_);
  // The calls that may go on: of that client; of so many clients, the next in turn; and of all.
  void TakeReadyOf(const std::string& name, Calls* ready) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Calls TakeReady(size_t most_clients) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Calls TakeAllReady() FRESHET_EXCLUDES(mutex_);
  // The call has given back bytes: those of its client that may go on, and of some others. Look
  // finds the rest.
  [[nodiscard]] Calls TakeReady(const OpenCall& released) FRESHET_REQUIRES(mutex_);
  // Forgets the client if nothing is kept for it any more.
  void Forget(const std::string& client) FRESHET_REQUIRES(mutex_);

  StreamLimits limits_;
  MessageTurns turns_;
  std::atomic<bool> draining_{false};
  std::atomic<Instant> checked_{};  // callers were
  mutable Mutex mutex_;
  Condition empty_;
  absl::flat_hash_map<std::shared_ptr<OpenCall>, Entry> calls_ FRESHET_GUARDED_BY(mutex_);
  std::array<Places, 2> places_ FRESHET_GUARDED_BY(mutex_);  // by CallKind
  size_t streams_ FRESHET_GUARDED_BY(mutex_) = 0;            // of all methods
  size_t ends_ FRESHET_GUARDED_BY(mutex_) = 0;               // streams of messages
  // Those that have said nothing yet and are not to be ended, by number.
  std::array<Silent, 2> silent_ FRESHET_GUARDED_BY(mutex_);  // by CallKind
  uint64_t opened_ FRESHET_GUARDED_BY(mutex_) = 0;
  size_t unacked_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  size_t answer_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  size_t beside_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;  // of both kinds, beyond shares
  // By client; none without bytes and calls.
  absl::flat_hash_map<std::string, Client> clients_ FRESHET_GUARDED_BY(mutex_);
  std::set<std::string> waiting_ FRESHET_GUARDED_BY(mutex_);  // clients with calls that wait
  std::string looked_at_ FRESHET_GUARDED_BY(mutex_);          // of these, the last one
  std::atomic<size_t> calls_taken_ = 0;                       // places of calls that are no streams
  uint64_t refused_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t refused_by_client_ FRESHET_GUARDED_BY(mutex_) = 0;
  bool ending_ FRESHET_GUARDED_BY(mutex_) = false;
};

// Has each of the calls go on, without any lock. What one of them lets go on in turn, on the same
// thread, has its turn after these: thousands that end together must not stand on one stack.
void ResumeAll(StreamSet::Calls calls);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_STREAM_SET_H_
