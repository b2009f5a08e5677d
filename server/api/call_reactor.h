// Calls that bring one message. They are counted from their first byte. They end when their client
// may no longer be here, sends a second message, or takes its answer too slowly.
#ifndef FRESHET_SERVER_API_CALL_REACTOR_H_
#define FRESHET_SERVER_API_CALL_REACTOR_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/api/call_stats.h"
#include "server/api/caller.h"
#include "server/api/context.h"
#include "server/api/patience.h"
#include "server/api/request_id.h"
#include "server/api/stream.h"
#include "server/auth/authoriser.h"
#include "server/base/system_clock.h"
#include "sync/mutex.h"

namespace freshet {

// One call, which lives until gRPC is done with it and no other thread holds it.
//
// Thread-safe. OnRequest and OnWritten are called one at a time, each after the work of the last
// one has ended. Each ends in one call of Write or End, at once or later.
class CallReactor : public grpc::ServerGenericBidiReactor,
                    public OpenCall,
                    public std::enable_shared_from_this<CallReactor> {
 public:
  // `host` outlives the calls. `call` belongs to gRPC, until OnDone. `path` names a MethodRule.
  CallReactor(const CallParts& host, std::string_view path, CallKind kind,
              grpc::CallbackServerContext* call);

  // Waits for the message. To be called once, right after construction as a shared_ptr.
  void Begin();

  [[nodiscard]] const std::string& client() const final { return auth_.client(); }
  [[nodiscard]] bool admin() const final { return auth_.admin(); }
  [[nodiscard]] Status CheckCaller() const override { return auth_.Check(); }
  [[nodiscard]] Instant ends() const final { return auth_.ends(); }
  [[nodiscard]] CallKind kind() const final { return kind_; }
  void Dismiss(grpc::Status status) final FRESHET_EXCLUDES(mutex_);
  Peer Look(Patience::Clock::time_point now, const Crowding& crowding) final
      FRESHET_EXCLUDES(mutex_);

  [[nodiscard]] const std::string& request_id() const { return request_id_; }
  // Why the client no longer waits for the answer; OK = it waits.
  [[nodiscard]] grpc::Status stopped() const FRESHET_EXCLUDES(mutex_);

 protected:
  // Whether the message waits for a turn of the client, even if it is short.
  [[nodiscard]] virtual bool TakesTurn() const { return false; }
  // The message has come, and the call has a place.
  virtual void OnRequest(grpc::ByteBuffer* bytes) = 0;
  // The written message has left, or never will.
  virtual void OnWritten(bool ok) = 0;
  // Nobody waits any more, while a message is written or the call waits for something.
  virtual void OnStopped() {}
  // gRPC is done with the call.
  virtual void OnOver() {}

  void Write(const grpc::ByteBuffer& message, grpc::WriteOptions options = {})
      FRESHET_EXCLUDES(mutex_);
  // Ends the call: the last use of this object, unless another thread holds it. Only the first end
  // counts; returns whether this is it.
  bool End(const grpc::Status& status) FRESHET_EXCLUDES(mutex_);
  // Ends the call with a last, small message.
  bool EndWith(const grpc::ByteBuffer& message) FRESHET_EXCLUDES(mutex_);
  // Sends the only answer; OnWritten then ends the call. A client may leave a small answer unread
  // and keep its place: then OnWritten is not called. If places become few, it has only as much
  // time as for a large one.
  void SendAnswer(const grpc::ByteBuffer& message) FRESHET_EXCLUDES(mutex_);

  [[nodiscard]] grpc::CallbackServerContext& call() const { return call_; }
  [[nodiscard]] CallAuth& auth() { return auth_; }

 private:
  void OnReadDone(bool ok) final;
  void OnWriteDone(bool ok) final FRESHET_EXCLUDES(mutex_);
  void OnCancel() final;
  void OnDone() final;
  // Whether this is the first end.
  [[nodiscard]] bool BeginEnd(const grpc::Status& status) FRESHET_EXCLUDES(mutex_);

  const CallParts& host_;
  const CallKind kind_;
  grpc::CallbackServerContext& call_;
  const std::string request_id_;
  CallAuth auth_;
  CallWatch watch_;
  std::shared_ptr<CallReactor> self_;  // until OnDone
  std::atomic<bool> spoken_{false};    // the message has come, or is not waited for any more
  grpc::ByteBuffer incoming_;          // used by gRPC while reading
  grpc::ByteBuffer further_;           // used by gRPC while reading: a message that must not come
  bool read_ = false;                  // the read has ended; used by OnReadDone
  grpc::ByteBuffer outgoing_;          // used by gRPC while writing
  mutable Mutex mutex_;
  Patience patience_ FRESHET_GUARDED_BY(mutex_);
  bool timed_ FRESHET_GUARDED_BY(mutex_) = false;           // a message is being written
  bool cutting_ FRESHET_GUARDED_BY(mutex_) = false;         // the call is being cancelled
  std::optional<bool> written_ FRESHET_GUARDED_BY(mutex_);  // status of a write that ended
                                                            // meanwhile
  bool ended_ FRESHET_GUARDED_BY(mutex_) = false;
  bool cancelled_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> dismissed_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CALL_REACTOR_H_
