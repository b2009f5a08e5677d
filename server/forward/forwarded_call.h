// One call that is not for this server: what its client says goes to the one that serves, message
// by message, and back.
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

  // The first message has come, or the client has said that there is none: Connect or Refuse
  // follows.
  virtual void OnSpoken(const std::shared_ptr<ForwardedCall>& call) = 0;
  // It ends, as others need the room of what it holds.
  virtual void OnOutdone() = 0;
  // Its client has gone, or gRPC is done with it: nothing more comes of it.
  virtual void OnClientGone(const std::shared_ptr<ForwardedCall>& call) = 0;
  virtual void OnOver(const std::shared_ptr<ForwardedCall>& call) = 0;
};

// How long a call may hold what others need the room of. Value type, thread-compatible.
struct ForwardPatience {
  Duration with_server;  // for it to take a message
  Duration with_client;  // for it to take answers
};

// At most one message is on its way in each direction, and of a method that takes one message no
// other is read. Both count among what the client has in the set of calls: past its share nothing
// more is read, of either side. The server that serves hears of the call once the first has come:
// who opens calls and takes them back without a word asks for nothing. Lives until gRPC is done
// with it and nobody holds it any more. Thread-safe; Connect or Refuse is called once.
class ForwardedCall final : public grpc::ServerGenericBidiReactor,
                            public OpenCall,
                            public std::enable_shared_from_this<ForwardedCall> {
 public:
  // All outlive this.
  ForwardedCall(ForwardedCalls& calls, StreamSet& streams, const Authoriser& authoriser,
                const ForwardPatience& patience, grpc::GenericCallbackServerContext& context);

  // Right after construction as a shared_ptr: it is not let go before gRPC has done with it.
  void Begin() { self_ = shared_from_this(); }
  // Reads the first message. Before the call is given to gRPC. It is in the set of calls.
  void Listen() { StartRead(&from_client_); }
  // Has the first message count as held; not OK: there is no room for it.
  [[nodiscard]] grpc::Status KeepMessage() FRESHET_EXCLUDES(mutex_);
  // What its metadata takes at the server that serves, as gRPC counts, with what is added to it.
  [[nodiscard]] size_t metadata_bytes() const;
  // Whether it was forwarded already.
  [[nodiscard]] bool on_behalf() const;
  // Sends all on over the channel, with which it is to be believed for its key.
  void Connect(std::shared_ptr<grpc::Channel> channel, const std::string& key);
  void Refuse(const grpc::Status& status) {
    spoken_ = true;
    Finish(status);
  }
  // After Connect: ends it, with this to its client.
  void Drop(grpc::Status why) FRESHET_EXCLUDES(mutex_);
  // Does not wait for the client to take what it is sent.
  void Cut() FRESHET_EXCLUDES(mutex_);

  // Whose calls are counted together (Authoriser::ClientOf).
  [[nodiscard]] const std::string& client() const override { return client_; }
  [[nodiscard]] bool admin() const override { return admin_; }
  [[nodiscard]] CallKind kind() const override { return kind_; }
  // Before a message has come.
  void Dismiss(grpc::Status status) override {
    if (!spoken_.exchange(true)) Finish(status);
  }
  void Look(Patience::Clock::time_point now, const Crowding& crowding) override
      FRESHET_EXCLUDES(mutex_);
  void Resume() override FRESHET_EXCLUDES(mutex_);

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
  void OnWriteDone(bool ok) override FRESHET_EXCLUDES(mutex_);
  void OnCancel() override;
  void OnDone() override;
  // Of the server that serves.
  void OnServerBegan(bool ok);
  void OnServerSaid(bool ok);
  void OnToldServer(bool ok);
  void OnServerDone(const grpc::Status& status) FRESHET_EXCLUDES(mutex_);

  void AddMetadata(const std::string& key);
  // Sends on what was read last: a message, or that there are no more.
  void TellServer() FRESHET_EXCLUDES(mutex_);
  // What was written to the client has left, or will not.
  void OnWritten(bool ok);
  // Each now, or once the client is within its share again.
  void ReadFromClient() FRESHET_EXCLUDES(mutex_);
  void ReadFromServer() FRESHET_EXCLUDES(mutex_);
  // After these, once for each.
  void StartReadFromClient() FRESHET_EXCLUDES(mutex_);
  void StartReadFromServer() FRESHET_EXCLUDES(mutex_);
  // What is held of one direction is no more.
  void LetGo(std::optional<Kept> ForwardedCall::*kept) FRESHET_EXCLUDES(mutex_);
  // While this returns true, until RemoveHold, calls of `upstream_` may be made: the server has not
  // said its last.
  [[nodiscard]] bool HoldUpstream() FRESHET_EXCLUDES(mutex_);
  // The server has said its last.
  void EndUpstream() FRESHET_EXCLUDES(mutex_);

  ForwardedCalls& calls_;
  StreamSet& streams_;
  grpc::GenericCallbackServerContext& context_;
  const Duration server_patience_;
  std::string client_;
  bool admin_ = false;
  bool goes_on_ = true;  // the client may send more messages than one
  CallKind kind_ = CallKind::kStream;
  std::shared_ptr<ForwardedCall> self_;  // until OnDone
  std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext upstream_context_;
  Upstream upstream_;
  grpc::ByteBuffer from_client_;     // gRPC's while it reads
  grpc::ByteBuffer to_server_;       // and while it writes
  bool ended_ = false;               // there is no further one: none was read
  bool read_ = false;                // something was, or the end
  std::atomic<bool> spoken_{false};  // the same, or nothing is waited for
  grpc::ByteBuffer from_server_;     // and while it reads or writes
  Mutex mutex_;
  bool upstream_over_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> dropped_ FRESHET_GUARDED_BY(mutex_);  // why it was
  Patience::Clock::time_point dropped_at_ FRESHET_GUARDED_BY(mutex_);
  // What is held of a message of the client, and of an answer that it has not taken.
  std::optional<Kept> message_ FRESHET_GUARDED_BY(mutex_);
  std::optional<Kept> answer_ FRESHET_GUARDED_BY(mutex_);
  // While one is sent on: how long it may take. That of the client is for all answers together.
  std::optional<Patience> with_server_ FRESHET_GUARDED_BY(mutex_);
  Patience with_client_ FRESHET_GUARDED_BY(mutex_);
  bool writing_ FRESHET_GUARDED_BY(mutex_) = false;         // to the client
  bool cutting_ FRESHET_GUARDED_BY(mutex_) = false;         // the call is being cancelled
  std::optional<bool> written_ FRESHET_GUARDED_BY(mutex_);  // what was said of a write meanwhile
  bool awaits_client_ FRESHET_GUARDED_BY(mutex_) = false;   // is to be read, once it may
  bool awaits_server_ FRESHET_GUARDED_BY(mutex_) = false;   // likewise
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_FORWARDED_CALL_H_
