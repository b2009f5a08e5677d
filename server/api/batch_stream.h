// Streams on which every message is a batch of items and gets one acknowledgement.
#ifndef FRESHET_SERVER_API_BATCH_STREAM_H_
#define FRESHET_SERVER_API_BATCH_STREAM_H_

#include <memory>
#include <utility>
#include <vector>

#include "google/protobuf/arena.h"
#include "server/api/batch.h"
#include "server/api/context.h"
#include "server/api/stream.h"
#include "server/api/wire.h"

namespace freshet {

// Thread-safe.
template <typename Request, typename Response>
class BatchStream : public MessageStream {
 public:
  explicit BatchStream(const ServerContext& context) : context_(context) {}

 protected:
  // Name and number of the items of a message.
  [[nodiscard]] virtual const char* ItemField() const = 0;
  [[nodiscard]] virtual int ItemCount(const Request& request) const = 0;
  // A fault of the message as a whole.
  [[nodiscard]] virtual Fault CheckMessage(const Request&) const { return std::nullopt; }
  // Gives every item of the message a place in the batch.
  virtual void FillBatch(const Request& request, const std::vector<TextFault>& faults,
                         Batch* batch) = 0;
  virtual void Count(const BatchCounts& counts) = 0;

  const ServerContext& context_;

 private:
  void OnMessage(grpc::ByteBuffer* bytes) override {
    const uint64_t place = OpenAck();
    google::protobuf::Arena arena;
    Request& request = *google::protobuf::Arena::CreateMessage<Request>(&arena);
    MessageFaults faults;
    if (const Status status = ParseMessage(bytes, &request, &faults); !status.ok()) {
      Count({.refused = faults.items});
      Answer(place, RefusedBatch(request.sequence(), faults.items, FaultOf(status)));
      return;
    }
    const int items = ItemCount(request);
    Fault fault = CheckItemCount(ItemField(), items);
    if (!fault) fault = CheckMessage(request);
    if (fault) {
      Count({.refused = static_cast<uint64_t>(items)});
      Answer(place, RefusedBatch(request.sequence(), static_cast<size_t>(items), *fault));
      return;
    }
    Batch batch(request.sequence(), static_cast<size_t>(items));
    FillBatch(request, faults.texts, &batch);
    auto self = std::static_pointer_cast<BatchStream>(shared_from_this());
    const bool go_on = std::move(batch).Submit(
        context_.router, [self, place](v1::BatchAck ack, const BatchCounts& counts) {
          self->Count(counts);
          self->Answer(place, std::move(ack));
        });
    if (!go_on) HoldReading();
  }

  void Answer(uint64_t place, v1::BatchAck ack) {
    Response response;
    *response.mutable_ack() = std::move(ack);
    Acknowledge(place, SerialiseMessage(response));
  }
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_BATCH_STREAM_H_
