// Answers that are read part by part in the background and written one message at a time: lists of
// any length in bounded memory.
#ifndef FRESHET_SERVER_API_LIST_STREAM_H_
#define FRESHET_SERVER_API_LIST_STREAM_H_

#include <atomic>
#include <memory>

#include "core/base/status.h"
#include "grpcpp/alarm.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/api/caller.h"
#include "server/api/context.h"

namespace freshet {

// One call, which takes one of the places of context.listings; without one it ends with
// RESOURCE_EXHAUSTED. A client that takes none of a message for config.list_write_timeout is cut
// off. It lives until gRPC is done with it and nobody holds it any more.
//
// Thread-safe. Open, Read and GoOn are called one at a time, each when what the last one began has
// ended; each ends in one call of ReadNext, Write or End, at once or later.
class ListStream : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                   public std::enable_shared_from_this<ListStream> {
 public:
  // `call` is gRPC's, until OnDone. `path` is that of the MethodRule.
  ListStream(const ServerContext& context, std::string_view path,
             grpc::CallbackServerContext* call);
  ~ListStream() override;

  // Starts with the request. Call once, right after construction as a shared_ptr.
  void Begin(const grpc::ByteBuffer& request);

 protected:
  // Takes in the request. Not OK: the call ends with it; else ReadNext follows.
  [[nodiscard]] virtual Status Open(const grpc::ByteBuffer& request) = 0;
  // Reads the next part, in the background.
  virtual void Read() = 0;
  // What was written has left.
  virtual void GoOn() = 0;

  void ReadNext();
  void Write(grpc::ByteBuffer message);
  // The last use of this object, unless somebody holds it.
  void End(const Status& status);

  [[nodiscard]] bool cancelled() const { return cancelled_; }
  [[nodiscard]] const grpc::CallbackServerContext& call() const { return call_; }

  const ServerContext& context_;

 private:
  void OnWriteDone(bool ok) final;
  void OnCancel() final { cancelled_ = true; }
  void OnDone() final { const auto last = std::move(self_); }
  void EndHalfOfWrite();

  grpc::CallbackServerContext& call_;
  const bool admitted_;
  CallWatch watch_;
  std::shared_ptr<ListStream> self_;  // until OnDone
  std::atomic<bool> cancelled_{false};
  grpc::ByteBuffer bytes_;  // gRPC's while writing
  std::unique_ptr<grpc::Alarm> alarm_;
  std::atomic<int> halves_left_{0};
  bool written_ = false;
};

// A stream of the call, which gRPC owns.
template <typename Stream>
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartList(const ServerContext& context,
                                                      std::string_view path,
                                                      grpc::CallbackServerContext* call,
                                                      const grpc::ByteBuffer& request) {
  using Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;
  if (auto* away = TurnAway<Reactor>(context.authoriser, path, *call)) return away;
  const auto stream = std::make_shared<Stream>(context, path, call);
  stream->Begin(request);
  return stream.get();
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_LIST_STREAM_H_
