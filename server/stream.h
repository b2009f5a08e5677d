// What the bidirectional streams have in common: messages as bytes, acknowledgements in order, a
// bound on what is read and not yet acknowledged, and an orderly end.
#ifndef FRESHET_SERVER_STREAM_H_
#define FRESHET_SERVER_STREAM_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/mutex.h"

namespace freshet {

class MessageStream;

// The open streams, so that a server that stops can end them. Thread-safe.
class StreamSet {
 public:
  void Add(std::shared_ptr<MessageStream> stream) FRESHET_EXCLUDES(mutex_);
  void Remove(const std::shared_ptr<MessageStream>& stream) FRESHET_EXCLUDES(mutex_);
  // Tells every stream, also those still to come, that the server is stopping.
  void NoticeDraining() FRESHET_EXCLUDES(mutex_);
  // Ends every stream, also those still to come, once what was read is acknowledged.
  void EndAll() FRESHET_EXCLUDES(mutex_);
  // Returns when no stream is open or `timeout` has passed; whether none is.
  bool WaitUntilEmpty(Duration timeout) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] size_t size() const FRESHET_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  Condition empty_;
  std::set<std::shared_ptr<MessageStream>> streams_ FRESHET_GUARDED_BY(mutex_);
  bool ending_ FRESHET_GUARDED_BY(mutex_) = false;
};

// One open stream. It lives until gRPC is done with it and nobody holds it any more. Thread-safe;
// OnMessage is called one at a time.
class MessageStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                      public std::enable_shared_from_this<MessageStream> {
 public:
  // Starts reading. Call once, right after construction as a shared_ptr.
  void Begin(StreamSet* streams);
  // Reads nothing more, and ends with `status` once everything read is acknowledged and written.
  void End(grpc::Status status) FRESHET_EXCLUDES(mutex_);
  virtual void OnServerDraining() {}

 protected:
  using Sent = std::function<void(bool)>;  // whether the message left

  // A message has arrived. What it is answered with goes through OpenAck and Acknowledge.
  // The bytes may be let go before it returns.
  virtual void OnMessage(grpc::ByteBuffer* bytes) = 0;
  // The client has said all it will, or is gone; acknowledgements that are open still go out.
  // Called at least once, from any thread, before the stream is over.
  virtual void OnClientGone() {}

  // A place in the order of acknowledgements. Each must be filled by one call of Acknowledge.
  [[nodiscard]] uint64_t OpenAck() FRESHET_EXCLUDES(mutex_);
  void Acknowledge(uint64_t place, grpc::ByteBuffer message) FRESHET_EXCLUDES(mutex_);
  // Reads no further before all acknowledgements are out: the server is behind.
  void HoldReading() FRESHET_EXCLUDES(mutex_);
  // Sends a message in no particular order to acknowledgements. `sent` is called once, also when
  // the stream is over already.
  void Send(grpc::ByteBuffer message, Sent sent = nullptr) FRESHET_EXCLUDES(mutex_);

 private:
  struct Outgoing {
    grpc::ByteBuffer message;
    Sent sent;
  };

  void OnReadDone(bool ok) final;
  void OnWriteDone(bool ok) final;
  void OnDone() final;
  void OnCancel() final;

  // The next gRPC operation that the state allows; does what it returns outside of the lock.
  struct Steps {
    bool read = false;
    bool write = false;
    std::optional<grpc::Status> finish;
    std::vector<Sent> failed;  // messages that will not leave
  };
  [[nodiscard]] Steps NextSteps() FRESHET_REQUIRES(mutex_);
  void Perform(Steps steps) FRESHET_EXCLUDES(mutex_);

  StreamSet* streams_ = nullptr;
  std::shared_ptr<MessageStream> self_;  // until OnDone
  grpc::ByteBuffer incoming_;            // gRPC's while reading
  grpc::ByteBuffer writing_;             // gRPC's while writing
  mutable Mutex mutex_;
  std::deque<std::optional<grpc::ByteBuffer>> acks_ FRESHET_GUARDED_BY(mutex_);
  uint64_t first_ack_ FRESHET_GUARDED_BY(mutex_) = 0;  // place of acks_.front()
  std::deque<Outgoing> outgoing_ FRESHET_GUARDED_BY(mutex_);
  Sent writing_sent_ FRESHET_GUARDED_BY(mutex_);
  bool reading_ FRESHET_GUARDED_BY(mutex_) = false;
  bool in_write_ FRESHET_GUARDED_BY(mutex_) = false;
  bool handling_ FRESHET_GUARDED_BY(mutex_) = false;       // OnMessage runs
  bool starting_read_ FRESHET_GUARDED_BY(mutex_) = false;  // StartRead is about to be called
  bool reads_ended_ FRESHET_GUARDED_BY(mutex_) = false;
  bool held_ FRESHET_GUARDED_BY(mutex_) = false;
  bool broken_ FRESHET_GUARDED_BY(mutex_) = false;  // writes fail
  bool finished_ FRESHET_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> end_status_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_STREAM_H_
