// Answers of any length in bounded memory: parts are read in the background and written one message
// at a time.
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

// One call. It takes a place in context.listings. If there is no place, it ends with
// RESOURCE_EXHAUSTED.
//
// Thread-safe. Open, Read and GoOn are called one at a time: each call waits for the end of the
// work that the previous one started. Each must lead to one call of ReadNext, Write or EndList, at
// once or later.
class ListStream : public CallReactor {
 public:
  // The parameters are those of CallReactor.
  ListStream(const ServerContext& context, std::string_view path, ServerCall* call)
      : CallReactor(context, path, CallKind::kStream, call), context_(context) {}

 protected:
  // Reads the request. If OK, ReadNext follows; otherwise the call ends with the status.
  [[nodiscard]] virtual Status Open(const grpc::ByteBuffer& request) = 0;
  // Reads the next part on the background thread. Other clients can use this thread between two
  // parts.
  virtual void Read() = 0;
  // Called when the message has been written.
  virtual void GoOn() = 0;

  void ReadNext();
  // Ends the list. Nothing may use this object afterwards, unless another thread holds it.
  void EndList(const Status& status);

  const ServerContext& context_;

 private:
  void OnRequest(grpc::ByteBuffer* bytes) final;
  void OnWritten(bool ok) final;

  std::optional<Places::Place> place_;
};

// Starts a stream for the call.
template <typename Stream>
Reactor* StartList(const ServerContext& context, std::string_view path, ServerCall* call) {
  const auto stream = std::make_shared<Stream>(context, path, call);
  stream->Begin();
  return stream.get();
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_LIST_STREAM_H_
