// Calls with one request message. Each call is counted as soon as it is opened. The server ends a
// call if its client loses the right to call, sends a second message, or reads the answer too
// slowly.
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

// One call. It lives until gRPC is done with it and no thread holds it any more.
//
// Thread-safe. OnRequest and OnWritten are called one at a time: each call waits for the end of the
// work that the previous one started. Each must lead to one call of Write or End, at once or later.
class CallReactor : public grpc::ServerGenericBidiReactor,
                    public OpenCall,
                    public std::enable_shared_from_this<CallReactor> {
 public:
  // `host` outlives all calls. gRPC owns `call`, which is valid until OnDone. `path` names a
  // MethodRule.
  CallReactor(const CallParts& host, std::string_view path, CallKind kind,
              grpc::CallbackServerContext* call);

  // Waits for the message. Called once, right after construction as a shared_ptr.
  void Begin();

  [[nodiscard]] const std::string& client() const final { return auth_.client(); }
  [[nodiscard]] bool admin() const final { return auth_.admin(); }
  [[nodiscard]] bool stranger() const final { return auth_.stranger(); }
  [[nodiscard]] Status CheckCaller() const override { return auth_.Check(); }
  [[nodiscard]] Instant ends() const final { return auth_.ends(); }
  [[nodiscard]] CallKind kind() const final { return kind_; }
  void Dismiss(grpc::Status status) final FRESHET_EXCLUDES(mutex_);
  Peer Look(Patience::Clock::time_point now, const Crowding& crowding) final
      FRESHET_EXCLUDES(mutex_);

  [[nodiscard]] const std::string& request_id() const { return request_id_; }
  // Why the client no longer waits for the answer; OK = the client waits.
  [[nodiscard]] grpc::Status stopped() const FRESHET_EXCLUDES(mutex_);

 protected:
  // Returns true if even a short message must wait for the turn of its client
  // (server/api/message_turns.h).
  [[nodiscard]] virtual bool TakesTurn() const { return false; }
  // Called when the message has come and the call is admitted.
  virtual void OnRequest(grpc::ByteBuffer* bytes) = 0;
  // Called when the message has been written, or the write has failed.
  virtual void OnWritten(bool ok) = 0;
  // Called when the client no longer waits for the answer, while a message is being written or the
  // call waits for something.
  virtual void OnStopped() {}
  // Called when gRPC is done with the call.
  virtual void OnOver() {}

  void Write(const grpc::ByteBuffer& message, grpc::WriteOptions options = {})
      FRESHET_EXCLUDES(mutex_);
  // Ends the call. Nothing may use this object afterwards, unless another thread holds it. Returns
  // true if the call had not ended before; if it had, nothing happens.
  bool End(const grpc::Status& status) FRESHET_EXCLUDES(mutex_);
  // Writes a last, small message and ends the call. Returns like End.
  bool EndWith(const grpc::ByteBuffer& message) FRESHET_EXCLUDES(mutex_);
  // Sends the only answer. If it is large, OnWritten follows, and must end the call. A small answer
  // ends the call at once, without OnWritten. A client that leaves a small answer unread keeps the
  // call's place. So if many calls are open, a small answer is treated like a large one.
  void SendAnswer(const grpc::ByteBuffer& message) FRESHET_EXCLUDES(mutex_);

  [[nodiscard]] grpc::CallbackServerContext& call() const { return call_; }
  [[nodiscard]] CallAuth& auth() { return auth_; }

 private:
  void OnReadDone(bool ok) final;
  void OnWriteDone(bool ok) final FRESHET_EXCLUDES(mutex_);
  void OnCancel() final;
  void OnDone() final;
  // Returns true if the call had not ended before.
  [[nodiscard]] bool BeginEnd(const grpc::Status& status) FRESHET_EXCLUDES(mutex_);

  const CallParts& host_;
  const CallKind kind_;
  grpc::CallbackServerContext& call_;
  const std::string request_id_;
  CallAuth auth_;
  CallWatch watch_;
  std::shared_ptr<CallReactor> self_;  // until OnDone
  std::atomic<bool> spoken_{false};    // the message has come, or the call has ended before it
  grpc::ByteBuffer incoming_;          // used by gRPC while reading
  grpc::ByteBuffer further_;   // used by gRPC while reading a second message, which must not come
  bool read_ = false;          // the read has ended; used by OnReadDone
  grpc::ByteBuffer outgoing_;  // used by gRPC while writing
  mutable Mutex mutex_;
  Patience patience_ FRESHET_GUARDED_BY(mutex_);
  bool timed_ FRESHET_GUARDED_BY(mutex_) = false;    // a message is being written
  bool cutting_ FRESHET_GUARDED_BY(mutex_) = false;  // the call is being cancelled
  // The result of a write that ended while the call was being cancelled.
  std::optional<bool> written_ FRESHET_GUARDED_BY(mutex_);
  bool ended_ FRESHET_GUARDED_BY(mutex_) = false;
  bool cancelled_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> dismissed_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CALL_REACTOR_H_
