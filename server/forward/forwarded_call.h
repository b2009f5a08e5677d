// One call that is not for this server: what its client says goes to the one that serves, message
// by message, and back.
#ifndef FRESHET_SERVER_FORWARD_FORWARDED_CALL_H_
#define FRESHET_SERVER_FORWARD_FORWARDED_CALL_H_

#include <cstddef>
#include <memory>
#include <string>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/client_callback.h"
#include "grpcpp/support/server_callback.h"
#include "sync/mutex.h"

namespace freshet {

class ForwardedCall;

// Who has the calls. Thread-safe.
class ForwardedCalls {
 public:
  ForwardedCalls() = default;
  virtual ~ForwardedCalls() = default;
  ForwardedCalls(const ForwardedCalls&) = delete;
  ForwardedCalls& operator=(const ForwardedCalls&) = delete;

  // Whether the next message may be read; if not, ReadOn follows.
  [[nodiscard]] virtual bool MayRead(const std::shared_ptr<ForwardedCall>& call) = 0;
  // A message of so many bytes is here; and has been sent on.
  virtual void Hold(size_t bytes) = 0;
  virtual void Release(size_t bytes) = 0;
  // Its client has gone, or gRPC is done with it: nothing more comes of it.
  virtual void OnClientGone(const std::shared_ptr<ForwardedCall>& call) = 0;
  virtual void OnOver(const std::shared_ptr<ForwardedCall>& call) = 0;
};

// At most one message is on its way in each direction. Lives until gRPC is done with it and nobody
// holds it any more. Thread-safe; Connect or Refuse is called once.
class ForwardedCall final : public grpc::ServerGenericBidiReactor,
                            public std::enable_shared_from_this<ForwardedCall> {
 public:
  // All outlive this.
  ForwardedCall(ForwardedCalls& calls, grpc::GenericCallbackServerContext& context);

  // Right after construction as a shared_ptr: it is not let go before gRPC has done with it.
  void Begin() { self_ = shared_from_this(); }
  // Whether it was forwarded already.
  [[nodiscard]] bool on_behalf() const;
  // Sends all on over the channel, with which it is to be believed for its key.
  void Connect(std::shared_ptr<grpc::Channel> channel, const std::string& key);
  void Refuse(const grpc::Status& status) { Finish(status); }
  // After Connect: ends it, with UNAVAILABLE and this reason to its client.
  // `why` outlives it.
  void Drop(const char* why) FRESHET_EXCLUDES(mutex_);
  // Does not wait for the client to take in what was said.
  void Cut() { context_.TryCancel(); }
  // After MayRead has said no.
  void ReadOn();
  // Whose calls are counted together: the network that the client comes from.
  [[nodiscard]] const std::string& client() const { return client_; }

 private:
  // What it is to the server that serves.
  class Upstream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit Upstream(ForwardedCall& call) : call_(call) {}
    void OnReadInitialMetadataDone(bool ok) override { call_.OnServerBegan(ok); }
    void OnReadDone(bool ok) override { call_.OnServerSaid(ok); }
    void OnWriteDone(bool ok) override { call_.OnToldServer(ok); }
    void OnDone(const grpc::Status& status) override { call_.OnServerDone(status); }

   private:
    ForwardedCall& call_;
  };

  // Of the client.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;
  // Of the server that serves.
  void OnServerBegan(bool ok);
  void OnServerSaid(bool ok);
  void OnToldServer(bool ok);
  void OnServerDone(const grpc::Status& status) FRESHET_EXCLUDES(mutex_);

  void AddMetadata(const std::string& key);
  void ReadFromClient();
  // While this returns true, until RemoveHold, calls of `upstream_` may be made: the server has not
  // said its last.
  [[nodiscard]] bool HoldUpstream() FRESHET_EXCLUDES(mutex_);
  // The server has said its last.
  void EndUpstream() FRESHET_EXCLUDES(mutex_);

  ForwardedCalls& calls_;
  grpc::GenericCallbackServerContext& context_;
  const std::string client_;
  std::shared_ptr<ForwardedCall> self_;  // until OnDone
  std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext upstream_context_;
  Upstream upstream_;
  grpc::ByteBuffer from_client_;  // gRPC's while it reads
  grpc::ByteBuffer to_server_;    // and while it writes
  size_t to_server_bytes_ = 0;
  grpc::ByteBuffer from_server_;  // and while it reads or writes
  Mutex mutex_;
  bool upstream_over_ FRESHET_GUARDED_BY(mutex_) = false;
  const char* dropped_ FRESHET_GUARDED_BY(mutex_) = nullptr;  // why it was
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_FORWARDED_CALL_H_
