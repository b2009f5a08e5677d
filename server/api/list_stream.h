// Answers that are read part by part in the background and written one message at a time: lists of
// any length in bounded memory.
#ifndef FRESHET_SERVER_API_LIST_STREAM_H_
#define FRESHET_SERVER_API_LIST_STREAM_H_

#include <memory>
#include <optional>

#include "core/base/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/api/call_method.h"
#include "server/api/call_reactor.h"
#include "server/base/places.h"

namespace freshet {

// One call, which takes one of the places of context.listings; without one it ends with
// RESOURCE_EXHAUSTED.
//
// Thread-safe. Open, Read and GoOn are called one at a time, each when what the last one began has
// ended; each ends in one call of ReadNext, Write or EndList, at once or later.
class ListStream : public CallReactor {
 public:
  // As those of CallReactor.
  ListStream(const ServerContext& context, std::string_view path, ServerCall* call)
      : CallReactor(HostOf(context), path, CallKind::kStream, call), context_(context) {}

 protected:
  // Takes in the request. Not OK: the call ends with it; else ReadNext follows.
  [[nodiscard]] virtual Status Open(const grpc::ByteBuffer& request) = 0;
  // Reads the next part, in the background. Others have their turn before each.
  virtual void Read() = 0;
  // What was written has left.
  virtual void GoOn() = 0;

  void ReadNext();
  // The last use of this object, unless somebody holds it.
  void EndList(const Status& status);

  const ServerContext& context_;

 private:
  void OnRequest(grpc::ByteBuffer* bytes) final;
  void OnWritten(bool ok) final;

  std::optional<Places::Place> place_;
};

// A stream of the call.
template <typename Stream>
Reactor* StartList(const ServerContext& context, std::string_view path, ServerCall* call) {
  const auto stream = std::make_shared<Stream>(context, path, call);
  stream->Begin();
  return stream.get();
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_LIST_STREAM_H_
