// Streams on which every message is a batch of items and gets one acknowledgement.
#ifndef FRESHET_SERVER_API_BATCH_STREAM_H_
#define FRESHET_SERVER_API_BATCH_STREAM_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "google/protobuf/arena.h"
#include "server/api/batch.h"
#include "server/api/caller_stream.h"
#include "server/api/context.h"
#include "server/api/message_trace.h"
#include "server/api/parted_ack.h"
#include "server/api/unary.h"
#include "server/api/wire.h"
#include "server/config.h"
#include "server/engine/router.h"

namespace freshet {

// A stream of one method. `Items` converts the messages. Each stream has one Items object, and
// calls all its functions except Count on one thread at a time. `Items` has these members:
//   using Request, Response                     of the method
//   explicit Items(const ServerContext&)
//   static constexpr std::string_view kPath     the path of its MethodRule
//   static constexpr const char* kField         the name of the field with the items
//   static auto* Of(Request*)                   the items, a repeated field
//   static Status Check(const Request&)         optional: refuses a message as a whole
//   Batch Convert(const Request&, const std::vector<TextFault>&, const Caller&)
//                                               converts all items; they belong to this server
//   static void CopyPart(const Request&, const std::vector<uint32_t>& places, Request* part)
//                                               copies the message with the items at these places
//   void Count(const BatchCounts&)              counts the outcomes of items; thread-safe
//   Duration PayForSources(Batch&, Instant)     optional: how long reading pauses for sources
//
// Thread-safe.
template <typename Items>
class BatchStream final : public CallerStream {
 public:
  using Request = typename Items::Request;
  using Response = typename Items::Response;

  BatchStream(const ServerContext& context, grpc::CallbackServerContext& call,
              std::string request_id)
      : CallerStream(context, Items::kPath, call),
        items_(context),
        request_id_(std::move(request_id)),
        others_(context, Items::kPath, /*streams=*/true) {
    if (context.divisions != nullptr) others_.SetClient(ShownBy(call));
  }

 private:
  void OnMessage(grpc::ByteBuffer* bytes) override {
    const auto trace = context_.tracer.Sample(Items::kPath, request_id_);
    google::protobuf::Arena arena;
    Request& request = *google::protobuf::Arena::CreateMessage<Request>(&arena);
    MessageFaults faults;
    if (const Status status = ParseMessage(bytes, &request, &faults, MostBytes(context_));
        !status.ok()) {
      ChargeForRefused();
      return Refuse(OpenAck(), request, faults.items, status);
    }
    const int size = Items::Of(&request)->size();
    Status fault = CheckItemCount(Items::kField, size, context_.config);
    if constexpr (requires { Items::Check(request); }) {
      if (fault.ok()) fault = Items::Check(request);
    }
    if (!fault.ok()) {
      ChargeForRefused();
      return Refuse(OpenAck(), request, static_cast<size_t>(size), fault);
    }
    const uint64_t place = OpenAck(AckBytes(static_cast<size_t>(size)));
    const StatusOr<const Caller*> caller = GetCaller();
    if (!caller.ok()) return Refuse(place, request, static_cast<size_t>(size), caller.status());
    auto self = std::static_pointer_cast<BatchStream>(shared_from_this());
    const PartedAck::Done acked = others_.SendOthers(
        request.sequence(), Items::Of(&request), &faults.texts,
        [&request](const std::vector<uint32_t>& places, Request* part) {
          Items::CopyPart(request, places, part);
        },
        [self, place](v1::BatchAck ack) { self->Answer(place, std::move(ack)); });
    if (Items::Of(&request)->empty()) {
      Charge(**caller, static_cast<uint64_t>(size));
      return acked({});
    }
    Batch batch = items_.Convert(request, faults.texts, **caller);
    Duration source_pause;
    if constexpr (requires { items_.PayForSources(batch, Instant()); }) {
      source_pause = items_.PayForSources(batch, context_.clock.Now());
    }
    Charge(**caller, static_cast<uint64_t>(size), source_pause);
    batch.SetTrace(trace);
    const auto done = [self, acked, trace](v1::BatchAck ack, const BatchCounts& counts) {
      const uint64_t sequence = ack.sequence();
      self->items_.Count(counts);
      acked(std::move(ack));
      if (trace != nullptr) trace->Finish(sequence, counts);
    };
    const bool go_on = std::move(batch).Submit(context_.router, done);
    if (!go_on) HoldReading();
  }

  void Refuse(uint64_t place, const Request& request, size_t items, const Status& why) {
    items_.Count({.refused = items});
    Answer(place, RefusedBatch(request.sequence(), items, why));
  }

  void Answer(uint64_t place, v1::BatchAck ack) {
    Response response;
    *response.mutable_ack() = std::move(ack);
    Acknowledge(place, SerialiseMessage(response));
  }

  Items items_;
  const std::string request_id_;
  PartSender<Request, Response> others_;  // used in OnMessage
};

// Starts a stream for the call.
template <typename Items>
Reactor* StartBatchStream(const ServerContext& context, ServerCall* call) {
  std::string id = NoteStream(Items::kPath, context, *call);
  const auto stream = std::make_shared<BatchStream<Items>>(context, *call, std::move(id));
  stream->Begin(&context.streams);
  return stream.get();
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_BATCH_STREAM_H_
