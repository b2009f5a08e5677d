// One call that is not for this server: what its client says goes to the one that serves, message
// by message, and back.
#ifndef FRESHET_SERVER_FORWARD_FORWARDED_CALL_H_
#define FRESHET_SERVER_FORWARD_FORWARDED_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/client_callback.h"
#include "grpcpp/support/server_callback.h"
#include "server/auth/authoriser.h"
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

  // The first message has come, of so many bytes, or the client has said that there is none:
  // Connect or Refuse follows, unless the call has ended meanwhile.
  virtual void OnSpoken(const std::shared_ptr<ForwardedCall>& call, size_t bytes) = 0;
  // Whether the next message may be read; if not, ReadOn follows.
  [[nodiscard]] virtual bool MayRead(const std::shared_ptr<ForwardedCall>& call) = 0;
  // A further message of so many bytes is here; not OK: it is too much, and ends the call.
  [[nodiscard]] virtual grpc::Status Hold(const std::shared_ptr<ForwardedCall>& call,
                                          size_t bytes) = 0;
  // The message that was here has been sent on.
  virtual void Release(const std::shared_ptr<ForwardedCall>& call) = 0;
  // Its client has gone, or gRPC is done with it: nothing more comes of it.
  virtual void OnClientGone(const std::shared_ptr<ForwardedCall>& call) = 0;
  virtual void OnOver(const std::shared_ptr<ForwardedCall>& call) = 0;
};

// At most one message is on its way in each direction, and of a method that takes one message no
// other is read. The server that serves hears of the call once the first has come: who opens calls
// and takes them back without a word asks for nothing. Lives until gRPC is done with it and nobody
// holds it any more. Thread-safe; Connect or Refuse is called once.
class ForwardedCall final : public grpc::ServerGenericBidiReactor,
                            public std::enable_shared_from_this<ForwardedCall> {
 public:
  // All outlive this. The number is of no other call.
  ForwardedCall(ForwardedCalls& calls, const Authoriser& authoriser,
                grpc::GenericCallbackServerContext& context, uint64_t number);

  // Right after construction as a shared_ptr: it is not let go before gRPC has done with it.
  void Begin() { self_ = shared_from_this(); }
  // Reads the first message. Before the call is given to gRPC.
  void Listen() { StartRead(&from_client_); }
  // What its metadata takes at the server that serves, as gRPC counts, with what is added to it.
  [[nodiscard]] size_t metadata_bytes() const;
  // Whether it was forwarded already.
  [[nodiscard]] bool on_behalf() const;
  // Sends all on over the channel, with which it is to be believed for its key.
  void Connect(std::shared_ptr<grpc::Channel> channel, const std::string& key);
  void Refuse(const grpc::Status& status) { Finish(status); }
  // After Connect: ends it, with this to its client.
  void Drop(grpc::Status why) FRESHET_EXCLUDES(mutex_);
  // Does not wait for the client to take in what was said.
  void Cut() { context_.TryCancel(); }
  // After MayRead has said no.
  void ReadOn();
  [[nodiscard]] uint64_t number() const { return number_; }
  // Whose calls are counted together (Authoriser::ClientOf).
  [[nodiscard]] const std::string& client() const { return client_; }
  // Whether that is an identity with the role admin.
  [[nodiscard]] bool admin() const { return admin_; }

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
  // Sends on what was read last: a message, or that there are no more.
  void TellServer();
  void ReadFromClient();
  // While this returns true, until RemoveHold, calls of `upstream_` may be made: the server has not
  // said its last.
  [[nodiscard]] bool HoldUpstream() FRESHET_EXCLUDES(mutex_);
  // The server has said its last.
  void EndUpstream() FRESHET_EXCLUDES(mutex_);

  ForwardedCalls& calls_;
  grpc::GenericCallbackServerContext& context_;
  const uint64_t number_;
  std::string client_;
  bool admin_ = false;
  const bool goes_on_;                   // the client may send more messages than one
  std::shared_ptr<ForwardedCall> self_;  // until OnDone
  std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext upstream_context_;
  Upstream upstream_;
  grpc::ByteBuffer from_client_;  // gRPC's while it reads
  grpc::ByteBuffer to_server_;    // and while it writes
  bool ended_ = false;            // there is no further one: none was read
  bool spoken_ = false;           // something was read, or the end
  grpc::ByteBuffer from_server_;  // and while it reads or writes
  Mutex mutex_;
  bool upstream_over_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> dropped_ FRESHET_GUARDED_BY(mutex_);  // why it was
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_FORWARDED_CALL_H_
