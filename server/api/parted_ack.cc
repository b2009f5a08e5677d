#include "server/api/parted_ack.h"

#include <algorithm>
#include <utility>

#include "server/api/faults.h"

namespace freshet {

void PartedAck::TakePart(const Part& part, const StatusOr<v1::BatchAck>& ack) {
  {
    const MutexLock lock(mutex_);
    if (!ack.ok() || ack->has_error()) {
      const v1::ItemError error = ack.ok() ? ack->error() : FaultOf(ack.status());
      for (const uint32_t place : part.places) {
        v1::ItemStatus* status = ack_.add_statuses();
        status->set_index(place);
        status->set_outcome(v1::ITEM_OUTCOME_REFUSED);
        *status->mutable_error() = error;
      }
    } else {
      for (const v1::ItemStatus& its : ack->statuses()) {
        if (its.index() >= part.places.size()) continue;
        v1::ItemStatus* status = ack_.add_statuses();
        *status = its;
        status->set_index(part.places[its.index()]);
      }
    }
  }
  Arrive();
}

void PartedAck::Arrive() {
  if (!left_.Arrive()) return;
  v1::BatchAck ack;
  {
    const MutexLock lock(mutex_);
    ack = std::move(ack_);
  }
  std::sort(ack.mutable_statuses()->begin(), ack.mutable_statuses()->end(),
            [](const auto& a, const auto& b) { return a.index() < b.index(); });
  ShortenTexts(&ack);
  done_(std::move(ack));
}

void SendPart(const ServerContext& context, DivisionCall& call,
              const google::protobuf::Message& message, Part part, std::shared_ptr<PartedAck> all,
              StatusOr<v1::BatchAck> (*read)(const StatusOr<grpc::ByteBuffer>&)) {
  context.counters.sent_on += part.places.size();
  call.Send(SerialiseMessage(message), [&context, part = std::move(part), all = std::move(all),
                                        read](const StatusOr<grpc::ByteBuffer>& answer) {
    if (!answer.ok()) context.counters.sent_on_unanswered += part.places.size();
    all->TakePart(part, read(answer));
  });
}

void KeepItems(const std::vector<uint32_t>& places,
               google::protobuf::RepeatedField<uint64_t>* items) {
  int kept = 0;
  for (const uint32_t place : places) items->Set(kept++, items->Get(static_cast<int>(place)));
  items->Truncate(kept);
}

void KeepFaults(const std::vector<uint32_t>& places, std::vector<TextFault>* faults) {
  std::erase_if(*faults, [&places](TextFault& fault) {
    const auto it =
        std::lower_bound(places.begin(), places.end(), static_cast<uint32_t>(fault.item));
    if (it == places.end() || static_cast<int>(*it) != fault.item) return true;
    fault.item = static_cast<int>(it - places.begin());
    return false;
  });
}

}  // namespace freshet
