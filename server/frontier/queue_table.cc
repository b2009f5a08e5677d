#include "server/frontier/queue_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/base/check.h"

namespace freshet {
namespace {

uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  return b > QueueTable::kNever - a ? QueueTable::kNever : a + b;
}

// Debian's Abseil has a class of its own for views.
absl::string_view Key(std::string_view text) { return {text.data(), text.size()}; }

// A queue takes the same room in memory however long its URLs are.
void Shorten(std::optional<FrontierDue>* head) {
  constexpr size_t kUrlBytes = 64;
  if (!*head || (*head)->url.size() <= kUrlBytes) return;
  *head = FrontierDue{.due = (*head)->due, .url = (*head)->url.substr(0, kUrlBytes)};
}

// Adds a signed number to one that must not become negative.
void Add(int64_t change, uint64_t* value) {
  CHECK(change >= 0 || *value >= static_cast<uint64_t>(-change), "{} of {}", change, *value);
  *value += static_cast<uint64_t>(change);
}

void Shift(const FrontierCounts& from, const FrontierCounts& to, FrontierCounts* sum) {
  sum->active += to.active - from.active;
  sum->completed += to.completed - from.completed;
  sum->in_flight += to.in_flight - from.in_flight;
  sum->flight_places += to.flight_places - from.flight_places;
  sum->queues += to.queues - from.queues;
  sum->active_queues += to.active_queues - from.active_queues;
  sum->kept_queues += to.kept_queues - from.kept_queues;
}

}  // namespace

// --- Looking up

FrontierCrawl* QueueTable::FindCrawl(std::string_view name) const {
  const auto it = by_name_.find(Key(name));
  return it == by_name_.end() ? nullptr : it->second;
}

FrontierQueue* QueueTable::Find(std::string_view crawl, std::string_view key) const {
  const FrontierCrawl* found = FindCrawl(crawl);
  if (found == nullptr) return nullptr;
  const auto it = found->queues.find(key);
  return it == found->queues.end() ? nullptr : it->second.get();
}

FrontierQueue* QueueTable::Find(FrontierQueueId id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->second;
}

FrontierOwner QueueTable::OwnerOf(uint64_t client) const {
  const auto it = owners_.find(client);
  return it == owners_.end() ? FrontierOwner{.client = client, .counts = {}} : *it->second;
}

// --- Queues

void QueueTable::Own(FrontierCrawl& crawl) {
  const uint64_t client =
      crawl.claim.client != 0 ? crawl.claim.client : ClientNumber("crawl " + crawl.name);
  auto& owner = owners_[client];
  if (owner == nullptr) {
    owner = std::make_shared<FrontierOwner>(FrontierOwner{.client = client, .counts = {}});
  }
  ++owner->crawls;
  Shift({}, crawl.counts, &owner->counts);
  crawl.owner = owner;
}

void QueueTable::Disown(FrontierCrawl& crawl) {
  Shift(crawl.counts, {}, &crawl.owner->counts);
  if (--crawl.owner->crawls == 0) owners_.erase(crawl.owner->client);
  crawl.owner = nullptr;
}

void QueueTable::ClaimCrawl(FrontierCrawl& crawl, const Claim& claim) {
  const bool free = crawl.claim.client == 0 || (claim.named && !crawl.claim.named);
  if (!free || claim.client == 0) return;
  Disown(crawl);
  crawl.claim = claim;
  Own(crawl);
}

FrontierCrawl& QueueTable::AddCrawl(uint32_t number, std::string_view name, const Claim& claim) {
  CHECK(FindCrawl(name) == nullptr, "crawl id '{}' is there", name);
  if (number == 0) number = next_crawl_;
  next_crawl_ = std::max(next_crawl_, number + 1);
  auto& crawl = crawls_[number];
  CHECK(crawl == nullptr, "number {} is taken", number);
  crawl = std::make_unique<FrontierCrawl>();
  crawl->number = number;
  crawl->name = std::string(name);
  crawl->claim = claim;
  by_name_[crawl->name] = crawl.get();
  Own(*crawl);
  Note(CrawlCame{.crawl = crawl.get()});
  return *crawl;
}

FrontierQueue& QueueTable::AddQueue(FrontierCrawl& crawl, FrontierQueueRecord record,
                                    uint32_t number) {
  Save(crawl);
  if (number == 0) number = crawl.next_queue;
  crawl.next_queue = std::max(crawl.next_queue, number + 1);
  auto& queue = crawl.queues[record.key];
  CHECK(queue == nullptr, "queue '{}' is there", record.key);
  queue = std::make_unique<FrontierQueue>();
  queue->id = {.crawl = crawl.number, .queue = number};
  queue->crawl = &crawl;
  const auto active = static_cast<int64_t>(std::exchange(record.active, 0));
  const auto completed = static_cast<int64_t>(std::exchange(record.completed, 0));
  queue->record = std::move(record);
  Shorten(&queue->record.head);
  by_id_[queue->id] = queue.get();
  Note(QueueCame{.queue = queue.get()});
  ++crawl.counts.kept_queues;
  ++crawl.owner->counts.kept_queues;
  ++counts_.kept_queues;
  Count(*queue, active, completed);
  return *queue;
}

