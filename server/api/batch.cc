#include "server/api/batch.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/limits.h"

namespace freshet {

Batch::Batch(uint64_t sequence, size_t items) {
  ack_.set_sequence(sequence);
  ack_.set_item_count(static_cast<uint32_t>(items));
  events_.reserve(items);
  places_.reserve(items);
}

void Batch::Add(size_t index, RoutedEvent event) {
  places_.push_back(static_cast<uint32_t>(index));
  for (std::string& note : event.notes) notes_.emplace_back(events_.size(), std::move(note));
  event.notes.clear();
  events_.push_back(std::move(event));
}

void Batch::Refuse(size_t index, v1::ItemError fault) {
  v1::ItemStatus* status = ack_.add_statuses();
  status->set_index(static_cast<uint32_t>(index));
  status->set_outcome(v1::ITEM_OUTCOME_REFUSED);
  *status->mutable_error() = std::move(fault);
}

void Batch::Convert(size_t index, const std::function<Fault(RoutedEvent*)>& convert) {
  RoutedEvent event;
  if (Fault fault = convert(&event)) {
    Refuse(index, *std::move(fault));
  } else {
    Add(index, std::move(event));
  }
}

bool Batch::Submit(Router& router, Done done) && {
  struct Rest {
    v1::BatchAck ack;
    std::vector<uint32_t> places;
    std::vector<std::pair<size_t, std::string>> notes;
    std::function<void(Reply*)> review;
    Done done;
  };
  auto rest = std::make_shared<Rest>(Rest{.ack = std::move(ack_),
                                          .places = std::move(places_),
                                          .notes = std::move(notes_),
                                          .review = std::move(review_),
                                          .done = std::move(done)});
  return router.Submit(std::move(events_), [rest](std::vector<Reply> replies) {
    CHECK(replies.size() == rest->places.size());
    auto& statuses = *rest->ack.mutable_statuses();
    // Those of the conversion come first.
    for (auto it = rest->notes.rbegin(); it != rest->notes.rend(); ++it) {
      std::vector<std::string>& notes = replies[it->first].notes;
      notes.insert(notes.begin(), std::move(it->second));
    }
    for (size_t i = 0; i < replies.size(); ++i) {
      if (rest->review) rest->review(&replies[i]);
      if (auto status = ToProto(replies[i], rest->places[i])) *statuses.Add() = *std::move(status);
    }
    std::sort(statuses.begin(), statuses.end(),
              [](const auto& a, const auto& b) { return a.index() < b.index(); });
    BatchCounts counts;
    counts.refused = static_cast<uint64_t>(std::count_if(
        statuses.begin(), statuses.end(),
        [](const v1::ItemStatus& status) { return status.outcome() == v1::ITEM_OUTCOME_REFUSED; }));
    counts.unrefused = rest->ack.item_count() - counts.refused;
    rest->done(std::move(rest->ack), counts);
  });
}

v1::BatchAck RefusedBatch(uint64_t sequence, size_t items, v1::ItemError fault) {
  v1::BatchAck ack;
  ack.set_sequence(sequence);
  ack.set_item_count(static_cast<uint32_t>(items));
  *ack.mutable_error() = std::move(fault);
  return ack;
}

Fault CheckItemCount(std::string_view field, int items) {
  if (items == 0) return MakeFault(v1::ERROR_CODE_INVALID_ARGUMENT, field, "is empty");
  if (items > limits::kMaxItemsPerMessage) {
    return MakeFault(v1::ERROR_CODE_INVALID_ARGUMENT, field,
                     fmt::format("{} items, at most {} are allowed in a message", items,
                                 limits::kMaxItemsPerMessage));
  }
  return std::nullopt;
}

const TextFault* FindTextFault(const std::vector<TextFault>& faults, size_t item) {
  const auto place = static_cast<int>(item);
  const auto it =
      std::lower_bound(faults.begin(), faults.end(), place,
                       [](const TextFault& fault, int wanted) { return fault.item < wanted; });
  return it == faults.end() || it->item != place ? nullptr : &*it;
}

v1::ItemError FaultOf(const TextFault& fault) {
  return MakeFault(v1::ERROR_CODE_INVALID_ARGUMENT, fault.field, "is not valid UTF-8");
}

}  // namespace freshet
