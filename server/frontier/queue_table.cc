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

// Shortens long heads, so that long URLs do not take more memory.
void Shorten(std::optional<FrontierDue>* head) {
  constexpr size_t kUrlBytes = 64;
  if (!*head || (*head)->url.size() <= kUrlBytes) return;
  *head = FrontierDue{.due = (*head)->due, .url = (*head)->url.substr(0, kUrlBytes)};
}

// Adds a signed number to a value that must not become negative.
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
  crawl.by_number[number] = queue.get();
  Note(QueueCame{.queue = queue.get()});
  ++crawl.counts.kept_queues;
  ++crawl.owner->counts.kept_queues;
  ++counts_.kept_queues;
  Count(*queue, active, completed);
  return *queue;
}

void QueueTable::Remove(FrontierQueue& queue) {
  CHECK(journals_, "'{}' is removed before it is known what was loaded", queue.record.key);
  Count(queue, -static_cast<int64_t>(queue.record.active),
        -static_cast<int64_t>(queue.record.completed));
  CountFlights(queue, -static_cast<int64_t>(queue.flights.size()), -int64_t{queue.flight_places});
  Unfile(queue);
  FrontierCrawl& crawl = *queue.crawl;
  crawl.by_number.erase(queue.id.queue);
  --crawl.counts.kept_queues;
  --crawl.owner->counts.kept_queues;
  --counts_.kept_queues;
  const auto it = crawl.queues.find(queue.record.key);
  Note(QueueWent{.queue = std::move(it->second)});
  crawl.queues.erase(it);
}

void QueueTable::RemoveCrawl(FrontierCrawl& crawl) {
  CHECK(journals_, "'{}' is removed before it is known what was loaded", crawl.name);
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
  // If no URL waits, clears the head. It could still name a URL that was removed.
  if (queue.record.active <= queue.flights.size()) SetHead(queue, std::nullopt);
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
  SetHead(queue, due);
}

void QueueTable::SetHead(FrontierQueue& queue, std::optional<FrontierDue> head, FrontierHead is) {
  Save(queue);
  queue.record.head = std::move(head);
  queue.head = is;
}

uint64_t QueueTable::AddFlight(FrontierQueue& queue, const std::string& url,
                               const FrontierLease& lease, uint64_t taker) {
  Save(queue);
  const FrontierFlight flight = {.lease = lease, .serial = next_serial_++, .taker = taker};
  ends_.Start(queue, url, flight);
  Note(FlightCame{.queue = &queue, .url = url});
  CountFlights(queue, 1, static_cast<int64_t>(PlacesOfFlight(url.size())));
  return flight.serial;
}

void QueueTable::CountFlights(const FrontierQueue& queue, int64_t flights, int64_t places) {
  for (FrontierCounts* counts : {&queue.crawl->counts, &queue.crawl->owner->counts, &counts_}) {
    Add(flights, &counts->in_flight);
    Add(places, &counts->flight_places);
  }
}

void QueueTable::RemoveFlight(FrontierQueue& queue, std::string_view url) {
  const auto it = queue.flights.find(url);
  CHECK(it != queue.flights.end(), "{} is not in flight", url);
  Save(queue);
  Note(FlightWent{.queue = &queue, .url = it->first, .flight = it->second});
  CountFlights(queue, -1, -static_cast<int64_t>(PlacesOfFlight(url.size())));
  ends_.End(queue, url);
}

void QueueTable::SetFlightDue(FrontierQueue& queue, const std::string& url, uint64_t due) {
  FrontierFlight flight = queue.flights.find(url)->second;
  Note(FlightWent{.queue = &queue, .url = url, .flight = flight});
  ends_.End(queue, url);
  flight.lease.due = due;
  ends_.Start(queue, url, flight);
  Note(FlightCame{.queue = &queue, .url = url});
}

void QueueTable::Unfile(FrontierQueue& queue) {
  queue.crawl->TakeAway(queue);
  turns_.File(*queue.crawl);
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
    // The queue stays ready and keeps its turn.
    if (flights == queue.filed_flights) return;
    const uint64_t turn = queue.filed_at;
    Unfile(queue);
    return Place(queue, kReady, turn, flights);
  }
  if (queue.place == kWaiting && queue.filed_at == from) return;
  Unfile(queue);
  if (from != kNever) Place(queue, kWaiting, from, queue.filed_flights);
}

// --- What takes several turns

void QueueTable::SetDefaultDelay(uint32_t seconds) {
  if (std::exchange(default_delay_, seconds) == seconds) return;
  CHECK(saved_queues_.empty(), "what was changed before is kept or undone first");
  if (!crawls_.empty()) refiles_from_ = FrontierQueueId();
}

bool QueueTable::Tend(uint64_t now, size_t most) {
  CHECK(saved_queues_.empty() && steps_.empty(), "what was changed is kept or undone first");
  const size_t looked = Refile(now, most);
  if (looked < most) gone_.LetGo(most - looked, ends_);
  return refiles_from_ || !gone_.empty();
}

