#include "server/frontier/frontier_state.h"

#include <algorithm>

#include "server/base/limits.h"
#include "server/frontier/frontier_bounds.h"

namespace freshet {

FrontierState::FrontierState(FrontierStore& store, const FrontierLimits& limits)
    : stage_(store, limits) {}

Status FrontierState::Commit() {
  for (const FrontierQueueId id : stage_.changed) {
    const FrontierQueue* queue = stage_.table->Find(id);
    if (queue != nullptr) stage_.batch.PutQueue(id, queue->record);  // else it was deleted since
  }
  if (!stage_.batch.empty() && stage_.now > stage_.settings.seen) {
    stage_.settings.seen = stage_.now;
    stage_.batch.PutSettings(stage_.settings);
  }
  const Status status = stage_.store.Commit(stage_.batch);
  if (!status.ok()) {
    Discard();
    return status;
  }
  stage_.table->Keep();
  for (const auto& [taker, answered] : results_) stage_.table->CountResult(taker, answered);
  stage_.table->SetDefaultDelay(stage_.settings.default_delay);
  Keep();
  return status;
}

void FrontierState::Keep() {
  ForgetStaged();
  kept_settings_ = stage_.settings;
  kept_totals_ = stage_.totals;
  pulls_.Keep();
  mend_.Keep();
}

StatusOr<bool> FrontierState::Tend(size_t most) {
  const bool more = stage_.table->Tend(stage_.now, most);
  ASSIGN_OR_RETURN(const bool passes, pulls_.Pass(most));
  return more || passes;
}

void FrontierState::Discard() {
  stage_.table->Undo();
  stage_.settings = kept_settings_;
  kept_totals_.put_failed += put_;
  stage_.totals = kept_totals_;
  pulls_.Undo();
  mend_.Undo();
  ForgetStaged();
}

void FrontierState::ForgetStaged() {
  for (const FrontierQueueId id : stage_.changed) {
    FrontierQueue* queue = stage_.table->Find(id);
    if (queue != nullptr) queue->changed = false;
  }
  stage_.changed.clear();
  stage_.batch.Clear();
  known_.clear();
  put_ = 0;
  results_.clear();
}

// --- Queues

FrontierQueue* FrontierState::Ensure(std::string_view crawl, std::string_view key,
                                     const Claim& claim) {
  FrontierCrawl* of = stage_.table->FindCrawl(crawl);
  if (of != nullptr) {
    stage_.table->ClaimCrawl(*of, claim);
    if (FrontierQueue* queue = stage_.table->Find(crawl, key)) return queue;
  }
  const FrontierOwner owner = of != nullptr ? *of->owner : stage_.table->OwnerOf(claim.client);
  const uint64_t queues = stage_.table->counts().kept_queues;
  if (ShareLeft(owner.counts.kept_queues, queues, stage_.limits.queues, claim.admin) == 0) {
    return nullptr;
  }
  if (of == nullptr) {
    const size_t crawls = stage_.table->crawls().size();
    if (NamesLeft(claim, owner.crawls, crawls, limits::kMaxFrontierCrawls) == 0) return nullptr;
    of = &stage_.table->AddCrawl(0, crawl, claim);
    stage_.batch.PutCrawl(of->number, crawl);
  }
  if (!of->has_room()) return nullptr;
  FrontierQueueRecord record;
  record.key = std::string(key);
  return &stage_.table->AddQueue(*of, std::move(record));
}

bool FrontierState::MakesQueueOfOthers(std::string_view crawl, std::string_view key,
                                       const Claim& claim) {
  FrontierCrawl* of = stage_.table->FindCrawl(crawl);
  if (of == nullptr) return false;
  stage_.table->ClaimCrawl(*of, claim);
  return !of->IsOf(claim) && stage_.table->Find(crawl, key) == nullptr;
}

Status FrontierState::SetDelay(std::string_view crawl, std::string_view key, uint32_t seconds,
                               const Claim& claim, SetBy by) {
  seconds = BoundedDelay(seconds);
  if (key.empty()) {
    stage_.settings.default_delay = seconds;
    stage_.batch.PutSettings(stage_.settings);
    return absl::OkStatus();
  }
  if (MakesQueueOfOthers(crawl, key, claim)) return absl::OkStatus();
  FrontierQueue* queue = Ensure(crawl, key, claim);
  if (queue == nullptr) return MakeStatus(absl::StatusCode::kResourceExhausted, "too many queues");
  if (!queue->crawl->IsOf(claim)) {
    seconds = std::min(seconds, limits::kMaxFrontierDelaySecondsOfOthers);
  }
  FrontierQueueRecord& record = stage_.table->Edit(*queue);
  const bool set = by == SetBy::kOperator;
  if (set) record.delay = seconds;
  record.asked_delay = set ? std::nullopt : std::optional(seconds);
  stage_.Settle(*queue);
  return absl::OkStatus();
}

Status FrontierState::BlockUntil(std::string_view crawl, std::string_view key, uint64_t until,
                                 const Claim& claim, SetBy by) {
  if (MakesQueueOfOthers(crawl, key, claim)) return absl::OkStatus();
  FrontierQueue* queue =
      until > stage_.now ? Ensure(crawl, key, claim) : stage_.table->Find(crawl, key);
  if (queue == nullptr) {
    if (until <= stage_.now) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kResourceExhausted, "too many queues");
  }
  until = until > stage_.now ? BoundedBlock(until, stage_.now) : 0;
  FrontierQueueRecord& record = stage_.table->Edit(*queue);
  const bool set = by == SetBy::kOperator;
  if (set) record.blocked_until = until;
  record.asked_until = set ? 0 : until;
  stage_.Settle(*queue);
  return absl::OkStatus();
}

