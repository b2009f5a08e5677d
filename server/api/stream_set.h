// The open calls, and the bytes kept for their clients in shared tables.
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
#include "server/base/client_network.h"
#include "server/base/live.h"
#include "server/ports/call_turn.h"
#include "sync/mutex.h"

namespace freshet {

class MessageStream;

// The limits. Value type, thread-compatible.
struct StreamLimits {
  // Open streams that have said something; as many unary calls, of which a thousand may always be
  // open; and as many of each that have said nothing.
  Live<size_t> streams = SIZE_MAX;
  Live<size_t> streams_per_client = SIZE_MAX;  // limit for streams, and again for unary calls
  // Bytes of messages that all streams have read and not acknowledged. Answers that wait for their
  // clients may have as many bytes again.
  Live<size_t> unacked_bytes = SIZE_MAX;
};

// How full the places for newcomers are in the two tables of bytes: 0 = clients have not filled the
// shared part, 1 = no newcomer finds any. The fuller they are, the less a slow client is waited for
// (server/api/patience.h). Value type, thread-compatible.
struct Crowding {
  double messages = 0;
  double answers = 0;
};

// Bytes of a call counted by StreamSet::Keep: a forwarder learns their number only when they have
// come. Value type, thread-compatible.
struct Kept {
  size_t bytes = 0;
  bool answers = false;
  bool beside = false;  // beyond the share of its client
};

// An open call of any method. Thread-safe, but as CallTurn says.
class OpenCall : public CallTurn {
 public:
  // The client of the call, as one text that stays the same; empty = nobody in particular.
  [[nodiscard]] virtual const std::string& client() const;
  // Whether the client may keep the call.
  [[nodiscard]] virtual Status CheckCaller() const { return absl::OkStatus(); }
  // Withdraws the client's rights: it may no longer be here, or has been silent for too long.
  virtual void Dismiss(grpc::Status status) = 0;
  // The end of the client's proof of identity.
  [[nodiscard]] virtual Instant ends() const { return Instant::Infinite(); }
  // Whether the call is a stream, which may stay open for long.
  [[nodiscard]] virtual CallKind kind() const = 0;
  // Whether the client is an identity with the role admin.
  [[nodiscard]] virtual bool admin() const { return false; }
  // Called regularly, to end what takes too long. Returns the peer whose connection must be closed,
  // because the call was cut and its bytes are stuck there; none = no peer.
  virtual Peer Look(std::chrono::steady_clock::time_point, const Crowding&) { return {}; }
  // The call may ask again for what StreamSet::HasRoom or TryHold have refused.
  virtual void Resume() {}
};

// Counts of calls and bytes. Value type, thread-compatible.
struct StreamStats {
  size_t calls = 0;                // open calls of all kinds
  size_t open = 0;                 // open streams, of all methods
  uint64_t refused = 0;            // calls, speaking or silent
  uint64_t refused_by_client = 0;  // the part of `refused` whose client had too many
  size_t unacked_bytes = 0;        // bytes of messages that were read and not acknowledged
  size_t answer_bytes = 0;         // bytes of answers that wait for clients, or are being made
  Crowding crowding;
};

// The open calls of the port, of all methods, and the bytes that they hold together. Counts them,
// ends those of clients that may no longer be here, and ends streams of messages when the server
// stops. A call takes a place when its first message has come: clients that open silent calls take
// no places.
//
// The server keeps messages until they are acknowledged, and answers until clients take them. For
// each kind one client has a share (core/base/shares.h) of StreamLimits::unacked_bytes. A client
// above a share is read no further, and gets no more to read, until the server, or the client, has
// done its part. Thread-safe.
class StreamSet {
 public:
  using Calls = std::vector<std::shared_ptr<OpenCall>>;

  static constexpr Duration kCheckInterval = Duration::Seconds(30);

  explicit StreamSet(StreamLimits limits = {}) : limits_(limits) {}

  // Sets limits from the next call and message on; open calls stay.
  void SetLimits(const StreamLimits& limits) { limits_ = limits; }

