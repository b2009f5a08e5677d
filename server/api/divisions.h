// The servers of other divisions of a fleet: the interface for the services.
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

// A call of a method, unary or with an answer to each message of a stream, in order. Thread-safe.
class DivisionCall {
 public:
  using Answered = std::function<void(StatusOr<grpc::ByteBuffer>)>;

  DivisionCall() = default;
  // Sends nothing more; sent messages are still answered.
  virtual ~DivisionCall() = default;
  DivisionCall(const DivisionCall&) = delete;
  DivisionCall& operator=(const DivisionCall&) = delete;

  // Sends a message. `answered` is called once, on any thread, maybe before this returns. Not OK:
  // the status with which the server ended the call. Unavailable can also mean that no server could
  // be asked in time, or the connection broke: the fate of the message is then unknown. Messages of
  // one client are sent in their order, and clients take turns. `client`: the client's number.
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

  // Opens a call on behalf of a client to the server of the division. When another server takes
  // over, later messages go there.
  [[nodiscard]] virtual std::unique_ptr<DivisionCall> Open(uint32_t division, std::string_view path,
                                                           const ShownByClient& client) = 0;
  // Whether a server is known to serve the division, reachable or not.
  [[nodiscard]] virtual bool IsServed(uint32_t division) = 0;
};

// Parses the response in an answer; DataLoss: it cannot be parsed. Thread-safe.
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
