// The interface by which services reach the servers of other divisions of a fleet.
#ifndef FRESHET_SERVER_API_DIVISIONS_H_
#define FRESHET_SERVER_API_DIVISIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/auth/on_behalf.h"

namespace freshet {

// A call to a method of another server: a unary call, or a stream that answers each message, in
// order. Thread-safe.
class DivisionCall {
 public:
  using Answered = std::function<void(StatusOr<grpc::ByteBuffer>)>;

  DivisionCall() = default;
  // Ends the sending side. Messages that were sent earlier are still answered.
  virtual ~DivisionCall() = default;
  DivisionCall(const DivisionCall&) = delete;
  DivisionCall& operator=(const DivisionCall&) = delete;

  // Sends a message. `answered` is called once, on any thread, perhaps before this returns. Not OK:
  // the status with which the server ended the call. Unavailable can also mean that no server was
  // reached in time or that the connection broke, so the server may or may not have handled the
  // message. `client` is the client's number: messages of one client are sent in order, and clients
  // take turns.
  virtual void Send(const grpc::ByteBuffer& message, Answered answered, uint64_t client) = 0;
  // Sends a message of a call that has only one client.
  void Send(const grpc::ByteBuffer& message, Answered answered) {
    Send(message, std::move(answered), 0);
  }
};

// The other divisions. Thread-safe.
class Divisions {
 public:
  Divisions() = default;
  virtual ~Divisions() = default;
  Divisions(const Divisions&) = delete;
  Divisions& operator=(const Divisions&) = delete;

  // Opens a call to the server of the division on behalf of a client. If another server takes over
  // the division, later messages go to that server.
  [[nodiscard]] virtual std::unique_ptr<DivisionCall> Open(uint32_t division, std::string_view path,
                                                           const ShownByClient& client) = 0;
  // Whether some server is known to serve the division, even if it cannot be reached.
  [[nodiscard]] virtual bool IsServed(uint32_t division) = 0;
};

// Parses the response in an answer. DataLoss: the response cannot be parsed. Thread-safe.
[[nodiscard]] Status ReadAnswer(const StatusOr<grpc::ByteBuffer>& answer,
                                google::protobuf::Message* response);
template <typename Response>
[[nodiscard]] StatusOr<Response> ResponseIn(const StatusOr<grpc::ByteBuffer>& answer) {
  Response response;
  RETURN_IF_ERROR(ReadAnswer(answer, &response));
  return response;
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_DIVISIONS_H_
