// What calls have in common that bring one message: they are counted from their first byte on, are
// ended when their client may not be here any more or sends a second message, and wait for it only
// as long as it takes something of what it is sent.
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

// What calls use of their server, whether it serves or stands by. All outlive the calls. Value
// type, thread-compatible.
struct CallHost {
  const ServerConfig& config;
  Clock& clock;
  StreamSet& streams;
  CallStats& calls;
  Authoriser& authoriser;
  RequestIds& request_ids;
};
[[nodiscard]] inline CallHost HostOf(const ServerContext& context) {
  return {.config = context.config,
          .clock = context.clock,
          .streams = context.streams,
          .calls = context.calls,
          .authoriser = context.authoriser,
          .request_ids = context.request_ids};
}

// One call. It lives until gRPC is done with it and nobody holds it any more.
//
// Thread-safe. OnRequest and OnWritten are called one at a time, each when what the last one began
// has ended; each ends in one call of Write or End, at once or later.
class CallReactor : public grpc::ServerGenericBidiReactor,
                    public OpenCall,
                    public std::enable_shared_from_this<CallReactor> {
 public:
  // `call` is gRPC's, until OnDone. `path` is that of a MethodRule.
  CallReactor(const CallHost& host, std::string_view path, CallKind kind,
              grpc::CallbackServerContext* call);

  // Waits for the message. Call once, right after construction as a shared_ptr.
  void Begin();

  [[nodiscard]] const std::string& client() const final { return auth_.client(); }
  [[nodiscard]] bool admin() const final { return auth_.admin(); }
  [[nodiscard]] Status CheckCaller() const override { return auth_.Check(); }
  [[nodiscard]] Instant ends() const final { return auth_.ends(); }
  [[nodiscard]] CallKind kind() const final { return kind_; }
  void Dismiss(grpc::Status status) final FRESHET_EXCLUDES(mutex_);
  void Look(Patience::Clock::time_point now, const Crowding& crowding) final
      FRESHET_EXCLUDES(mutex_);

  [[nodiscard]] const std::string& request_id() const { return request_id_; }
  // Whether nobody waits for what is made, and why.
  [[nodiscard]] grpc::Status stopped() const FRESHET_EXCLUDES(mutex_);

 protected:
  // The message has come, and the call has one of the places.
  virtual void OnRequest(grpc::ByteBuffer* bytes) = 0;
  // What was written has left, or will not.
  virtual void OnWritten(bool ok) = 0;
  // There is nobody to go on for: while a message is written, or the call waits for something.
  virtual void OnStopped() {}
  // gRPC is done with the call.
  virtual void OnOver() {}

  void Write(const grpc::ByteBuffer& message, grpc::WriteOptions options = {})
      FRESHET_EXCLUDES(mutex_);
  // The last use of this object, unless somebody holds it. The first one counts; returns whether
  // this is it.
  bool End(const grpc::Status& status) FRESHET_EXCLUDES(mutex_);
  // With a last message, which is small.
  bool EndWith(const grpc::ByteBuffer& message) FRESHET_EXCLUDES(mutex_);
  // Sends the one answer, after which OnWritten is to end the call. A client may leave an answer
  // that is small, and keeps its place for as long: then there is no OnWritten. But where places
  // become few, it has as much time as for one that is large.
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

  const CallHost host_;
  const CallKind kind_;
  grpc::CallbackServerContext& call_;
  const std::string request_id_;
  CallAuth auth_;
  CallWatch watch_;
  std::shared_ptr<CallReactor> self_;  // until OnDone
  std::atomic<bool> spoken_{false};    // the message has come, or is not waited for any more
  grpc::ByteBuffer incoming_;          // gRPC's while reading
  grpc::ByteBuffer further_;           // the same: what must not come
  bool read_ = false;                  // what was read has come; of OnReadDone
  grpc::ByteBuffer outgoing_;          // gRPC's while writing
  mutable Mutex mutex_;
  Patience patience_ FRESHET_GUARDED_BY(mutex_);
  bool timed_ FRESHET_GUARDED_BY(mutex_) = false;           // something is written
  bool cutting_ FRESHET_GUARDED_BY(mutex_) = false;         // the call is being cancelled
  std::optional<bool> written_ FRESHET_GUARDED_BY(mutex_);  // what was said of a write meanwhile
  bool ended_ FRESHET_GUARDED_BY(mutex_) = false;
  bool cancelled_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> dismissed_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CALL_REACTOR_H_
