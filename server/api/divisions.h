// The servers of other divisions of a fleet, as the services reach them.
#ifndef FRESHET_SERVER_API_DIVISIONS_H_
#define FRESHET_SERVER_API_DIVISIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/auth/on_behalf.h"

namespace freshet {

// One call of a method, unary or of two streams with an answer to each message in their order.
// Thread-safe.
class DivisionCall {
 public:
  using Answered = std::function<void(StatusOr<grpc::ByteBuffer>)>;

  DivisionCall() = default;
  // Nothing more is sent; what was is answered all the same.
  virtual ~DivisionCall() = default;
  DivisionCall(const DivisionCall&) = delete;
  DivisionCall& operator=(const DivisionCall&) = delete;

  // `answered` is called once, on any thread, maybe before this returns. A status that is not OK is
  // what the server ended the call with; Unavailable, also: nobody could be asked in time, or the
  // connection broke, and then it is not known what became of the message.
  virtual void Send(const grpc::ByteBuffer& message, Answered answered) = 0;
};

// Thread-safe.
class Divisions {
 public:
  Divisions() = default;
  virtual ~Divisions() = default;
  Divisions(const Divisions&) = delete;
  Divisions& operator=(const Divisions&) = delete;

  // A call on behalf of a client to whoever serves the division. When another one does, what is
  // sent later goes there.
  [[nodiscard]] virtual std::unique_ptr<DivisionCall> Open(uint32_t division, std::string_view path,
                                                           const ShownByClient& client) = 0;
  // Whether some server is known to serve it, reached or not.
  [[nodiscard]] virtual bool IsServed(uint32_t division) = 0;
};

// The response in what a call was answered; DataLoss: it is none. Thread-safe.
template <typename Response>
[[nodiscard]] StatusOr<Response> ResponseIn(const StatusOr<grpc::ByteBuffer>& answer) {
  RETURN_IF_ERROR(answer.status());
  grpc::ByteBuffer bytes = *answer;
  Response response;
  if (!grpc::SerializationTraits<Response>::Deserialize(&bytes, &response).ok()) {
    return MakeStatus(
        absl::StatusCode::kDataLoss,
        "the answer from the server of another division (part of the hosts) is damaged");
  }
  return response;
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_DIVISIONS_H_
