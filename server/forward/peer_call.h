// A DivisionCall: messages wait until a server serves the division, and go there over one gRPC call
// at a time.
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
  std::string key;       // proves calls there
  uint64_t serving = 0;  // rises with each serving server of the division
};

// The owner of the calls. Thread-safe.
class PeerCalls {
 public:
  PeerCalls() = default;
  virtual ~PeerCalls() = default;
  PeerCalls(const PeerCalls&) = delete;
  PeerCalls& operator=(const PeerCalls&) = delete;

  // nullopt = no link now, and Attend follows. Each link is given back by one Release.
  [[nodiscard]] virtual std::optional<PeerLink> Connect(const std::shared_ptr<PeerCall>& call) = 0;
  virtual void Release(const PeerCall& call, const PeerLink& link) = 0;
  [[nodiscard]] virtual Instant Now() const = 0;
  // Whether a message of `bytes` bytes may wait; if so, Free follows.
  [[nodiscard]] virtual bool Hold(size_t bytes) = 0;
  virtual void Free(size_t bytes) = 0;
  // Nothing more comes of the call.
  virtual void OnOver(const std::shared_ptr<PeerCall>& call) = 0;
};

// The call. Thread-safe.
class PeerCall final : public std::enable_shared_from_this<PeerCall> {
 public:
  // `calls` outlives this.
  PeerCall(PeerCalls& calls, uint32_t division, std::string path, ShownByClient client);
  ~PeerCall();

  [[nodiscard]] uint32_t division() const { return division_; }
  // Whether it waits for no division that has been away.
  [[nodiscard]] bool hurried() const { return client_.hurried; }
  // As DivisionCall::Send.
  void Send(const grpc::ByteBuffer& message, DivisionCall::Answered answered, uint64_t client)
      FRESHET_EXCLUDES(mutex_);
  // Ends the sending of messages.
  void Close() FRESHET_EXCLUDES(mutex_);
  // Goes on if it can. Gives up messages that no server has taken since before `too_long`. Ends a
  // gRPC call that is silent since before `idle`, until there is more to send. `serving` is the
  // present server's: a call to another one ends; 0 = none serves.
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
  // Actions to be done without the lock.
  struct Steps {
    bool connect = false;
    Attempt* attempt = nullptr;  // held, for one of these
    std::optional<grpc::ByteBuffer> write;
    bool writes_done = false;
    std::vector<Answer> answers;
    size_t freed = 0;  // bytes
    bool over = false;
  };

  // Adds the next steps to those already there.
  [[nodiscard]] Steps NextSteps(Steps steps) FRESHET_REQUIRES(mutex_);
  // The attempt ends once all sent messages are answered.
  [[nodiscard]] Steps EndWrites(Steps steps) FRESHET_REQUIRES(mutex_);
  void Perform(Steps steps) FRESHET_EXCLUDES(mutex_);
  void Connect() FRESHET_EXCLUDES(mutex_);
  // Cancels the attempt unless `spares` accepts it.
  void CancelAttempt(const std::function<bool(const Attempt&)>& spares) FRESHET_EXCLUDES(mutex_);
  // Answers all waiting messages with `why`.
  void GiveUp(const Status& why, Steps* steps) FRESHET_REQUIRES(mutex_);
  // Events of the attempt:
  void OnWriteDone() FRESHET_EXCLUDES(mutex_);
  void OnAnswer(grpc::ByteBuffer message) FRESHET_EXCLUDES(mutex_);
  void OnEnding() FRESHET_EXCLUDES(mutex_);
  void OnEnd(const Status& status, const PeerLink& link) FRESHET_EXCLUDES(mutex_);

  PeerCalls& calls_;
  const uint32_t division_;
  const std::string path_;
  const ShownByClient client_;
  Mutex mutex_;
  ClientTurns<Waiting, uint64_t> waiting_ FRESHET_GUARDED_BY(mutex_);   // not sent yet
  std::deque<DivisionCall::Answered> sent_ FRESHET_GUARDED_BY(mutex_);  // not answered yet
  Attempt* attempt_ FRESHET_GUARDED_BY(mutex_) = nullptr;               // until OnEnd
  bool connecting_ FRESHET_GUARDED_BY(mutex_) = false;  // the attempt, if any, has yet to start
  bool writing_ FRESHET_GUARDED_BY(mutex_) = false;
  size_t writing_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  bool taken_ FRESHET_GUARDED_BY(mutex_) = false;  // the attempt has taken a message
  Instant heard_ FRESHET_GUARDED_BY(mutex_);       // last sign of the attempt, or its beginning
  bool writes_done_ FRESHET_GUARDED_BY(mutex_) = false;
  bool ending_ FRESHET_GUARDED_BY(mutex_) = false;  // the server has ended the call
  bool closed_ FRESHET_GUARDED_BY(mutex_) = false;
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  bool over_ FRESHET_GUARDED_BY(mutex_) = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_PEER_CALL_H_