void QueueTable::Remove(FrontierQueue& queue) {
  while (!queue.flights.empty()) {
    const std::string url = queue.flights.begin()->first;
    RemoveFlight(queue, url);
  }
  Count(queue, -static_cast<int64_t>(queue.record.active),
        -static_cast<int64_t>(queue.record.completed));
  Unfile(queue);
  by_id_.erase(queue.id);
  FrontierCrawl& crawl = *queue.crawl;
  --crawl.counts.kept_queues;
  --crawl.owner->counts.kept_queues;
  --counts_.kept_queues;
  const auto it = crawl.queues.find(queue.record.key);
  Note(QueueWent{.queue = std::move(it->second)});
  crawl.queues.erase(it);
}

void QueueTable::RemoveCrawl(FrontierCrawl& crawl) {
  for (const auto& [key, queue] : crawl.queues) {
    for (const auto& [url, flight] : queue->flights) {
      expiries_.erase({flight.lease.until, flight.serial});
    }
    by_id_.erase(queue->id);
  }
  Shift(crawl.counts, {}, &counts_);
  Disown(crawl);
  turns_.Remove(crawl);
  by_name_.erase(crawl.name);
  auto node = crawls_.extract(crawl.number);
  Note(CrawlWent{.crawl = std::move(node.mapped())});
}

// --- Changes of a queue

FrontierQueueRecord& QueueTable::Edit(FrontierQueue& queue) {
  Save(queue);
  return queue.record;
}

void QueueTable::Count(FrontierQueue& queue, int64_t active, int64_t completed) {
  Save(queue);
  const bool had_urls = queue.has_urls();
  const bool was_active = queue.record.active > 0;
  Add(active, &queue.record.active);
  Add(completed, &queue.record.completed);
  // Nothing waits: only the store says what comes after a head that has gone.
  if (queue.record.active <= queue.flights.size()) queue.record.head = std::nullopt;
  const int64_t queues = int64_t{queue.has_urls()} - int64_t{had_urls};
  const int64_t active_queues = int64_t{queue.record.active > 0} - int64_t{was_active};
  for (FrontierCounts* counts : {&queue.crawl->counts, &queue.crawl->owner->counts, &counts_}) {
    Add(active, &counts->active);
    Add(completed, &counts->completed);
    Add(queues, &counts->queues);
    Add(active_queues, &counts->active_queues);
  }
}

void QueueTable::AddDue(FrontierQueue& queue, const FrontierDue& due) {
  if (queue.record.head && *queue.record.head <= due) return;
  Save(queue);
  queue.record.head = due;
}

void QueueTable::SetHead(FrontierQueue& queue, std::optional<FrontierDue> head) {
  Save(queue);
  queue.record.head = std::move(head);
}

uint64_t QueueTable::AddFlight(FrontierQueue& queue, const std::string& url,
                               const FrontierLease& lease, uint64_t taker) {
  Save(queue);
  const FrontierFlight flight = {.lease = lease, .serial = next_serial_++, .taker = taker};
  Link(queue, url, flight);
  Note(FlightCame{.queue = &queue, .url = url});
  CountFlight(queue, url.size(), 1, &counts_);
  return flight.serial;
}

void QueueTable::CountFlight(FrontierQueue& queue, size_t url_bytes, int64_t change,
                             FrontierCounts* all) {
  const int64_t places = change * static_cast<int64_t>(PlacesOfFlight(url_bytes));
  for (FrontierCounts* counts : {&queue.crawl->counts, &queue.crawl->owner->counts, all}) {
    Add(change, &counts->in_flight);
    Add(places, &counts->flight_places);
  }
}

void QueueTable::Link(FrontierQueue& queue, const std::string& url, const FrontierFlight& flight) {
  const auto [it, added] = queue.flights.try_emplace(url, flight);
  CHECK(added, "{} is in flight", url);
  expiries_[{flight.lease.until, flight.serial}] = {.queue = &queue, .url = &it->first};
  if (flight.taker != 0) takers_.Take(flight.taker);
}

void QueueTable::Unlink(FrontierQueue& queue, std::string_view url) {
  const auto it = queue.flights.find(Key(url));
  const FrontierFlight& flight = it->second;
  expiries_.erase({flight.lease.until, flight.serial});
  if (flight.taker != 0) takers_.Give(flight.taker);
  queue.flights.erase(it);
}