Status FrontierState::SetLimit(std::string_view crawl, std::string_view key, uint32_t limit) {
  FrontierQueue* queue = stage_.table->Find(crawl, key);
  if (queue == nullptr || !queue->has_urls()) {
    return NotFound("there is no queue '{}' in crawl '{}'", key, crawl);
  }
  stage_.table->Edit(*queue).limit = limit;
  stage_.Settle(*queue);
  return absl::OkStatus();
}

uint64_t FrontierState::DeleteQueue(std::string_view crawl, std::string_view key) {
  FrontierQueue* queue = stage_.table->Find(crawl, key);
  if (queue == nullptr) return 0;
  const uint64_t urls = queue->record.active + queue->record.completed;
  stage_.RemoveEmpty(*queue);
  return urls;
}

uint64_t FrontierState::DeleteCrawl(std::string_view crawl) {
  FrontierCrawl* found = stage_.table->FindCrawl(crawl);
  if (found == nullptr) return 0;
  const uint64_t urls = found->counts.active + found->counts.completed;
  stage_.batch.DeleteCrawl(found->number);
  stage_.table->RemoveCrawl(*found);
  return urls;
}

// --- Putting

Status FrontierState::ReadKnown(std::span<const FrontierStore::ItemName> names) {
  const std::vector<StatusOr<FrontierItem>> items = stage_.store.ReadItems(names);
  for (size_t i = 0; i < names.size(); ++i) {
    Known known;
    if (items[i].ok()) {
      known = {.exists = true, .due = items[i]->due, .created = items[i]->created};
    } else if (!absl::IsNotFound(items[i].status())) {
      return items[i].status();
    }
    known_.try_emplace({names[i].queue, std::string(names[i].url)}, known);
  }
  return absl::OkStatus();
}

std::vector<FrontierOutcome> FrontierState::Put(std::span<const FrontierPut> puts) {
  std::vector<FrontierOutcome> outcomes(puts.size(), FrontierOutcome::kOk);
  put_ += puts.size();
  std::vector<FrontierQueueId> queues(puts.size());
  std::vector<FrontierStore::ItemName> unread;
  for (size_t i = 0; i < puts.size(); ++i) {
    if (puts[i].metadata.size() > stage_.limits.metadata_bytes) {
      ++stage_.totals.metadata_too_large;
      outcomes[i] = FrontierOutcome::kSkipped;
      continue;
    }
    FrontierQueue* queue = Ensure(puts[i].crawl, puts[i].key, puts[i].claim);
    if (queue == nullptr) {
      outcomes[i] = FrontierOutcome::kFailed;
      continue;
    }
    queues[i] = queue->id;
    if (queue->has_urls() && !known_.contains(Name(queue->id, puts[i].url))) {
      unread.push_back({queue->id, puts[i].url});
    }
  }
  const Status read = ReadKnown(unread);
  for (size_t i = 0; i < puts.size(); ++i) {
    if (outcomes[i] == FrontierOutcome::kOk) {
      FrontierQueue& queue = *stage_.table->Find(queues[i]);
      Known& known = known_[{queue.id, puts[i].url}];
      outcomes[i] = read.ok() ? PutOne(puts[i], queue, &known) : FrontierOutcome::kFailed;
    }
    stage_.totals.put_ok += outcomes[i] == FrontierOutcome::kOk ? 1 : 0;
    const bool skipped =
        outcomes[i] == FrontierOutcome::kSkipped || outcomes[i] == FrontierOutcome::kKnown;
    stage_.totals.put_skipped += skipped ? 1 : 0;
    stage_.totals.put_failed += outcomes[i] == FrontierOutcome::kFailed ? 1 : 0;
  }
  // Ensure may have made a queue for a URL that was then refused.
  for (const FrontierQueueId id : queues) {
    FrontierQueue* queue = stage_.table->Find(id);
    if (queue != nullptr) stage_.Settle(*queue);
  }
  return outcomes;
}

