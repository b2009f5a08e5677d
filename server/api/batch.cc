#include "server/api/batch.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "server/api/faults.h"
#include "server/api/to_proto.h"
#include "server/base/limits.h"
#include "server/config.h"

namespace freshet {

namespace {

// The page of an event; nullptr = no page to check against the caller's limits.
const PageKey* PageOf(const Event& event) {
  if (const auto* upsert = std::get_if<UpsertPage>(&event)) return &upsert->key;
  if (const auto* remove = std::get_if<RemovePage>(&event)) return &remove->key;
  if (const auto* recheck = std::get_if<RecheckPage>(&event)) return &recheck->key;
  if (const auto* signal = std::get_if<SignalChange>(&event)) return &signal->key;
  if (const auto* report = std::get_if<ReportCrawl>(&event)) {
    // If a result names no page, the shard checks the page of its lease instead.
    return report->key ? &*report->key : report->as_sent ? &*report->as_sent : nullptr;
  }
  return nullptr;
}

// Checks an item against the limits of a caller with an identity.
Status CheckItem(const Caller& caller, RoutedEvent& item) {
  if (auto* report = std::get_if<ReportCrawl>(&item.event)) {
    report->allowed = caller.crawl_ids();
    report->reporter = caller.name();
  }
  if (auto* lease = std::get_if<ReturnLease>(&item.event)) {
    lease->allowed = caller.crawl_ids();
    lease->reporter = caller.name();
  }
  const PageKey* page = caller.limited() ? PageOf(item.event) : nullptr;
  if (page == nullptr) return absl::OkStatus();
  return caller.CheckPage(page->crawl_id, HostOfCanonical(page->url));
}

}  // namespace

Batch::Batch(uint64_t sequence, int items) {
  CHECK(items > 0 && items <= limits::kMaxItemsPerMessage, "{} items", items);
  ack_.set_sequence(sequence);
  ack_.set_item_count(static_cast<uint32_t>(items));
  events_.reserve(static_cast<size_t>(items));
  places_.reserve(static_cast<size_t>(items));
}

void Batch::Add(int index, StatusOr<RoutedEvent> item) {
  CHECK(index == added_ && index < static_cast<int>(ack_.item_count()), "item {} after {} of {}",
        index, added_, ack_.item_count());
  ++added_;
  if (caller_ != nullptr && item.ok()) {
    if (auto* upsert = std::get_if<UpsertPage>(&item->event)) upsert->claim = caller_->claim();
  }
  if (caller_ != nullptr && caller_->identity() != nullptr && item.ok()) {
    if (Status allowed = CheckItem(*caller_, *item); !allowed.ok()) item = std::move(allowed);
  }
  const auto place = static_cast<uint32_t>(index);
  if (!item.ok()) {
    v1::ItemStatus* status = ack_.add_statuses();
    status->set_index(place);
    status->set_outcome(v1::ITEM_OUTCOME_REFUSED);
    *status->mutable_error() = FaultOf(item.status());
    return;
  }
  for (std::string& note : item->notes) notes_.emplace_back(events_.size(), std::move(note));
  item->notes.clear();
  places_.push_back(place);
  events_.push_back(*std::move(item));
}

bool Batch::Submit(Router& router, Done done) && {
  CHECK(added_ == static_cast<int>(ack_.item_count()), "{} of {} items", added_, ack_.item_count());
  CHECK(events_.size() == places_.size(), "{} events of {} items", events_.size(), places_.size());
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
  const auto settle = [rest](std::vector<Reply> replies) {
    CHECK(replies.size() == rest->places.size());
    auto& statuses = *rest->ack.mutable_statuses();
    // The notes of the conversion come before those of the shard.
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
    ShortenTexts(&rest->ack);
    BatchCounts counts;
    counts.refused = static_cast<uint64_t>(std::count_if(
        statuses.begin(), statuses.end(),
        [](const v1::ItemStatus& status) { return status.outcome() == v1::ITEM_OUTCOME_REFUSED; }));
    counts.unrefused = rest->ack.item_count() - counts.refused;
    rest->done(std::move(rest->ack), counts);
  };
  return router.Submit(std::move(events_), settle, trace_, client_);
}

void ShortenTexts(v1::BatchAck* ack) {
  constexpr std::string_view kLeftOut = "...";
  size_t left = kMaxTextBytesPerAck;
  const auto fits = [&left](const std::string& text) {
    if (text.size() > left) return false;
    left -= text.size();
    return true;
  };
  for (v1::ItemStatus& status : *ack->mutable_statuses()) {
    if (status.has_error() && !fits(status.error().reason())) {
      status.mutable_error()->set_reason(std::string(kLeftOut));
    }
    const auto& notes = status.notes();
    if (std::all_of(notes.begin(), notes.end(), fits)) continue;
    status.clear_notes();
    status.add_notes(std::string(kLeftOut));
  }
}

v1::BatchAck RefusedBatch(uint64_t sequence, size_t items, const Status& why) {
  v1::BatchAck ack;
  ack.set_sequence(sequence);
  ack.set_item_count(static_cast<uint32_t>(items));
  *ack.mutable_error() = FaultOf(why);
  return ack;
}

Status CheckItemCount(std::string_view field, int items, const PortConfig& config) {
  if (items == 0) return InvalidArgument("{}: is empty", field);
  if (items > config.max_message_items) {
    return InvalidArgument("{}: {} items, at most {} are allowed in a message", field, items,
                           config.max_message_items.get());
  }
  return absl::OkStatus();
}

Status CheckUrlSize(std::string_view url, const PortConfig& config) {
  const auto most = static_cast<size_t>(config.max_url_bytes);
  // Canonicalise checks kMaxUrlBytes, the limit for all URLs.
  if (url.size() <= most || most == limits::kMaxUrlBytes) return absl::OkStatus();
  return InvalidArgument("url: has {} bytes, at most {} are allowed here", url.size(),
                         config.max_url_bytes.get());
}

const TextFault* FindTextFault(const std::vector<TextFault>& faults, int item) {
  const auto it =
      std::lower_bound(faults.begin(), faults.end(), item,
                       [](const TextFault& fault, int wanted) { return fault.item < wanted; });
  return it == faults.end() || it->item != item ? nullptr : &*it;
}

bool HasRefusedText(const std::vector<TextFault>& faults, int item) {
  return std::any_of(faults.begin(), faults.end(), [item](const TextFault& fault) {
    return fault.item == item && fault.field != "etag" && fault.field != "moved_to";
  });
}

Status CheckTexts(const std::vector<TextFault>& faults, int item) {
  const TextFault* fault = FindTextFault(faults, item);
  return fault == nullptr ? absl::OkStatus() : StatusOf(*fault);
}

}  // namespace freshet
