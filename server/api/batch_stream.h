// Streams on which every message is a batch of items and gets one acknowledgement.
#ifndef FRESHET_SERVER_API_BATCH_STREAM_H_
#define FRESHET_SERVER_API_BATCH_STREAM_H_

#include <map>
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

// `Items` is what a method makes of its messages. There is one for each stream, used by one thread
// at a time but for Count:
//   using Request, Response                     of the method
//   explicit Items(const ServerContext&)
//   static constexpr std::string_view kPath     that of its MethodRule
//   static constexpr const char* kField         the name of the items of a message
//   static int Size(const Request&)             their number
//   StatusOr<Batch> Convert(const Request&, const std::vector<TextFault>&, const Caller&)
//                                               all items, or why the whole message is refused
//   static void CopyPart(const Request&, const std::vector<uint32_t>& places, Request* part)
//                                               the message with the items at these places
//   void Count(const BatchCounts&)              what became of items
//   Duration PayForSources(Batch&, Instant)     if items have sources: how long to read no further
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
        request_id_(std::move(request_id)) {
    if (context.divisions != nullptr) client_ = ShownBy(call);
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
    const int size = Items::Size(request);
    if (const Status status = CheckItemCount(Items::kField, size, context_.config); !status.ok()) {
      ChargeForRefused();
      return Refuse(OpenAck(), request, static_cast<size_t>(size), status);
    }
    const uint64_t place = OpenAck(AckBytes(static_cast<size_t>(size)));
    const StatusOr<const Caller*> caller = GetCaller();
    if (!caller.ok()) return Refuse(place, request, static_cast<size_t>(size), caller.status());
    StatusOr<Batch> batch = items_.Convert(request, faults.texts, **caller);
    std::vector<Batch::Part> parts;
    if (batch.ok() && context_.divisions != nullptr && !client_.sent_on) {
      parts = batch->TakeOthers(context_.router.division());
    }
    Duration source_pause;
    if constexpr (requires { items_.PayForSources(*batch, Instant()); }) {
      if (batch.ok()) source_pause = items_.PayForSources(*batch, context_.clock.Now());
    }
    Charge(**caller, static_cast<uint64_t>(size), source_pause);
    if (!batch.ok()) return Refuse(place, request, static_cast<size_t>(size), batch.status());
    batch->SetTrace(trace);
    auto self = std::static_pointer_cast<BatchStream>(shared_from_this());
    const auto all = std::make_shared<PartedAck>(
        parts.size(), [self, place](v1::BatchAck ack) { self->Answer(place, std::move(ack)); });
    for (Batch::Part& part : parts) SendOn(request, std::move(part), all);
    const auto done = [self, all, trace](v1::BatchAck ack, const BatchCounts& counts) {
      const uint64_t sequence = ack.sequence();
      self->items_.Count(counts);
      all->TakeOwn(std::move(ack));
      if (trace != nullptr) trace->Finish(sequence, counts);
    };
    const bool go_on = (*std::move(batch)).Submit(context_.router, done);
    if (!go_on) HoldReading();
  }

  void SendOn(const Request& request, Batch::Part part, std::shared_ptr<PartedAck> all) {
    std::unique_ptr<DivisionCall>& call = calls_[part.division];
    if (call == nullptr) call = context_.divisions->Open(part.division, Items::kPath, client_);
    Request message;
    Items::CopyPart(request, part.places, &message);
    SendPart<Response>(context_, *call, message, std::move(part), std::move(all));
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
  ShownByClient client_;  // where there are other divisions
  // One for each that had items. Touched in OnMessage.
  std::map<uint32_t, std::unique_ptr<DivisionCall>> calls_;
};

// A stream of the call.
template <typename Items>
Reactor* StartBatchStream(const ServerContext& context, ServerCall* call) {
  std::string id = NoteStream(Items::kPath, context, *call);
  const auto stream = std::make_shared<BatchStream<Items>>(context, *call, std::move(id));
  stream->Begin(&context.streams);
  return stream.get();
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_BATCH_STREAM_H_
