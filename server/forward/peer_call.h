// A DivisionCall: messages wait until somebody serves the division, and go to that server over one
// call of gRPC at a time.
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
#include "sync/mutex.h"

namespace freshet {

class PeerCall;

// A connection to who serves a division, with room for one more call. Value type,
// thread-compatible.
struct PeerLink {
  std::shared_ptr<grpc::Channel> channel;
  std::string key;       // with which a call is believed there
  uint64_t serving = 0;  // rises with each server that serves the division
};

// Who has the calls. Thread-safe.
class PeerCalls {
 public:
  PeerCalls() = default;
  virtual ~PeerCalls() = default;
  PeerCalls(const PeerCalls&) = delete;
  PeerCalls& operator=(const PeerCalls&) = delete;

  // nullopt: there is none now, and Attend follows. Each link is given back by one Release.
  [[nodiscard]] virtual std::optional<PeerLink> Connect(const std::shared_ptr<PeerCall>& call) = 0;
  virtual void Release(const PeerCall& call, const PeerLink& link) = 0;
  [[nodiscard]] virtual Instant Now() const = 0;
  // Whether a message of so many bytes may wait; then Free follows.
  [[nodiscard]] virtual bool Hold(size_t bytes) = 0;
  virtual void Free(size_t bytes) = 0;
  // Nothing more comes of it.
  virtual void OnOver(const std::shared_ptr<PeerCall>& call) = 0;
};

// Thread-safe.
class PeerCall final : public std::enable_shared_from_this<PeerCall> {
 public:
  // `calls` outlives this.
  PeerCall(PeerCalls& calls, uint32_t division, std::string path, ShownByClient client);
  ~PeerCall();

  [[nodiscard]] uint32_t division() const { return division_; }
  void Send(const grpc::ByteBuffer& message, DivisionCall::Answered answered)
      FRESHET_EXCLUDES(mutex_);
  // Nothing more is sent.
  void Close() FRESHET_EXCLUDES(mutex_);
  // Goes on if it can. What no server has taken since before `too_long` is given up, and a call of
  // which nothing was heard since before `idle` is ended until there is more to be sent. `serving`
  // is that of the server now: a call to another one is ended; 0: nobody serves.
  void Attend(Instant too_long, Instant idle, uint64_t serving) FRESHET_EXCLUDES(mutex_);
  // Ends it, and answers all that is open by Unavailable.
  void Stop() FRESHET_EXCLUDES(mutex_);

 private:
  class Attempt;
  struct Waiting {
    grpc::ByteBuffer message;
    DivisionCall::Answered answered;
    Instant since;
  };
  using Answer = std::pair<DivisionCall::Answered, StatusOr<grpc::ByteBuffer>>;
  // What there is to be done without the lock.
  struct Steps {
    bool connect = false;
    Attempt* attempt = nullptr;  // held, for one of these
    std::optional<grpc::ByteBuffer> write;
    bool writes_done = false;
    std::vector<Answer> answers;
    size_t freed = 0;  // bytes
    bool over = false;
  };

  // Besides what there is to be done already.
  [[nodiscard]] Steps NextSteps(Steps steps) FRESHET_REQUIRES(mutex_);
  // The attempt ends once all that was sent is answered.
  [[nodiscard]] Steps EndWrites(Steps steps) FRESHET_REQUIRES(mutex_);
  void Perform(Steps steps) FRESHET_EXCLUDES(mutex_);
  void Connect() FRESHET_EXCLUDES(mutex_);
  // Unless `spares` says not to.
  void CancelAttempt(const std::function<bool(const Attempt&)>& spares) FRESHET_EXCLUDES(mutex_);
  // What waits is answered so.
  void GiveUp(const Status& why, Steps* steps) FRESHET_REQUIRES(mutex_);
  // Of the attempt.
  void OnWriteDone() FRESHET_EXCLUDES(mutex_);
  void OnAnswer(grpc::ByteBuffer message) FRESHET_EXCLUDES(mutex_);
  void OnEnding() FRESHET_EXCLUDES(mutex_);
  void OnEnd(const Status& status, const PeerLink& link) FRESHET_EXCLUDES(mutex_);

  PeerCalls& calls_;
  const uint32_t division_;
  const std::string path_;
  const ShownByClient client_;
  Mutex mutex_;
  std::deque<Waiting> waiting_ FRESHET_GUARDED_BY(mutex_);              // not sent yet
  std::deque<DivisionCall::Answered> sent_ FRESHET_GUARDED_BY(mutex_);  // not answered yet
  Attempt* attempt_ FRESHET_GUARDED_BY(mutex_) = nullptr;               // until OnEnd
  bool connecting_ FRESHET_GUARDED_BY(mutex_) = false;  // the attempt, if any, has yet to start
  bool writing_ FRESHET_GUARDED_BY(mutex_) = false;
  size_t writing_bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
  bool taken_ FRESHET_GUARDED_BY(mutex_) = false;  // a message of the attempt was
  Instant heard_ FRESHET_GUARDED_BY(mutex_);       // of the attempt, or its beginning
  bool writes_done_ FRESHET_GUARDED_BY(mutex_) = false;
  bool ending_ FRESHET_GUARDED_BY(mutex_) = false;  // the server has said its last
  bool closed_ FRESHET_GUARDED_BY(mutex_) = false;
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  bool over_ FRESHET_GUARDED_BY(mutex_) = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_PEER_CALL_H_
