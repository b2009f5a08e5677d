// The open calls, and the bytes that the server holds for their clients.
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
  // The maximum number of admitted streams. The same limit applies separately to admitted unary
  // calls, silent streams and silent unary calls. For unary calls, a limit below 1,000 counts as
  // 1,000.
  Live<size_t> streams = SIZE_MAX;
  Live<size_t> streams_per_client = SIZE_MAX;  // for streams, and separately for unary calls
  // The maximum total size in bytes of the messages that streams have read and not yet
  // acknowledged. The same limit applies to the answers that wait for clients.
  Live<size_t> unacked_bytes = SIZE_MAX;
};

// How full the tables of message bytes and of answer bytes are (core/base/shares.h). 0 = the part
// for all clients has room; 1 = the part for newcomers is full, too. The fuller a table is, the
// less time a slow client gets (server/api/patience.h). Value type, thread-compatible.
struct Crowding {
  double messages = 0;
  double answers = 0;
};

// Bytes of a call that StreamSet::Keep has counted. A forwarder learns the size of a message only
// after receiving it, and then counts it with Keep. Value type, thread-compatible.
struct Kept {
  size_t bytes = 0;
  bool answers = false;
  bool beside = false;  // the bytes are beyond the share of the client
};

// An open call of any method. Thread-safe, except as CallTurn says.
class OpenCall : public CallTurn {
 public:
  // The name of the call's client, which never changes; empty = no particular client.
  [[nodiscard]] virtual const std::string& client() const;
  // Checks whether the client may keep the call.
  [[nodiscard]] virtual Status CheckCaller() const { return absl::OkStatus(); }
  // Ends the call, because its client may no longer call or has been silent for too long.
  virtual void Dismiss(grpc::Status status) = 0;
  // When the client's proof of identity expires.
  [[nodiscard]] virtual Instant ends() const { return Instant::Infinite(); }
  // Whether the call is a stream, which can stay open for a long time.
  [[nodiscard]] virtual CallKind kind() const = 0;
  // Whether the client is an identity with the role admin.
  [[nodiscard]] virtual bool admin() const { return false; }
  // Whether the client has shown neither an identity nor a certificate to a server that asks for
  // them. Some methods need none.
  [[nodiscard]] virtual bool stranger() const { return false; }
  // Called regularly. Ends the call if its client is too slow. If the call was cut and its bytes
  // are stuck in the connection, returns the peer whose connection must be closed; none = no peer.
  virtual Peer Look(std::chrono::steady_clock::time_point, const Crowding&) { return {}; }
  // Called after StreamSet::HasRoom or TryHold has refused the call, when there may be room again.
  virtual void Resume() {}
};

// Counts of calls and bytes. Value type, thread-compatible.
struct StreamStats {
  size_t calls = 0;                // open calls of all kinds
  size_t open = 0;                 // open streams, of all methods
  uint64_t refused = 0;            // calls refused, or dismissed while silent
  uint64_t refused_by_client = 0;  // the part of `refused` whose client had too many
  size_t unacked_bytes = 0;        // bytes of messages that were read and not acknowledged
  size_t answer_bytes = 0;         // bytes of answers that wait for clients, or are being made
  Crowding crowding;
};

// The open calls of the port, and the bytes that they hold. Counts the calls, ends those whose
// clients may no longer call, and ends message streams when the server stops. A call takes a place
// only when its first message has come, so silent calls take no places. Strangers (OpenCall) share
// a small part of the places, so that they cannot take those of known clients.
//
// The server holds messages until they are acknowledged, and answers until clients read them.
// Messages and answers have a table each, of StreamLimits::unacked_bytes. Each client has a share
// of each table (core/base/shares.h). If a client exceeds a share, the server reads nothing more
// from it, and makes no more answers for it, until bytes are freed. Thread-safe.
class StreamSet {
 public:
  using Calls = std::vector<std::shared_ptr<OpenCall>>;

  static constexpr Duration kCheckInterval = Duration::Seconds(30);

  explicit StreamSet(StreamLimits limits = {}) : limits_(limits) {}