size_t QueueTable::Refile(uint64_t now, size_t most) {
  if (!refiles_from_) return 0;
  size_t looked = 0;
  for (auto it = crawls_.lower_bound(refiles_from_->crawl); it != crawls_.end(); ++it) {
    const auto& [number, crawl] = *it;
    const bool begun = number == refiles_from_->crawl;
    auto queue = crawl->by_number.lower_bound(begun ? refiles_from_->queue : 0);
    for (; queue != crawl->by_number.end() && looked < most; ++queue, ++looked) {
      if (!queue->second->record.longest_delay()) Move(*queue->second, now);
    }
    if (looked++ >= most) {
      refiles_from_ = {.crawl = number,
                       .queue = queue == crawl->by_number.end() ? UINT32_MAX : queue->first};
      return looked;
    }
  }
  refiles_from_.reset();
  return looked;
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
                           .filed_flights = queue.filed_flights,
                           .head = queue.head});
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
    // Heads are shortened only after the commit. Before it, a scan from a shorter head would find
    // URLs again that were just handed out.
    if (saved.queue->head == FrontierHead::kFirst) Shorten(&saved.queue->record.head);
  }
  for (const SavedCrawl& saved : saved_crawls_) saved.crawl->saved = false;
  saved_queues_.clear();
  saved_crawls_.clear();
  for (Step& step : steps_) {
    if (auto* queue = std::get_if<QueueWent>(&step)) {
      gone_.Take(std::move(queue->queue));
    } else if (auto* crawl = std::get_if<CrawlWent>(&step)) {
      gone_.Take(std::move(crawl->crawl));
    }
  }
  steps_.clear();
  kept_counts_ = counts_;
  kept_next_crawl_ = next_crawl_;
  journals_ = true;
}

void QueueTable::Undo() {
  // First all queues leave their places, because a restored queue can need a place that another one
  // has.
  for (const SavedQueue& saved : saved_queues_) Unfile(*saved.queue);
  for (SavedQueue& saved : saved_queues_) {
    FrontierQueue& queue = *saved.queue;
    queue.saved = false;
    saved.record.key = std::move(queue.record.key);
    queue.record = std::move(saved.record);
    queue.head = saved.head;
    Place(queue, saved.place, saved.filed_at, saved.filed_flights);
  }
  for (const SavedCrawl& saved : saved_crawls_) {
    saved.crawl->saved = false;
    saved.crawl->next_queue = saved.next_queue;
    // A removed crawl id has no owner here. TakeBack adds its counts to the owner again.
    FrontierOwner* const owner = saved.crawl->owner.get();
    if (owner != nullptr) Shift(saved.crawl->counts, saved.counts, &owner->counts);
    saved.crawl->counts = saved.counts;
  }
  saved_queues_.clear();
  saved_crawls_.clear();
  counts_ = kept_counts_;
  next_crawl_ = kept_next_crawl_;
  // The steps are taken back last, because this can destroy queues and crawl ids that the loops
  // above use.
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    std::visit([this](auto& its) { TakeBack(its); }, *step);
  }
  steps_.clear();
}

void QueueTable::TakeBack(FlightCame& step) { ends_.End(*step.queue, step.url); }

void QueueTable::TakeBack(FlightWent& step) { ends_.Start(*step.queue, step.url, step.flight); }

void QueueTable::TakeBack(QueueCame& step) {
  FrontierCrawl& crawl = *step.queue->crawl;
  crawl.by_number.erase(step.queue->id.queue);
  crawl.queues.erase(crawl.queues.find(step.queue->record.key));
}

void QueueTable::TakeBack(QueueWent& step) {
  FrontierQueue& queue = *step.queue;
  queue.crawl->by_number[queue.id.queue] = &queue;
  queue.crawl->queues[queue.record.key] = std::move(step.queue);
}

void QueueTable::TakeBack(CrawlCame& step) {
  by_name_.erase(step.crawl->name);
  Disown(*step.crawl);
  crawls_.erase(step.crawl->number);
}

void QueueTable::TakeBack(CrawlWent& step) {
  FrontierCrawl& crawl = *step.crawl;
  by_name_[crawl.name] = &crawl;
  Own(crawl);
  turns_.File(crawl);
  crawls_[crawl.number] = std::move(step.crawl);
}

// --- Serving

uint64_t QueueTable::ServesFrom(const FrontierQueue& queue) const {
  const FrontierQueueRecord& record = queue.record;
  if (!record.head || queue.passing() || (record.limit > 0 && record.completed >= record.limit))
    return kNever;
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
  size_t looked = 0;
  for (; looked < most; ++looked) {
    if (crawl.waiting.empty() || crawl.waiting.begin()->first.first > now) break;
    FrontierQueue& queue = *crawl.waiting.begin()->second;
    if (ServesFrom(queue) > now) {
      Move(queue, now);
      continue;
    }
    Unfile(queue);
    Place(queue, FrontierQueue::Place::kReady, next_turn_++,
          static_cast<uint32_t>(queue.flights.size()));
  }
  if (looked > 0) turns_.PutOff(crawl, now);
  return looked;
}

// --- What is in flight

std::optional<QueueTable::Expired> QueueTable::FirstExpired(uint64_t now) {
  const std::optional<FlightEnds::Flight> first = ends_.First(now);
  if (!first) return std::nullopt;
  FrontierQueue& queue = *first->queue;
  if (Find(queue.id) == &queue) return Expired{.queue = &queue, .url = *first->url};
  FlightWent gone = {
      .queue = &queue, .url = *first->url, .flight = queue.flights.find(*first->url)->second};
  ends_.End(queue, gone.url);
  Note(std::move(gone));
  return Expired{.queue = nullptr, .url = {}};
}

}  // namespace freshet