void QueueTable::CountResult(uint64_t taker, bool answered) {
  if (taker == 0) return;
  answered ? takers_.Answered(taker) : takers_.Expired(taker);
}

void QueueTable::RemoveFlight(FrontierQueue& queue, std::string_view url) {
  const auto it = queue.flights.find(Key(url));
  CHECK(it != queue.flights.end(), "{} is not in flight", url);
  Save(queue);
  Note(FlightWent{.queue = &queue, .url = it->first, .flight = it->second});
  CountFlight(queue, url.size(), -1, &counts_);
  Unlink(queue, url);
}

void QueueTable::SetFlightDue(FrontierQueue& queue, const std::string& url, uint64_t due) {
  FrontierFlight flight = queue.flights.find(url)->second;
  Note(FlightWent{.queue = &queue, .url = url, .flight = flight});
  Unlink(queue, url);
  flight.lease.due = due;
  Link(queue, url, flight);
  Note(FlightCame{.queue = &queue, .url = url});
}

void QueueTable::Unfile(FrontierQueue& queue) {
  FrontierCrawl& crawl = *queue.crawl;
  if (queue.place == FrontierQueue::Place::kWaiting) {
    crawl.waiting.erase({queue.filed_at, queue.id.queue});
  } else if (queue.place == FrontierQueue::Place::kReady) {
    const auto bucket = crawl.ready.find(queue.filed_flights);
    bucket->second.erase(queue.filed_at);
    if (bucket->second.empty()) crawl.ready.erase(bucket);
  }
  queue.place = FrontierQueue::Place::kNowhere;
  turns_.File(crawl);
}

void QueueTable::Place(FrontierQueue& queue, FrontierQueue::Place place, uint64_t at,
                       uint32_t flights) {
  queue.place = place;
  queue.filed_at = at;
  queue.filed_flights = flights;
  if (place == FrontierQueue::Place::kWaiting) {
    queue.crawl->waiting[{at, queue.id.queue}] = &queue;
  } else if (place == FrontierQueue::Place::kReady) {
    queue.crawl->ready[flights][at] = &queue;
  }
  turns_.File(*queue.crawl);
}

void QueueTable::File(FrontierQueue& queue, uint64_t now) {
  Save(queue);
  Move(queue, now);
}

void QueueTable::Move(FrontierQueue& queue, uint64_t now) {
  using enum FrontierQueue::Place;
  const uint64_t from = ServesFrom(queue);
  const auto flights = static_cast<uint32_t>(queue.flights.size());
  if (from <= now && queue.place == kReady) {
    // It keeps its turn.
    if (flights == queue.filed_flights) return;
    const uint64_t turn = queue.filed_at;
    Unfile(queue);
    return Place(queue, kReady, turn, flights);
  }
  if (queue.place == kWaiting && queue.filed_at == from) return;
  Unfile(queue);
  if (from != kNever) Place(queue, kWaiting, from, queue.filed_flights);
}

void QueueTable::SetDefaultDelay(uint32_t seconds, uint64_t now) {
  if (std::exchange(default_delay_, seconds) == seconds) return;
  CHECK(saved_queues_.empty(), "what was changed before is kept or undone first");
  for (const auto& [id, queue] : by_id_) {
    if (!queue->record.longest_delay()) Move(*queue, now);
  }
}

// --- Taking back

void QueueTable::Save(FrontierQueue& queue) {
  Save(*queue.crawl);
  if (!journals_ || std::exchange(queue.saved, true)) return;
  const FrontierQueueRecord& record = queue.record;
  saved_queues_.push_back({.queue = &queue,
                           .record = {.key = {},
                                      .active = record.active,
                                      .completed = record.completed,
                                      .head = record.head,
                                      .delay = record.delay,
                                      .blocked_until = record.blocked_until,
                                      .limit = record.limit,
                                      .last_served = record.last_served,
                                      .asked_delay = record.asked_delay,
                                      .asked_until = record.asked_until},
                           .place = queue.place,
                           .filed_at = queue.filed_at,
                           .filed_flights = queue.filed_flights});
}

void QueueTable::Save(FrontierCrawl& crawl) {
  if (!journals_ || std::exchange(crawl.saved, true)) return;
  saved_crawls_.push_back(
      {.crawl = &crawl, .next_queue = crawl.next_queue, .counts = crawl.counts});
}

void QueueTable::Note(Step step) {
  if (journals_) steps_.push_back(std::move(step));
}

void QueueTable::Keep() {
  for (const SavedQueue& saved : saved_queues_) {
    saved.queue->saved = false;
    // Not before: until they are committed, URLs before it that were given out would be found
    // again.
    Shorten(&saved.queue->record.head);
  }
  for (const SavedCrawl& saved : saved_crawls_) saved.crawl->saved = false;
  saved_queues_.clear();
  saved_crawls_.clear();
  steps_.clear();
  kept_counts_ = counts_;
  kept_next_crawl_ = next_crawl_;
  journals_ = true;
}

