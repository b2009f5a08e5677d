// The acknowledgement of a batch of which servers of other divisions have applied parts.
#ifndef FRESHET_SERVER_API_PARTED_ACK_H_
#define FRESHET_SERVER_API_PARTED_ACK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/status.h"
#include "freshet/v1/types.pb.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/api/batch.h"
#include "server/api/context.h"
#include "server/api/divisions.h"
#include "server/api/wire.h"
#include "server/base/countdown.h"
#include "sync/mutex.h"

namespace freshet {

// Thread-safe.
class PartedAck {
 public:
  using Done = std::function<void(v1::BatchAck)>;

  // Of what stays here and so many parts. `done` is called once all are there, on any thread.
  PartedAck(size_t parts, Done done)
      : parted_(parts > 0), left_(parts + 1), done_(std::move(done)) {}

  // What was made of the items that stay here, of an acknowledgement of all of them.
  void TakeOwn(v1::BatchAck ack) FRESHET_EXCLUDES(mutex_);
  // Of a part; not OK: it is not known that anything came of it, and its items are refused so.
  void TakePart(const Batch::Part& part, const StatusOr<v1::BatchAck>& ack)
      FRESHET_EXCLUDES(mutex_);

 private:
  void Arrive() FRESHET_EXCLUDES(mutex_);

  const bool parted_;
  Countdown left_;
  const Done done_;
  Mutex mutex_;
  v1::BatchAck ack_ FRESHET_GUARDED_BY(mutex_);
};

// The items at these places of a batch.
template <typename Item>
void CopyItems(const google::protobuf::RepeatedPtrField<Item>& items,
               const std::vector<uint32_t>& places,
               google::protobuf::RepeatedPtrField<Item>* part) {
  part->Reserve(static_cast<int>(places.size()));
  for (const uint32_t place : places) *part->Add() = items[static_cast<int>(place)];
}

// The acknowledgement in a response of that type; DataLoss: it is none.
template <typename Response>
StatusOr<v1::BatchAck> AckIn(const StatusOr<grpc::ByteBuffer>& answer) {
  ASSIGN_OR_RETURN(Response response, ResponseIn<Response>(answer));
  return std::move(*response.mutable_ack());
}

// Sends a part, which is the message, and has `all` take what is answered.
template <typename Response>
void SendPart(const ServerContext& context, DivisionCall& call,
              const google::protobuf::Message& message, Batch::Part part,
              std::shared_ptr<PartedAck> all) {
  context.counters.sent_on += part.places.size();
  call.Send(SerialiseMessage(message), [&context, part = std::move(part), all = std::move(all)](
                                           const StatusOr<grpc::ByteBuffer>& answer) {
    if (!answer.ok()) context.counters.sent_on_unanswered += part.places.size();
    all->TakePart(part, AckIn<Response>(answer));
  });
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_PARTED_ACK_H_
