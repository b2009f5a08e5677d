// The implementation of DivisionCall. Messages wait until a server serves the division, and are
// then sent there over one gRPC call at a time.
#ifndef FRESHET_SERVER_FORWARD_PEER_CALL_H_
#define FRESHET_SERVER_FORWARD_PEER_CALL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "grpcpp/channel.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/api/divisions.h"
#include "server/base/client_turns.h"
#include "sync/mutex.h"

namespace freshet {

class PeerCall;

// A connection to the server of a division, with room for one more call. Value type,
// thread-compatible.
struct PeerLink {
  std::shared_ptr<grpc::Channel> channel;
  std::string key;       // key of the server, which proves that this server may call it
  uint64_t serving = 0;  // number of the serving server, rises with each new one
};

// The owner of the calls. Thread-safe.
class PeerCalls {
 public:
  PeerCalls() = default;
  virtual ~PeerCalls() = default;
  PeerCalls(const PeerCalls&) = delete;
  PeerCalls& operator=(const PeerCalls&) = delete;

  // Returns a link for a gRPC call. The call must release the link by calling Release once. nullopt
  // = there is none now; the owner must call Attend later.
  [[nodiscard]] virtual std::optional<PeerLink> Connect(const std::shared_ptr<PeerCall>& call) = 0;
  virtual void Release(const PeerCall& call, const PeerLink& link) = 0;
  [[nodiscard]] virtual Instant Now() const = 0;
  // Returns true if a message of `bytes` bytes may wait. The call then calls Free when the message
  // no longer waits.
  [[nodiscard]] virtual bool Hold(size_t bytes) = 0;
  virtual void Free(size_t bytes) = 0;
  // Called at the end of the call, as its last event.
  virtual void OnOver(const std::shared_ptr<PeerCall>& call) = 0;
};

// The call. Thread-safe.
class PeerCall final : public std::enable_shared_from_this<PeerCall> {
 public:
  // `calls` must outlive this object.
  PeerCall(PeerCalls& calls, uint32_t division, std::string path, ShownByClient client);
  ~PeerCall();

  [[nodiscard]] uint32_t division() const { return division_; }
  // Returns true if the call must not wait for a division that cannot be reached (ShownByClient).
  [[nodiscard]] bool hurried() const { return client_.hurried; }
  // See DivisionCall::Send.
  void Send(const grpc::ByteBuffer& message, DivisionCall::Answered answered, uint64_t client)
      FRESHET_EXCLUDES(mutex_);
  // Ends the stream of messages. The call ends once all messages are answered.
  void Close() FRESHET_EXCLUDES(mutex_);
  // Continues if possible. If no server takes messages, answers those that have waited since before
  // `too_long` with Unavailable. Ends the gRPC call if it was idle since before `idle`; the next
  // message begins a new one. `serving`: the PeerLink::serving of the present server; 0 = none
  // serves. A gRPC call to another server is cancelled.
  void Attend(Instant too_long, Instant idle, uint64_t serving) FRESHET_EXCLUDES(mutex_);
  // Ends the call, and answers all open messages with Unavailable.
  void Stop() FRESHET_EXCLUDES(mutex_);

 private:
  class Attempt;
  struct Waiting {
    grpc::ByteBuffer message;
    DivisionCall::Answered answered;
    Instant since;
  };
  using Answer = std::pair<DivisionCall::Answered, StatusOr<grpc::ByteBuffer>>;
  // Actions to perform without the lock.
  struct Steps {
    bool connect = false;
    Attempt* attempt = nullptr;  // has a hold, for `write` or `writes_done`
    std::optional<grpc::ByteBuffer> write;
    bool writes_done = false;
    std::vector<Answer> answers;
    size_t freed = 0;  // bytes to free
    bool over = false;
  };

  // Adds the next actions to `steps`.
  [[nodiscard]] Steps NextSteps(Steps steps) FRESHET_REQUIRES(mutex_);
  // Ends the client's side of the gRPC call, which then ends once all sent messages are answered.
  [[nodiscard]] Steps EndWrites(Steps steps) FRESHET_REQUIRES(mutex_);
  void Perform(Steps steps) FRESHET_EXCLUDES(mutex_);
  void Connect() FRESHET_EXCLUDES(mutex_);
  // Cancels the gRPC call unless `spares` returns true for it.
  void CancelAttempt(const std::function<bool(const Attempt&)>& spares) FRESHET_EXCLUDES(mutex_);
  // Answers all waiting messages with `why`.
  void GiveUp(const Status& why, Steps* steps) FRESHET_REQUIRES(mutex_);
  // Events of the gRPC call.
  void OnWriteDone() FRESHET_EXCLUDES(mutex_);
  void OnAnswer(grpc::ByteBuffer message) FRESHET_EXCLUDES(mutex_);
  void OnEnding() FRESHET_EXCLUDES(mutex_);
  void OnEnd(const Status& status, const PeerLink& link) FRESHET_EXCLUDES(mutex_);

  PeerCalls& calls_;
  const uint32_t division_;
  const std::string path_;
  const ShownByClient client_;
  Mutex mutex_;
  ClientTurns<Waiting, uint64_t> waiting_ FRESHET_GUARDED_BY(mutex_);  // messages not sent yet
  // Callbacks of sent messages that are not answered yet.
  std::deque<DivisionCall::Answered> sent_ FRESHET_GUARDED_BY(mutex_);
  // The gRPC call, until OnEnd; nullptr = none.
  Attempt* attempt_ FRESHET_GUARDED_BY(mutex_) = nullptr;
  bool connecting_ FRESHET_GUARDED_BY(mutex_) = false;  // Connect is under way
  bool writing_ FRESHET_GUARDED_BY(mutex_) = false;
  size_t writing_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  bool taken_ FRESHET_GUARDED_BY(mutex_) = false;  // the server has taken a message
  Instant heard_ FRESHET_GUARDED_BY(mutex_);       // last event of the gRPC call, or its start
  bool writes_done_ FRESHET_GUARDED_BY(mutex_) = false;
  bool ending_ FRESHET_GUARDED_BY(mutex_) = false;  // the server has ended the call
  bool closed_ FRESHET_GUARDED_BY(mutex_) = false;
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  bool over_ FRESHET_GUARDED_BY(mutex_) = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_PEER_CALL_H_
