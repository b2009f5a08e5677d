// Messages with items of several divisions. Each division takes the part with its items, and the
// acknowledgements of the parts are merged into one.
#ifndef FRESHET_SERVER_API_PARTED_ACK_H_
#define FRESHET_SERVER_API_PARTED_ACK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "freshet/v1/types.pb.h"
#include "google/protobuf/repeated_field.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/api/batch.h"
#include "server/api/context.h"
#include "server/api/divisions.h"
#include "server/api/from_proto.h"
#include "server/api/over_divisions.h"
#include "server/api/wire.h"
#include "server/base/countdown.h"
#include "server/engine/router.h"
#include "sync/mutex.h"

namespace freshet {

// The items of a message that belong to one division, by their places in the message, in ascending
// order.
struct Part {
  uint32_t division = 0;
  std::vector<uint32_t> places;
};

// Merges the acknowledgements for the parts of one message. Thread-safe.
class PartedAck {
 public:
  using Done = std::function<void(v1::BatchAck)>;

  // The message has `items` items in `parts` parts. `done` is called on any thread when all parts
  // are acknowledged.
  PartedAck(uint64_t sequence, int items, size_t parts, Done done)
      : left_(parts), done_(std::move(done)) {
    ack_.set_sequence(sequence);
    ack_.set_item_count(static_cast<uint32_t>(items));
  }

  // Takes the acknowledgement of a part. Not OK: the division may or may not have applied the part,
  // and its items are refused with this error.
  void TakePart(const Part& part, const StatusOr<v1::BatchAck>& ack) FRESHET_EXCLUDES(mutex_);

 private:
  void Arrive() FRESHET_EXCLUDES(mutex_);

  Countdown left_;
  const Done done_;
  Mutex mutex_;
  v1::BatchAck ack_ FRESHET_GUARDED_BY(mutex_);
};

// Copies the items at these places of a message.
template <typename Item>
void CopyItems(const google::protobuf::RepeatedPtrField<Item>& items,
               const std::vector<uint32_t>& places,
               google::protobuf::RepeatedPtrField<Item>* part) {
  part->Reserve(static_cast<int>(places.size()));
  for (const uint32_t place : places) *part->Add() = items[static_cast<int>(place)];
}
inline void CopyItems(const google::protobuf::RepeatedField<uint64_t>& items,
                      const std::vector<uint32_t>& places,
                      google::protobuf::RepeatedField<uint64_t>* part) {
  for (const uint32_t place : places) part->Add(items.Get(static_cast<int>(place)));
}
// Removes all items except those at these places.
template <typename Item>
void KeepItems(const std::vector<uint32_t>& places,
               google::protobuf::RepeatedPtrField<Item>* items) {
  int kept = 0;
  for (const uint32_t place : places) items->SwapElements(kept++, static_cast<int>(place));
  items->DeleteSubrange(kept, items->size() - kept);
}
void KeepItems(const std::vector<uint32_t>& places,
               google::protobuf::RepeatedField<uint64_t>* items);
// Removes the faults of removed items, and gives the others their new places.
void KeepFaults(const std::vector<uint32_t>& places, std::vector<TextFault>* faults);

// Reads the acknowledgement from a response of this type. DataLoss: it cannot be parsed.
template <typename Response>
StatusOr<v1::BatchAck> AckIn(const StatusOr<grpc::ByteBuffer>& answer) {
  ASSIGN_OR_RETURN(Response response, ResponseIn<Response>(answer));
  return std::move(*response.mutable_ack());
}

// Sends `message`, which has the items of `part`, and passes the acknowledgement in the answer to
// `all`.
void SendPart(const ServerContext& context, DivisionCall& call,
              const google::protobuf::Message& message, Part part, std::shared_ptr<PartedAck> all,
              StatusOr<v1::BatchAck> (*read)(const StatusOr<grpc::ByteBuffer>&));

// Sends items to servers of other divisions, on behalf of one client's call. `Request` and
// `Response` are the message types of the method. Owner thread only.
template <typename Request, typename Response>
class PartSender {
 public:
  // `streams` = the method takes a stream of messages. Otherwise each part is sent in a separate
  // call.
  PartSender(const ServerContext& context, std::string_view path, bool streams)
      : context_(context), path_(path), streams_(streams) {}

  // Sets the client on whose behalf items are sent. Items that another server has forwarded are not
  // forwarded again.
  void SetClient(const ShownByClient& client) { client_ = client; }

  // Sends the items of other divisions to their servers. `make` makes the message for each part
  // from the places of the items. The items of this division stay in `items`, with their faults.
  // Items that are refused because of their texts, or have no valid host or lease, stay too.
  // Returns a function that must be called once with the acknowledgement of the items that stay,
  // even if none stay. `done` then gets the acknowledgement of all items.
  template <typename Items, typename Make>
  [[nodiscard]] PartedAck::Done SendOthers(uint64_t sequence, Items* items,
                                           std::vector<TextFault>* faults, const Make& make,
                                           PartedAck::Done done) {
    if (!SpansFleet(context_, client_)) return done;
    const SlotDivision own = context_.router.division();
    std::map<uint32_t, Part> parts;
    Part& stays = parts[own.division];
    for (int i = 0; i < items->size(); ++i) {
      std::optional<Slot> slot;
      if (!HasRefusedText(*faults, i)) slot = SlotOf(items->Get(i));
      const uint32_t division = slot ? own.Of(*slot) : own.division;
      parts[division].places.push_back(static_cast<uint32_t>(i));
    }
    if (parts.size() == 1) return done;
    const auto all =
        std::make_shared<PartedAck>(sequence, items->size(), parts.size(), std::move(done));
    for (auto& [division, part] : parts) {
      part.division = division;
      if (division == own.division) continue;
      Request message;
      make(part.places, &message);
      SendPart(context_, CallTo(division), message, std::move(part), all, AckIn<Response>);
    }
    KeepItems(stays.places, items);
    KeepFaults(stays.places, faults);
    return [all, part = std::move(stays)](const v1::BatchAck& ack) { all->TakePart(part, ack); };
  }

 private:
  DivisionCall& CallTo(uint32_t division) {
    std::unique_ptr<DivisionCall>& call = calls_[division];
    if (call == nullptr || !streams_) call = context_.divisions->Open(division, path_, client_);
    return *call;
  }

  const ServerContext& context_;
  const std::string_view path_;
  const bool streams_;
  ShownByClient client_;
  std::map<uint32_t, std::unique_ptr<DivisionCall>> calls_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_PARTED_ACK_H_