  // Adds a silent call; Remove must follow. Dismisses the call that has been silent longest if
  // there are too many. Returns whether it did.
  bool Add(const std::shared_ptr<OpenCall>& call) FRESHET_EXCLUDES(mutex_);
  // Adds a stream that ends in order when the server stops: not OK once it does.
  [[nodiscard]] grpc::Status Add(const std::shared_ptr<MessageStream>& stream)
      FRESHET_EXCLUDES(mutex_);
  // Admits a call with its first message. Refuses one call too many, in all or of its client, with
  // a status that says so.
  [[nodiscard]] grpc::Status Admit(const std::shared_ptr<OpenCall>& call) FRESHET_EXCLUDES(mutex_);
  void Remove(const std::shared_ptr<OpenCall>& call) FRESHET_EXCLUDES(mutex_);
  // Whether unary calls are few enough that clients may leave their answers unread.
  [[nodiscard]] bool calls_are_few() const;
  // Tells every open stream of messages that the server is stopping.
  void NoticeDraining() FRESHET_EXCLUDES(mutex_);
  // Whether NoticeDraining was called.
  [[nodiscard]] bool draining() const { return draining_; }
  // Ends every stream of messages, present and future, once its messages are acknowledged.
  void EndAll() FRESHET_EXCLUDES(mutex_);
  // Dismisses the calls whose callers may no longer call (OpenCall::CheckCaller).
  void CheckCallers() FRESHET_EXCLUDES(mutex_);
  // Dismisses all silent calls.
  void DismissSilent(const grpc::Status& status) FRESHET_EXCLUDES(mutex_);
  // Resumes the calls that Release has not found, and looks at every call. Dismisses calls whose
  // proof of identity has ended by `now`, and every kCheckInterval all whose callers may no longer
  // call. Returns the peers whose connections must be closed (OpenCall::Look).
  [[nodiscard]] std::set<Peer> Look(Instant now) FRESHET_EXCLUDES(mutex_);
  // Returns when no stream of messages is open or `timeout` has passed; whether none is.
  bool WaitUntilEmpty(Duration timeout) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] StreamStats stats() const FRESHET_EXCLUDES(mutex_);

  // Counts a message of `bytes` bytes that has come on the call.
  void Hold(const OpenCall& call, size_t bytes) FRESHET_EXCLUDES(mutex_);
  // Whether the client may have so many bytes more, of messages and of answers: both must be within
  // its shares, or be its only ones. False = a Release or SetAnswers will return the call.
  [[nodiscard]] bool HasRoom(const std::shared_ptr<OpenCall>& call, size_t message, size_t answers)
      FRESHET_EXCLUDES(mutex_);
  // Counts a message, and the bytes that its answer may have, if there is room for them. False =
  // nothing is counted, and a Release or SetAnswers will return the call.
  [[nodiscard]] bool TryHold(const std::shared_ptr<OpenCall>& call, size_t bytes,
                             size_t answers = 0) FRESHET_EXCLUDES(mutex_);
  // Frees a message. Returns the calls to Resume, without any lock.
  [[nodiscard]] Calls Release(const OpenCall& call, size_t bytes) FRESHET_EXCLUDES(mutex_);
  // Changes the bytes of the call's waiting answers from `was` to `now`. Returns as Release.
  [[nodiscard]] Calls SetAnswers(const OpenCall& call, size_t was, size_t now)
      FRESHET_EXCLUDES(mutex_);
  // Ends the call's wait: nothing will return it. False = it was returned already, or did not wait.
  bool StopWaiting(const std::shared_ptr<OpenCall>& call) FRESHET_EXCLUDES(mutex_);
  // Counts `bytes` bytes of the call: of a message that has come, or of a waiting answer. Bytes
  // beyond the client's share take no room from others. They have a table of their own, as large as
  // each other one, for all clients and both kinds together; unset = that is full.
  [[nodiscard]] std::optional<Kept> Keep(const OpenCall& call, bool answers, size_t bytes)
      FRESHET_EXCLUDES(mutex_);
  // Frees these bytes. Returns as Release.
  [[nodiscard]] Calls Drop(const OpenCall& call, const Kept& kept) FRESHET_EXCLUDES(mutex_);
  // The turns in which messages of the calls are handled.
  [[nodiscard]] MessageTurns& turns() { return turns_; }