void QueueTable::Undo() {
  // A queue may stand where another one is to stand again.
  for (const SavedQueue& saved : saved_queues_) Unfile(*saved.queue);
  for (SavedQueue& saved : saved_queues_) {
    FrontierQueue& queue = *saved.queue;
    queue.saved = false;
    saved.record.key = std::move(queue.record.key);
    queue.record = std::move(saved.record);
    Place(queue, saved.place, saved.filed_at, saved.filed_flights);
  }
  for (const SavedCrawl& saved : saved_crawls_) {
    saved.crawl->saved = false;
    saved.crawl->next_queue = saved.next_queue;
    // One that has gone is nobody's until it is back.
    FrontierOwner* const owner = saved.crawl->owner.get();
    if (owner != nullptr) Shift(saved.crawl->counts, saved.counts, &owner->counts);
    saved.crawl->counts = saved.counts;
  }
  saved_queues_.clear();
  saved_crawls_.clear();
  counts_ = kept_counts_;
  next_crawl_ = kept_next_crawl_;
  // From here on nothing is looked at that a step may let go of.
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    std::visit([this](auto& its) { TakeBack(its); }, *step);
  }
  steps_.clear();
}

void QueueTable::TakeBack(FlightCame& step) { Unlink(*step.queue, step.url); }

void QueueTable::TakeBack(FlightWent& step) { Link(*step.queue, step.url, step.flight); }

void QueueTable::TakeBack(QueueCame& step) {
  by_id_.erase(step.queue->id);
  auto& queues = step.queue->crawl->queues;
  queues.erase(queues.find(step.queue->record.key));
}

void QueueTable::TakeBack(QueueWent& step) {
  FrontierQueue& queue = *step.queue;
  by_id_[queue.id] = &queue;
  queue.crawl->queues[queue.record.key] = std::move(step.queue);
}

void QueueTable::TakeBack(CrawlCame& step) {
  by_name_.erase(step.crawl->name);
  Disown(*step.crawl);
  crawls_.erase(step.crawl->number);
}

void QueueTable::TakeBack(CrawlWent& step) {
  FrontierCrawl& crawl = *step.crawl;
  for (const auto& [key, queue] : crawl.queues) {
    by_id_[queue->id] = queue.get();
    for (const auto& [url, flight] : queue->flights) {
      expiries_[{flight.lease.until, flight.serial}] = {.queue = queue.get(), .url = &url};
    }
  }
  by_name_[crawl.name] = &crawl;
  Own(crawl);
  turns_.File(crawl);
  crawls_[crawl.number] = std::move(step.crawl);
}

// --- Serving

uint64_t QueueTable::ServesFrom(const FrontierQueue& queue) const {
  const FrontierQueueRecord& record = queue.record;
  if (!record.head || (record.limit > 0 && record.completed >= record.limit)) return kNever;
  uint64_t from = record.head->due;
  const uint64_t block_end = record.block_end();
  if (block_end > 0) from = std::max(from, SaturatingAdd(block_end, 1));
  if (record.last_served > 0) {
    const uint64_t delay = record.longest_delay().value_or(default_delay_);
    from = std::max(from, SaturatingAdd(record.last_served, delay + 1));
  }
  return from;
}

size_t QueueTable::Promote(FrontierCrawl& crawl, uint64_t now, size_t most) {
  size_t promoted = 0;
  for (; promoted < most; ++promoted) {
    if (crawl.waiting.empty() || crawl.waiting.begin()->first.first > now) break;
    FrontierQueue& queue = *crawl.waiting.begin()->second;
    Unfile(queue);
    Place(queue, FrontierQueue::Place::kReady, next_turn_++,
          static_cast<uint32_t>(queue.flights.size()));
  }
  if (promoted > 0) turns_.PutOff(crawl, now);
  return promoted;
}

FrontierQueue* QueueTable::First(const FrontierCrawl& crawl, uint32_t flights, uint64_t end) {
  FrontierQueue* first = nullptr;
  for (const auto& [in_flight, queues] : crawl.ready) {
    if (in_flight >= flights) break;
    const auto& [turn, queue] = *queues.begin();
    if (turn < end) {
      end = turn;
      first = queue;
    }
  }
  return first;
}

// --- What is in flight

uint64_t QueueTable::next_expiry() const {
  return expiries_.empty() ? kNever : expiries_.begin()->first.first;
}

std::optional<QueueTable::Expired> QueueTable::FirstExpired(uint64_t now) const {
  if (next_expiry() > now) return std::nullopt;
  const FlightRef& ref = expiries_.begin()->second;
  return Expired{.queue = ref.queue, .url = *ref.url};
}

}  // namespace freshet