FrontierOutcome FrontierState::PutOne(const FrontierPut& put, FrontierQueue& queue, Known* known) {
  if (!put.known && known->exists) {
    return known->due > 0 ? FrontierOutcome::kKnown : FrontierOutcome::kSkipped;
  }
  const bool keeps_flight = !put.reports && queue.flights.contains(put.url);
  // A URL cannot be both completed and in flight.
  if (keeps_flight && put.due == 0) return FrontierOutcome::kFailed;
  const FrontierCounts& all = stage_.table->counts();
  const FrontierCounts& own = queue.crawl->owner->counts;
  if (!known->exists && ShareLeft(own.active + own.completed, all.active + all.completed,
                                  stage_.limits.urls, put.claim.admin) == 0) {
    return FrontierOutcome::kFailed;
  }
  if (keeps_flight) {
    stage_.MoveFlight(queue, put.url, put.due);
    known->due = put.due;
    stage_.batch.PutItem(queue.id, put.url,
                         {.due = put.due, .created = known->created, .metadata = put.metadata});
    return FrontierOutcome::kOk;
  }
  if (known->exists) {
    StageResult(queue, put.url, /*answered=*/true);
    TakeOut(queue, put.url, *known);
    stage_.table->Count(queue, known->due > 0 ? -1 : 0, known->due > 0 ? 0 : -1);
  } else {
    known->created = stage_.now;
  }
  known->exists = true;
  known->due = put.known ? put.due : stage_.now;
  const bool completed = known->due == 0;
  stage_.table->Count(queue, completed ? 0 : 1, completed ? 1 : 0);
  stage_.batch.PutItem(queue.id, put.url,
                       {.due = known->due,
                        .created = known->created,
                        .metadata = completed ? std::string() : put.metadata});
  if (!completed) {
    stage_.batch.PutDue(queue.id, known->due, put.url);
    stage_.table->AddDue(queue, {.due = known->due, .url = put.url});
  }
  return FrontierOutcome::kOk;
}

void FrontierState::TakeOut(FrontierQueue& queue, const std::string& url, const Known& known) {
  if (queue.flights.contains(url)) return EndFlight(queue, url);
  if (known.due > 0) stage_.batch.DeleteDue(queue.id, known.due, url);
}

void FrontierState::EndFlight(FrontierQueue& queue, const std::string& url) {
  stage_.table->RemoveFlight(queue, url);
  stage_.batch.DeleteLease(queue.id, url);
}

void FrontierState::WaitAgain(FrontierQueue& queue, const FrontierDue& due) {
  EndFlight(queue, due.url);
  stage_.batch.PutDue(queue.id, due.due, due.url);
  stage_.table->AddDue(queue, due);
  stage_.Settle(queue);
}

void FrontierState::StageResult(const FrontierQueue& queue, const std::string& url, bool answered) {
  const auto flight = queue.flights.find(url);
  if (flight == queue.flights.end() || flight->second.taker == 0) return;
  results_.emplace_back(flight->second.taker, answered);
}

StatusOr<FrontierQueue*> FrontierState::ReadAll(FrontierQueueId id,
                                                std::span<const std::string> urls) {
  std::vector<FrontierStore::ItemName> unread;
  for (const std::string& url : urls) {
    if (!known_.contains(Name(id, url))) unread.push_back({id, url});
  }
  RETURN_IF_ERROR(ReadKnown(unread));
  return stage_.table->Find(id);
}

void FrontierState::Remove(FrontierQueue& queue, const std::string& url, Known* known) {
  TakeOut(queue, url, *known);
  stage_.table->Count(queue, known->due > 0 ? -1 : 0, known->due > 0 ? 0 : -1);
  stage_.batch.DeleteItem(queue.id, url);
  known->exists = false;
}

