#include "server/api/parted_ack.h"

#include <algorithm>
#include <utility>

#include "server/api/faults.h"

namespace freshet {

void PartedAck::TakeOwn(v1::BatchAck ack) {
  {
    const MutexLock lock(mutex_);
    ack.mutable_statuses()->MergeFrom(ack_.statuses());
    ack_ = std::move(ack);
  }
  Arrive();
}

void PartedAck::TakePart(const Batch::Part& part, const StatusOr<v1::BatchAck>& ack) {
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
  // A batch has those of its own in order.
  if (parted_) {
    std::sort(ack.mutable_statuses()->begin(), ack.mutable_statuses()->end(),
              [](const auto& a, const auto& b) { return a.index() < b.index(); });
    ShortenTexts(&ack);
  }
  done_(std::move(ack));
}

}  // namespace freshet