  // Sets the limits for later calls and messages. Open calls stay.
  void SetLimits(const StreamLimits& limits) { limits_ = limits; }

  // Adds a silent call, which must be removed later with Remove. If there are too many silent
  // calls, dismisses the one that has been silent longest, and returns true.
  bool Add(const std::shared_ptr<OpenCall>& call) FRESHET_EXCLUDES(mutex_);
  // Adds a message stream, which ends in an orderly way when the server stops. Not OK: the server
  // is stopping.
  [[nodiscard]] grpc::Status Add(const std::shared_ptr<MessageStream>& stream)
      FRESHET_EXCLUDES(mutex_);
  // Admits a call whose first message has come. Not OK: too many calls are open, in all or for this
  // client.
  [[nodiscard]] grpc::Status Admit(const std::shared_ptr<OpenCall>& call) FRESHET_EXCLUDES(mutex_);
  void Remove(const std::shared_ptr<OpenCall>& call) FRESHET_EXCLUDES(mutex_);
  // Whether few enough unary calls are open that clients may leave their answers unread.
  [[nodiscard]] bool calls_are_few() const;
  // Tells every open message stream that the server is stopping.
  void NoticeDraining() FRESHET_EXCLUDES(mutex_);
  // Whether NoticeDraining was called.
  [[nodiscard]] bool draining() const { return draining_; }
  // Ends every message stream, present and future, once its messages are acknowledged.
  void EndAll() FRESHET_EXCLUDES(mutex_);
  // Dismisses the calls whose callers may no longer call (OpenCall::CheckCaller).
  void CheckCallers() FRESHET_EXCLUDES(mutex_);
  // Dismisses all silent calls.
  void DismissSilent(const grpc::Status& status) FRESHET_EXCLUDES(mutex_);
  // Resumes waiting calls that Release has not returned, and calls OpenCall::Look for every call.
  // Dismisses calls whose proof of identity has expired by `now`. Every kCheckInterval, also
  // dismisses all calls whose callers may no longer call. Returns the peers whose connections must
  // be closed (OpenCall::Look).
  [[nodiscard]] std::set<Peer> Look(Instant now) FRESHET_EXCLUDES(mutex_);
  // Waits until no message stream is open, for `timeout` at most. Returns true if none is open.
  bool WaitUntilEmpty(Duration timeout) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] StreamStats stats() const FRESHET_EXCLUDES(mutex_);

  // Counts a message of `bytes` bytes that the call has received.
  void Hold(const OpenCall& call, size_t bytes) FRESHET_EXCLUDES(mutex_);
  // Whether the client may hold this many more bytes of messages and of answers. Each number must
  // be within the client's share, unless the client holds no bytes of that kind yet. False = the
  // call waits, and will be resumed when there is room.
  [[nodiscard]] bool HasRoom(const std::shared_ptr<OpenCall>& call, size_t message, size_t answers)
      FRESHET_EXCLUDES(mutex_);
  // Counts a message, and the bytes that its answer may have, if there is room for them. False =
  // nothing is counted; the call waits, and will be resumed when there is room.
  [[nodiscard]] bool TryHold(const std::shared_ptr<OpenCall>& call, size_t bytes,
                             size_t answers = 0) FRESHET_EXCLUDES(mutex_);
  // Frees a message. Returns the calls that must be resumed now, without any lock.
  [[nodiscard]] Calls Release(const OpenCall& call, size_t bytes) FRESHET_EXCLUDES(mutex_);
  // Changes the bytes of the call's waiting answers from `was` to `now`. Returns like Release.
  [[nodiscard]] Calls SetAnswers(const OpenCall& call, size_t was, size_t now)
      FRESHET_EXCLUDES(mutex_);
  // Ends the wait of a call, so that it will not be resumed. False = the call was not waiting.
  bool StopWaiting(const std::shared_ptr<OpenCall>& call) FRESHET_EXCLUDES(mutex_);
  // Counts `bytes` bytes of the call: of a received message, or of a waiting answer if `answers` is
  // set. Bytes beyond the client's share are counted in a separate table for all clients, which is
  // as large as each of the others. Unset = that table is full, and nothing is counted.
  [[nodiscard]] std::optional<Kept> Keep(const OpenCall& call, bool answers, size_t bytes)
      FRESHET_EXCLUDES(mutex_);
  // Frees these bytes. Returns like Release.
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
    size_t answers = 0;   // bytes that the client has not read yet
    size_t calls = 0;     // open calls
    bool admin = false;
    std::map<uint64_t, Waiting> waiting;
  };
  struct Entry {
    uint64_t number = 0;  // in order of opening, but all unary calls come after all streams
    bool admitted = false;
    std::shared_ptr<MessageStream> ends;  // set if the call is a message stream
  };
  // The places of admitted calls.
  struct Places {
    size_t taken = 0;
    size_t strangers = 0;  // the part of `taken` that strangers have
    absl::flat_hash_map<std::string, size_t> by_client;
  };
  using Silent = std::map<uint64_t, std::shared_ptr<OpenCall>>;
  [[nodiscard]] Silent& SilentOf(const OpenCall& call) FRESHET_REQUIRES(mutex_) {
    return silent_[static_cast<size_t>(call.kind())];
  }
  [[nodiscard]] std::vector<std::shared_ptr<OpenCall>> All() const FRESHET_EXCLUDES(mutex_);
  // Adds the call. If there are too many silent calls, returns the one to dismiss.
  [[nodiscard]] std::shared_ptr<OpenCall> AddLocked(const std::shared_ptr<OpenCall>& call,
                                                    Entry entry) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] std::vector<std::shared_ptr<MessageStream>> Ending() const FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Client& ClientOf(const OpenCall& call) FRESHET_REQUIRES(mutex_);
  // Whether a client that holds `held` of the `taken` bytes may hold `bytes` more. While there is
  // room for newcomers, a client that holds no bytes may take any number.
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
  // Notes what the call waits for. If the call already waits, the smaller of the old and the new
  // value is kept for each number.
  void Wait(Client& client, const Waiting& waiting) FRESHET_REQUIRES(mutex_);
  bool StopWaitingLocked(const std::shared_ptr<OpenCall>& call) FRESHET_REQUIRES(mutex_);
  // These find the waiting calls that may continue: of one client, of the next `most_clients`
  // clients in turn, and of all clients.
  void TakeReadyOf(const std::string& name, Calls* ready) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Calls TakeReady(size_t most_clients) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Calls TakeAllReady() FRESHET_EXCLUDES(mutex_);
  // Takes the calls that may continue after `released` has freed bytes: those of its client and of
  // some others. Look finds the rest.
  [[nodiscard]] Calls TakeReady(const OpenCall& released) FRESHET_REQUIRES(mutex_);
  // Forgets the client if it has neither calls nor bytes.
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
  size_t ends_ FRESHET_GUARDED_BY(mutex_) = 0;               // open message streams
  // Silent calls that are not dismissed yet, by number.
  std::array<Silent, 2> silent_ FRESHET_GUARDED_BY(mutex_);  // by CallKind
  uint64_t opened_ FRESHET_GUARDED_BY(mutex_) = 0;
  size_t unacked_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  size_t answer_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  // Bytes of messages and answers beyond the shares of clients.
  size_t beside_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  // The clients that have calls or bytes.
  absl::flat_hash_map<std::string, Client> clients_ FRESHET_GUARDED_BY(mutex_);
  std::set<std::string> waiting_ FRESHET_GUARDED_BY(mutex_);  // clients with waiting calls
  std::string looked_at_ FRESHET_GUARDED_BY(mutex_);  // the last of these clients that was checked
  std::atomic<size_t> calls_taken_ = 0;               // places of unary calls
  uint64_t refused_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t refused_by_client_ FRESHET_GUARDED_BY(mutex_) = 0;
  bool ending_ FRESHET_GUARDED_BY(mutex_) = false;
};

// Resumes each of the calls, without any lock. If one of them resumes further calls on the same
// thread, these are queued, because thousands of nested calls would overflow the stack.
void ResumeAll(StreamSet::Calls calls);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_STREAM_SET_H_
