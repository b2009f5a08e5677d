// One forwarded call. It passes the client's messages to the serving server, and the answers back,
// one message at a time in each direction.
#ifndef FRESHET_SERVER_FORWARD_FORWARDED_CALL_H_
#define FRESHET_SERVER_FORWARD_FORWARDED_CALL_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "core/base/units.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/client_callback.h"
#include "grpcpp/support/server_callback.h"
#include "server/api/patience.h"
#include "server/api/stream_set.h"
#include "server/auth/authoriser.h"
#include "server/base/client_network.h"
#include "sync/mutex.h"

namespace freshet {

class ForwardedCall;

// The owner of the calls. Thread-safe.
class ForwardedCalls {
 public:
  ForwardedCalls() = default;
  virtual ~ForwardedCalls() = default;
  ForwardedCalls(const ForwardedCalls&) = delete;
  ForwardedCalls& operator=(const ForwardedCalls&) = delete;

  // Called when the first message has come, or when the client has ended its side without a
  // message. The owner must then call Connect or Refuse.
  virtual void OnSpoken(const std::shared_ptr<ForwardedCall>& call) = 0;
  // Called when a call is ended because other calls need the memory that its messages take.
  virtual void OnOutdone() = 0;
  // OnClientGone: the client has cancelled the call. OnOver: gRPC is done with the call, and this
  // is the last event.
  virtual void OnClientGone(const std::shared_ptr<ForwardedCall>& call) = 0;
  virtual void OnOver(const std::shared_ptr<ForwardedCall>& call) = 0;
};

// How long a call may hold memory that other calls need. Value type, thread-compatible.
struct ForwardPatience {
  Duration with_server;  // how long the server may take to read a message
  Duration with_client;  // how long the client may take to read answers
};

// The call. At most one message is under way in each direction. A unary call reads only one
// message. The bytes of both messages count in the client's share of `streams`. While the client is
// above its share, the call reads nothing from either side. The serving server is called only once
// the first message has come, so silent calls cost it nothing. Lives until gRPC is done with it and
// no shared_ptr is left. Thread-safe. Connect or Refuse must be called exactly once.
class ForwardedCall final : public grpc::ServerGenericBidiReactor,
                            public OpenCall,
                            public std::enable_shared_from_this<ForwardedCall> {
 public:
  // All referenced objects must outlive this object.
  ForwardedCall(ForwardedCalls& calls, StreamSet& streams, const Authoriser& authoriser,
                const ForwardPatience& patience, grpc::GenericCallbackServerContext& context);

  // Keeps the object alive until gRPC is done with it. Must be called right after construction as a
  // shared_ptr.
  void Begin() { self_ = shared_from_this(); }
  // Reads the first message. Must be called before the reactor is returned to gRPC. Precondition:
  // the call is in `streams`.
  void Listen() { StartRead(&from_client_); }
  // Counts the memory of the message that was read last. Not OK: there is no memory left for the
  // message.
  [[nodiscard]] grpc::Status KeepMessage() FRESHET_EXCLUDES(mutex_);
  // The size of the metadata that the serving server will get, as gRPC counts it, including the
  // metadata that forwarding adds.
  [[nodiscard]] size_t metadata_bytes() const;
  // Returns true if another server has forwarded the call to this one.
  [[nodiscard]] bool on_behalf() const;
  // Begins to forward over the channel. `key`: the key of the serving server, which proves that
  // this server may act for clients.
  void Connect(std::shared_ptr<grpc::Channel> channel, const std::string& key);
  void Refuse(const grpc::Status& status) {
    spoken_ = true;
    Finish(status);
  }
  // Ends a connected call. The client gets this status.
  void Drop(grpc::Status why) FRESHET_EXCLUDES(mutex_);
  // Ends the call without waiting until the client has read the answer.
  void Cut() FRESHET_EXCLUDES(mutex_);

  // The client whose limits apply to the call (Authoriser::ClientOf).
  [[nodiscard]] const std::string& client() const override { return client_; }
  [[nodiscard]] bool admin() const override { return admin_; }
  [[nodiscard]] bool stranger() const override { return stranger_; }
  [[nodiscard]] CallKind kind() const override { return kind_; }
  // Ends the call if no message has come yet.
  void Dismiss(grpc::Status status) override {
    if (!spoken_.exchange(true)) Finish(status);
  }
  Peer Look(Patience::Clock::time_point now, const Crowding& crowding) override
      FRESHET_EXCLUDES(mutex_);
  void Resume() override FRESHET_EXCLUDES(mutex_);

 private:
  // The call to the serving server.
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

  // Events of the client's side.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override FRESHET_EXCLUDES(mutex_);
  void OnCancel() override;
  void OnDone() override;
  // Events of the serving server's side.
  void OnServerBegan(bool ok);
  void OnServerSaid(bool ok);
  void OnToldServer(bool ok);
  void OnServerDone(const grpc::Status& status) FRESHET_EXCLUDES(mutex_);

  void AddMetadata(const std::string& key);
  // Forwards to the server what was read last: a message, or the end of the messages.
  void TellServer() FRESHET_EXCLUDES(mutex_);
  // Called when a write to the client has succeeded or failed.
  void OnWritten(bool ok);
  // Each of these reads one message: now, or once the client is within its share again.
  void ReadFromClient() FRESHET_EXCLUDES(mutex_);
  void ReadFromServer() FRESHET_EXCLUDES(mutex_);
  // Each starts the read that the matching function above has requested, at most once for each
  // request.
  void StartReadFromClient() FRESHET_EXCLUDES(mutex_);
  void StartReadFromServer() FRESHET_EXCLUDES(mutex_);
  // Frees the memory that is counted for the message of one direction.
  void LetGo(std::optional<Kept> ForwardedCall::*kept) FRESHET_EXCLUDES(mutex_);
  // Takes a hold on `upstream_`. Returns true if the server has not ended the call. Only then may
  // the caller use `upstream_`, until RemoveHold.
  [[nodiscard]] bool HoldUpstream() FRESHET_EXCLUDES(mutex_);
  // Called when the server has ended the call: removes the last hold on `upstream_`.
  void EndUpstream() FRESHET_EXCLUDES(mutex_);

  ForwardedCalls& calls_;
  StreamSet& streams_;
  grpc::GenericCallbackServerContext& context_;
  const Peer peer_;  // a copy, because gRPC forgets the peer of a cancelled call
  const Duration server_patience_;
  std::string client_;
  bool admin_ = false;
  bool stranger_ = false;
  bool goes_on_ = true;  // the client may send more than one message
  CallKind kind_ = CallKind::kStream;
  std::shared_ptr<ForwardedCall> self_;  // keeps this object alive until OnDone
  std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext upstream_context_;
  Upstream upstream_;
  grpc::ByteBuffer from_client_;     // in use by gRPC during a read
  grpc::ByteBuffer to_server_;       // in use by gRPC during a write
  bool ended_ = false;               // the last read was the end of the client's messages
  bool read_ = false;                // a message, or the end, was read
  std::atomic<bool> spoken_{false};  // like read_; also true if no message is awaited
  grpc::ByteBuffer from_server_;     // in use by gRPC during a read or a write
  Mutex mutex_;
  bool upstream_over_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> dropped_ FRESHET_GUARDED_BY(mutex_);  // the status passed to Drop
  Patience::Clock::time_point dropped_at_ FRESHET_GUARDED_BY(mutex_);
  // The bytes held for the client's message, and for an answer that the client has not read yet.
  std::optional<Kept> message_ FRESHET_GUARDED_BY(mutex_);
  std::optional<Kept> answer_ FRESHET_GUARDED_BY(mutex_);
  // The patience for the message under way to the server, and for all answers to the client
  // together.
  std::optional<Patience> with_server_ FRESHET_GUARDED_BY(mutex_);
  Patience with_client_ FRESHET_GUARDED_BY(mutex_);
  bool writing_ FRESHET_GUARDED_BY(mutex_) = false;  // a write to the client is under way
  bool cutting_ FRESHET_GUARDED_BY(mutex_) = false;  // the call is being cancelled
  // The result of a write that ended during the cancellation.
  std::optional<bool> written_ FRESHET_GUARDED_BY(mutex_);
  bool awaits_client_ FRESHET_GUARDED_BY(mutex_) = false;  // a read is requested
  bool awaits_server_ FRESHET_GUARDED_BY(mutex_) = false;  // a read is requested
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_FORWARDED_CALL_H_