StatusOr<uint64_t> FrontierState::RemoveThose(FrontierQueueId id, std::span<const std::string> urls,
                                              absl::FunctionRef<bool(const Known&)> which) {
  ASSIGN_OR_RETURN(FrontierQueue * queue, ReadAll(id, urls));
  uint64_t removed = 0;
  if (queue == nullptr) return removed;
  for (const std::string& url : urls) {
    Known& known = known_[{id, url}];
    if (!known.exists || !which(known)) continue;
    Remove(*queue, url, &known);
    ++removed;
  }
  stage_.Settle(*queue);
  return removed;
}

StatusOr<uint64_t> FrontierState::RemoveOlder(FrontierQueueId id, std::span<const std::string> urls,
                                              uint64_t before) {
  return RemoveThose(id, urls, [before](const Known& known) { return known.created < before; });
}

StatusOr<std::vector<std::string>> FrontierState::EndOlder(FrontierQueueId id,
                                                           std::span<const std::string> urls,
                                                           uint64_t before) {
  ASSIGN_OR_RETURN(FrontierQueue * queue, ReadAll(id, urls));
  std::vector<std::string> ended;
  if (queue == nullptr) return ended;
  for (const std::string& url : urls) {
    Known& known = known_[{id, url}];
    if (!known.exists || known.created >= before) continue;
    ended.push_back(url);
    if (known.due == 0) continue;
    TakeOut(*queue, url, known);
    stage_.table->Count(*queue, -1, 1);
    known.due = 0;
    stage_.batch.PutItem(id, url, {.due = 0, .created = known.created, .metadata = {}});
  }
  stage_.Settle(*queue);
  return ended;
}

StatusOr<uint64_t> FrontierState::RemoveEnded(FrontierQueueId id,
                                              std::span<const std::string> urls) {
  return RemoveThose(id, urls, [](const Known& known) { return known.due == 0; });
}

StatusOr<std::vector<std::string>> FrontierState::Waiting(FrontierQueueId id,
                                                          std::span<const std::string> urls) {
  ASSIGN_OR_RETURN(const FrontierQueue* queue, ReadAll(id, urls));
  std::vector<std::string> waiting;
  if (queue == nullptr) return waiting;
  for (const std::string& url : urls) {
    const Known& known = known_[{id, url}];
    if (known.exists && known.due > 0) waiting.push_back(url);
  }
  return waiting;
}

std::vector<StatusOr<FrontierItem>> FrontierState::Read(std::span<const FrontierName> names) const {
  std::vector<StatusOr<FrontierItem>> all;
  std::vector<FrontierStore::ItemName> known;
  std::vector<size_t> places;
  for (const FrontierName& name : names) {
    const FrontierQueue* queue = stage_.table->Find(name.crawl, name.key);
    if (queue != nullptr) {
      known.push_back({queue->id, name.url});
      places.push_back(all.size());
    }
    all.emplace_back(NotFound("nothing is known of {}", name.url));
  }
  std::vector<StatusOr<FrontierItem>> items = stage_.store.ReadItems(known);
  for (size_t i = 0; i < places.size(); ++i) all[places[i]] = std::move(items[i]);
  return all;
}

// --- Giving out

void FrontierState::GiveBack(std::span<const FrontierServed> served) {
  for (const FrontierServed& url : served) {
    FrontierQueue* queue = stage_.table->Find(url.queue);
    if (queue == nullptr) continue;
    const auto flight = queue->flights.find(url.url);
    // The URL may be in flight again by now, with another client.
    if (flight == queue->flights.end() || flight->second.serial != url.serial) continue;
    WaitAgain(*queue, {.due = flight->second.lease.due, .url = url.url});
    ++stage_.totals.given_back;
  }
}

void FrontierState::Expire(size_t most) {
  for (size_t i = 0; i < most; ++i) {
    const auto expired = stage_.table->FirstExpired(stage_.now);
    if (!expired) return;
    if (expired->queue == nullptr) continue;
    FrontierQueue& queue = *expired->queue;
    const FrontierDue due = {.due = queue.flights.find(expired->url)->second.lease.due,
                             .url = expired->url};
    StageResult(queue, expired->url, /*answered=*/false);
    WaitAgain(queue, due);
    ++stage_.totals.expired;
  }
}

}  // namespace freshet
