// One forwarded call: passes its client's messages to the serving server, and answers back, one at
// a time.
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

  // The first message has come, or the client has sent none: Connect or Refuse follows.
  virtual void OnSpoken(const std::shared_ptr<ForwardedCall>& call) = 0;
  // A call ends because others need its room.
  virtual void OnOutdone() = 0;
  // The client has gone, or gRPC is done with the call: nothing more comes of it.
  virtual void OnClientGone(const std::shared_ptr<ForwardedCall>& call) = 0;
  virtual void OnOver(const std::shared_ptr<ForwardedCall>& call) = 0;
};

// How long a call may hold room that others need. Value type, thread-compatible.
struct ForwardPatience {
  Duration with_server;  // how long the server may take to read a message
  Duration with_client;  // how long the client may take to read answers
};

// The call. At most one message is on its way in each direction; a unary call reads one message
// only. Both count in the client's share of the set of calls: above it nothing more is read from
// either side. The serving server hears of the call once the first message has come, so silent
// calls cost it nothing. Lives until gRPC is done with it and nobody holds it. Thread-safe; Connect
// or Refuse is called once.
class ForwardedCall final : public grpc::ServerGenericBidiReactor,
                            public OpenCall,
                            public std::enable_shared_from_this<ForwardedCall> {
 public:
  // All references outlive this.
  ForwardedCall(ForwardedCalls& calls, StreamSet& streams, const Authoriser& authoriser,
                const ForwardPatience& patience, grpc::GenericCallbackServerContext& context);

  // Keeps the call alive until gRPC is done with it. To be called right after construction as a
  // shared_ptr.
  void Begin() { self_ = shared_from_this(); }
  // Reads the first message, before gRPC gets the call. The call is in the set of calls.
  void Listen() { StartRead(&from_client_); }
  // Counts the first message as held. Not OK: there is no room for it.
  [[nodiscard]] grpc::Status KeepMessage() FRESHET_EXCLUDES(mutex_);
  // The size of its metadata at the serving server, as gRPC counts, with our additions.
  [[nodiscard]] size_t metadata_bytes() const;
  // Whether the call was already forwarded to this server.
  [[nodiscard]] bool on_behalf() const;
  // Sends everything on over the channel, with the server's key as proof.
  void Connect(std::shared_ptr<grpc::Channel> channel, const std::string& key);
  void Refuse(const grpc::Status& status) {
    spoken_ = true;
    Finish(status);
  }
  // Ends a connected call, with this status for the client.
  void Drop(grpc::Status why) FRESHET_EXCLUDES(mutex_);
  // Ends the call without waiting for the client to take its bytes.
  void Cut() FRESHET_EXCLUDES(mutex_);

  // The client that the call is counted for (Authoriser::ClientOf).
  [[nodiscard]] const std::string& client() const override { return client_; }
  [[nodiscard]] bool admin() const override { return admin_; }
  [[nodiscard]] CallKind kind() const override { return kind_; }
  // Ends the call before any message has come.
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

  // Events of the client's side:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override FRESHET_EXCLUDES(mutex_);
  void OnCancel() override;
  void OnDone() override;
  // Events of the serving server's side:
  void OnServerBegan(bool ok);
  void OnServerSaid(bool ok);
  void OnToldServer(bool ok);
  void OnServerDone(const grpc::Status& status) FRESHET_EXCLUDES(mutex_);

  void AddMetadata(const std::string& key);
  // Sends on what was read last: a message, or the end.
  void TellServer() FRESHET_EXCLUDES(mutex_);
  // A write to the client has left, or never will.
  void OnWritten(bool ok);
  // Each reads now, or once the client is within its share again.
  void ReadFromClient() FRESHET_EXCLUDES(mutex_);
  void ReadFromServer() FRESHET_EXCLUDES(mutex_);
  // Each follows one of these, once.
  void StartReadFromClient() FRESHET_EXCLUDES(mutex_);
  void StartReadFromServer() FRESHET_EXCLUDES(mutex_);
  // Frees what is held for one direction.
  void LetGo(std::optional<Kept> ForwardedCall::*kept) FRESHET_EXCLUDES(mutex_);
  // Whether calls of `upstream_` may be made, until RemoveHold: the server has not ended the call.
  [[nodiscard]] bool HoldUpstream() FRESHET_EXCLUDES(mutex_);
  // The server has ended the call.
  void EndUpstream() FRESHET_EXCLUDES(mutex_);

  ForwardedCalls& calls_;
  StreamSet& streams_;
  grpc::GenericCallbackServerContext& context_;
  const Peer peer_;  // kept here, as gRPC forgets the peer of a cancelled call
  const Duration server_patience_;
  std::string client_;
  bool admin_ = false;
  bool goes_on_ = true;  // whether the client may send more than one message
  CallKind kind_ = CallKind::kStream;
  std::shared_ptr<ForwardedCall> self_;  // until OnDone
  std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext upstream_context_;
  Upstream upstream_;
  grpc::ByteBuffer from_client_;     // used by gRPC while it reads
  grpc::ByteBuffer to_server_;       // used by gRPC while it writes
  bool ended_ = false;               // whether the client's messages are over: none was read
  bool read_ = false;                // whether a message was read, or the end
  std::atomic<bool> spoken_{false};  // the same, or nothing is waited for
  grpc::ByteBuffer from_server_;     // used by gRPC while it reads or writes
  Mutex mutex_;
  bool upstream_over_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> dropped_ FRESHET_GUARDED_BY(mutex_);  // the reason, once dropped
  Patience::Clock::time_point dropped_at_ FRESHET_GUARDED_BY(mutex_);
  // The bytes held for the client's message, and for an answer that it has not taken.
  std::optional<Kept> message_ FRESHET_GUARDED_BY(mutex_);
  std::optional<Kept> answer_ FRESHET_GUARDED_BY(mutex_);
  // The patience for a message on its way; the client's covers all answers together.
  std::optional<Patience> with_server_ FRESHET_GUARDED_BY(mutex_);
  Patience with_client_ FRESHET_GUARDED_BY(mutex_);
  bool writing_ FRESHET_GUARDED_BY(mutex_) = false;         // to the client
  bool cutting_ FRESHET_GUARDED_BY(mutex_) = false;         // the call is being cancelled
  std::optional<bool> written_ FRESHET_GUARDED_BY(mutex_);  // status of a write that ended
                                                            // meanwhile
  bool awaits_client_ FRESHET_GUARDED_BY(mutex_) = false;   // to be read, once allowed
  bool awaits_server_ FRESHET_GUARDED_BY(mutex_) = false;   // to be read, once allowed
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_FORWARDED_CALL_H_