 private:
  // A call that waits for room.
  struct Waiting {
    std::shared_ptr<OpenCall> call;
    size_t message = 0;
    size_t answers = 0;
  };
  // The bytes of a client, and its waiting calls in the order of opening.
  struct Client {
    size_t messages = 0;  // bytes read and not acknowledged
    size_t answers = 0;   // bytes that it has not taken
    size_t calls = 0;     // open ones
    bool admin = false;
    std::map<uint64_t, Waiting> waiting;
  };
  struct Entry {
    uint64_t number = 0;  // in order of opening, unary calls after streams
    bool admitted = false;
    std::shared_ptr<MessageStream> ends;  // the stream, if it ends in order
  };
  // The places of admitted calls.
  struct Places {
    size_t taken = 0;
    absl::flat_hash_map<std::string, size_t> by_client;
  };
  using Silent = std::map<uint64_t, std::shared_ptr<OpenCall>>;
  [[nodiscard]] Silent& SilentOf(const OpenCall& call) FRESHET_REQUIRES(mutex_) {
    return silent_[static_cast<size_t>(call.kind())];
  }
  [[nodiscard]] std::vector<std::shared_ptr<OpenCall>> All() const FRESHET_EXCLUDES(mutex_);
  // Returns the call to dismiss, if there are too many silent ones.
  [[nodiscard]] std::shared_ptr<OpenCall> AddLocked(const std::shared_ptr<OpenCall>& call,
                                                    Entry entry) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] std::vector<std::shared_ptr<MessageStream>> Ending() const FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Client& ClientOf(const OpenCall& call) FRESHET_REQUIRES(mutex_);
  // Whether `bytes` more are within the share of a client that holds `held` of `taken`. A client
  // without any may have its first call's bytes while there is room for newcomers.
  [[nodiscard]] bool Fits(const Client& client, size_t held, size_t taken, size_t bytes) const;
  [[nodiscard]] bool FitsMessage(const Client& client, size_t bytes) const
      FRESHET_REQUIRES(mutex_) {
    return Fits(client, client.messages, unacked_bytes_, bytes);
  }
  [[nodiscard]] bool FitsAnswers(const Client& client, size_t bytes) const
      FRESHET_REQUIRES(mutex_) {
    return Fits(client, client.answers, answer_bytes_, bytes);
  }
  [[nodiscard]] bool HasRoomLocked(Client& client, const Waiting& wanted) FRESHET_REQUIRES(mutex_);
  // Adds to what the call waits for: it is returned as soon as one of them fits.
  void Wait(Client& client, const Waiting& waiting) FRESHET_REQUIRES(mutex_);
  bool StopWaitingLocked(const std::shared_ptr<OpenCall>& call) FRESHET_REQUIRES(mutex_);
  // Take the calls that may continue: of one client; of the next `most_clients` clients in turn; of
  // all.
  void TakeReadyOf(const std::string& name, Calls* ready) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Calls TakeReady(size_t most_clients) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Calls TakeAllReady() FRESHET_EXCLUDES(mutex_);
  // After the call has given back bytes: takes the calls of its client, and of some others, that
  // may continue. Look finds the rest.
  [[nodiscard]] Calls TakeReady(const OpenCall& released) FRESHET_REQUIRES(mutex_);
  // Forgets the client once nothing is kept for it.
  void Forget(const std::string& client) FRESHET_REQUIRES(mutex_);

  StreamLimits limits_;
  MessageTurns turns_;
  std::atomic<bool> draining_{false};
  std::atomic<Instant> checked_{};  // last check of callers
  mutable Mutex mutex_;
  Condition empty_;
  absl::flat_hash_map<std::shared_ptr<OpenCall>, Entry> calls_ FRESHET_GUARDED_BY(mutex_);
  std::array<Places, 2> places_ FRESHET_GUARDED_BY(mutex_);  // by CallKind
  size_t streams_ FRESHET_GUARDED_BY(mutex_) = 0;            // open streams of all methods
  size_t ends_ FRESHET_GUARDED_BY(mutex_) = 0;               // streams of messages
  // Silent calls that may not be ended yet, by number.
  std::array<Silent, 2> silent_ FRESHET_GUARDED_BY(mutex_);  // by CallKind
  uint64_t opened_ FRESHET_GUARDED_BY(mutex_) = 0;
  size_t unacked_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  size_t answer_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  // bytes beyond shares, for streams and unary calls
  size_t beside_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  // By client; none without bytes and calls.
  absl::flat_hash_map<std::string, Client> clients_ FRESHET_GUARDED_BY(mutex_);
  std::set<std::string> waiting_ FRESHET_GUARDED_BY(mutex_);  // clients with waiting calls
  std::string looked_at_ FRESHET_GUARDED_BY(mutex_);          // the last one of these
  std::atomic<size_t> calls_taken_ = 0;                       // places of unary calls
  uint64_t refused_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t refused_by_client_ FRESHET_GUARDED_BY(mutex_) = 0;
  bool ending_ FRESHET_GUARDED_BY(mutex_) = false;
};

// Resumes each of the calls, without any lock. Calls that one of them resumes in turn, on the same
// thread, come after these: thousands that end together must not use one stack.
void ResumeAll(StreamSet::Calls calls);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_STREAM_SET_H_
