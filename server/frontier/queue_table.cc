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

// Adds a signed number to one that must not become negative.
void Add(int64_t change, uint64_t* value) {
  CHECK(change >= 0 || *value >= static_cast<uint64_t>(-change), "{} of {}", change, *value);
  *value += static_cast<uint64_t>(change);
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

// --- Queues

FrontierCrawl& QueueTable::AddCrawl(uint32_t number, std::string_view name) {
  CHECK(FindCrawl(name) == nullptr, "crawl id '{}' is there", name);
  if (number == 0) number = next_crawl_;
  next_crawl_ = std::max(next_crawl_, number + 1);
  auto& crawl = crawls_[number];
  CHECK(crawl == nullptr, "number {} is taken", number);
  crawl = std::make_unique<FrontierCrawl>();
  crawl->number = number;
  crawl->name = std::string(name);
  by_name_[crawl->name] = crawl.get();
  return *crawl;
}

FrontierQueue& QueueTable::AddQueue(FrontierCrawl& crawl, FrontierQueueRecord record,
                                    uint32_t number) {
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
  by_id_[queue->id] = queue.get();
  ++crawl.counts.kept_queues;
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
  --counts_.kept_queues;
  const std::string key = queue.record.key;
  crawl.queues.erase(key);
}

std::unique_ptr<FrontierCrawl> QueueTable::RemoveCrawl(FrontierCrawl& crawl) {
  for (const auto& [key, queue] : crawl.queues) {
    for (const auto& [url, flight] : queue->flights) {
      expiries_.erase({flight.lease.until, flight.serial});
    }
    by_id_.erase(queue->id);
  }
  counts_.active -= crawl.counts.active;
  counts_.completed -= crawl.counts.completed;
  counts_.in_flight -= crawl.counts.in_flight;
  counts_.queues -= crawl.counts.queues;
  counts_.active_queues -= crawl.counts.active_queues;
  counts_.kept_queues -= crawl.counts.kept_queues;
  by_name_.erase(crawl.name);
  auto node = crawls_.extract(crawl.number);
  return std::move(node.mapped());
}

// --- Changes of a queue

void QueueTable::Count(FrontierQueue& queue, int64_t active, int64_t completed) {
  const bool had_urls = queue.has_urls();
  const bool was_active = queue.record.active > 0;
  Add(active, &queue.record.active);
  Add(completed, &queue.record.completed);
  const int64_t queues = int64_t{queue.has_urls()} - int64_t{had_urls};
  const int64_t active_queues = int64_t{queue.record.active > 0} - int64_t{was_active};
  for (FrontierCounts* counts : {&queue.crawl->counts, &counts_}) {
    Add(active, &counts->active);
    Add(completed, &counts->completed);
    Add(queues, &counts->queues);
    Add(active_queues, &counts->active_queues);
  }
}

void QueueTable::AddDue(FrontierQueue& queue, const FrontierDue& due) {
  if (!queue.record.head || due < *queue.record.head) queue.record.head = due;
}

void QueueTable::SetHead(FrontierQueue& queue, std::optional<FrontierDue> head) {
  queue.record.head = std::move(head);
}

uint64_t QueueTable::AddFlight(FrontierQueue& queue, const std::string& url,
                               const FrontierLease& lease) {
  const auto [it, added] = queue.flights.try_emplace(url);
  CHECK(added, "{} is in flight", url);
  it->second = {.lease = lease, .serial = next_serial_++};
  expiries_[{lease.until, it->second.serial}] = {.queue = &queue, .url = &it->first};
  ++queue.crawl->counts.in_flight;
  ++counts_.in_flight;
  return it->second.serial;
}

void QueueTable::RemoveFlight(FrontierQueue& queue, std::string_view url) {
  const auto it = queue.flights.find(Key(url));
  CHECK(it != queue.flights.end(), "{} is not in flight", url);
  expiries_.erase({it->second.lease.until, it->second.serial});
  queue.flights.erase(it);
  --queue.crawl->counts.in_flight;
  --counts_.in_flight;
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
}

void QueueTable::File(FrontierQueue& queue, uint64_t now) {
  using Place = FrontierQueue::Place;
  const uint64_t from = ServesFrom(queue);
  const auto flights = static_cast<uint32_t>(queue.flights.size());
  if (from <= now && queue.place == Place::kReady) {
    // It keeps its turn.
    if (flights == queue.filed_flights) return;
    const uint64_t turn = queue.filed_at;
    Unfile(queue);
    queue.place = Place::kReady;
    queue.filed_at = turn;
    queue.filed_flights = flights;
    queue.crawl->ready[flights][turn] = &queue;
    return;
  }
  if (queue.place == Place::kWaiting && queue.filed_at == from) return;
  Unfile(queue);
  if (from == kNever) return;
  queue.place = Place::kWaiting;
  queue.filed_at = from;
  queue.crawl->waiting[{from, queue.id.queue}] = &queue;
}

void QueueTable::SetDefaultDelay(uint32_t seconds, uint64_t now) {
  if (std::exchange(default_delay_, seconds) == seconds) return;
  for (const auto& [id, queue] : by_id_) {
    if (!queue->record.delay) File(*queue, now);
  }
}

// --- Serving

uint64_t QueueTable::ServesFrom(const FrontierQueue& queue) const {
  const FrontierQueueRecord& record = queue.record;
  if (!record.head || (record.limit > 0 && record.completed >= record.limit)) return kNever;
  uint64_t from = record.head->due;
  if (record.blocked_until > 0) from = std::max(from, SaturatingAdd(record.blocked_until, 1));
  if (record.last_served > 0) {
    const uint64_t delay = record.delay.value_or(default_delay_);
    from = std::max(from, SaturatingAdd(record.last_served, delay + 1));
  }
  return from;
}

void QueueTable::Promote(FrontierCrawl& crawl, uint64_t now) {
  while (!crawl.waiting.empty() && crawl.waiting.begin()->first.first <= now) {
    FrontierQueue& queue = *crawl.waiting.begin()->second;
    Unfile(queue);
    queue.place = FrontierQueue::Place::kReady;
    queue.filed_at = next_turn_++;
    queue.filed_flights = static_cast<uint32_t>(queue.flights.size());
    crawl.ready[queue.filed_flights][queue.filed_at] = &queue;
  }
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
