#include "server/frontier/frontier_state.h"

#include <algorithm>

#include "core/base/check.h"
#include "server/base/answer_limits.h"
#include "server/base/limits.h"

namespace freshet {
namespace {

// URLs of a queue that are read together, before it is known how many of them may be given out.
constexpr size_t kDescribedAtOnce = 16;

// Whether the crawl id is the client's, or as good as that.
bool Owns(const Claim& claim, const FrontierCrawl& crawl) {
  return claim.client == 0 || claim.admin || crawl.owner->client == claim.client;
}

// Takes in one more URL of so many bytes, if it is the first or there is room for it.
bool AddBytes(size_t more, size_t* bytes) {
  if (*bytes > 0 && *bytes + more > limits::kMaxBytesPerPull) return false;
  *bytes += more;
  return true;
}

uint32_t BoundedDelay(uint32_t seconds) {
  return std::min(seconds, limits::kMaxFrontierDelaySeconds);
}

uint64_t BoundedBlock(uint64_t until, uint64_t now) {
  return std::min(until, now + static_cast<uint64_t>(limits::kMaxBlockSeconds));
}

uint64_t BoundedLease(uint64_t until, uint64_t now) {
  return std::min(until, now + static_cast<uint64_t>(limits::kMaxLeaseSeconds));
}

}  // namespace

// Takes in what is stored. Earlier releases kept whatever a client had asked for, 136 years of a
// lease among them: it is bounded as what comes now. So are times of a clock that was ahead. Owner
// thread only.
class FrontierState::Loader final : public FrontierVisitor {
 public:
  Loader(QueueTable& table, FrontierSettings* settings, uint64_t now)
      : table_(table), settings_(settings), now_(now) {}

  Status OnSettings(const FrontierSettings& settings) override {
    *settings_ = settings;
    settings_->default_delay = BoundedDelay(settings.default_delay);
    table_.SetDefaultDelay(settings_->default_delay, 0);
    return absl::OkStatus();
  }
  Status OnCrawl(uint32_t crawl, std::string_view name) override {
    if (crawl == 0 || table_.crawls().contains(crawl) || table_.FindCrawl(name) != nullptr) {
      return Damage("a crawl id is there twice");
    }
    table_.AddCrawl(crawl, name);
    return absl::OkStatus();
  }
  Status OnQueue(FrontierQueueId id, FrontierQueueRecord record) override {
    const auto crawl = table_.crawls().find(id.crawl);
    if (crawl == table_.crawls().end()) return Damage("a queue is of no crawl id");
    if (id.queue == 0 || crawl->second->queues.contains(record.key)) {
      return Damage("a queue is there twice");
    }
    if (record.delay) record.delay = BoundedDelay(*record.delay);
    if (record.asked_delay) record.asked_delay = BoundedDelay(*record.asked_delay);
    record.blocked_until = BoundedBlock(record.blocked_until, now_);
    record.asked_until = BoundedBlock(record.asked_until, now_);
    if (record.last_served > now_) {
      ahead_[id] = record.last_served - now_;
      settings_->seen = std::max(settings_->seen, record.last_served);
      record.last_served = now_;
    }
    table_.AddQueue(*crawl->second, std::move(record), id.queue);
    return absl::OkStatus();
  }
  Status OnLease(FrontierQueueId id, std::string_view url, const FrontierLease& lease) override {
    FrontierQueue* queue = table_.Find(id);
    if (queue == nullptr) return Damage("a lease is of no queue");
    const auto ahead = ahead_.find(id);
    const uint64_t by = ahead == ahead_.end() ? 0 : std::min(ahead->second, lease.until);
    (void)table_.AddFlight(*queue, std::string(url),
                           {.until = BoundedLease(lease.until - by, now_), .due = lease.due});
    return absl::OkStatus();
  }
  // Queues that were served at times that are later than now, and by how many seconds.
  [[nodiscard]] const absl::flat_hash_map<FrontierQueueId, uint64_t>& ahead() const {
    return ahead_;
  }

 private:
  static Status Damage(std::string_view what) {
    return MakeStatus(absl::StatusCode::kDataLoss, "frontier: {}", what);
  }

  QueueTable& table_;
  FrontierSettings* settings_;
  const uint64_t now_;
  absl::flat_hash_map<FrontierQueueId, uint64_t> ahead_;
};

FrontierState::FrontierState(FrontierStore& store, const FrontierLimits& limits)
    : store_(store),
      limits_(limits),
      table_(std::make_unique<QueueTable>(limits_.uncovered_flights)),
      batch_(store) {}

Status FrontierState::Load() {
  table_ = std::make_unique<QueueTable>(limits_.uncovered_flights);
  settings_ = {};
  ahead_.clear();
  mend_place_ = {};
  ForgetStaged();
  Loader loader(*table_, &settings_, now_);
  RETURN_IF_ERROR(store_.Load(loader));
  for (const auto& [number, crawl] : table_->crawls()) {
    for (const auto& [key, queue] : crawl->queues) table_->File(*queue, now_);
  }
  for (const auto& [queue, seconds] : loader.ahead()) ahead_.insert(queue);
  table_->Keep();
  kept_ = {.settings = settings_,
           .next_crawl = next_crawl_,
           .totals = totals_,
           .mend_place = mend_place_};
  return absl::OkStatus();
}

Status FrontierState::Commit() {
  for (const FrontierQueueId id : changed_) {
    const FrontierQueue* queue = table_->Find(id);
    if (queue != nullptr) batch_.PutQueue(id, queue->record);  // else deleted since
  }
  if (!batch_.empty() && now_ > settings_.seen) {
    settings_.seen = now_;
    batch_.PutSettings(settings_);
  }
  const Status status = store_.Commit(batch_);
  if (!status.ok()) {
    Discard();
    return status;
  }
  table_->Keep();
  for (const auto& [taker, answered] : results_) table_->CountResult(taker, answered);
  table_->SetDefaultDelay(settings_.default_delay, now_);
  if (ahead() == 0) ahead_.clear();
  ForgetStaged();
  kept_ = {.settings = settings_,
           .next_crawl = next_crawl_,
           .totals = totals_,
           .mend_place = mend_place_};
  return status;
}

void FrontierState::Discard() {
  table_->Undo();
  settings_ = kept_.settings;
  next_crawl_ = kept_.next_crawl;
  mend_place_ = kept_.mend_place;
  totals_ = kept_.totals;
  totals_.put_failed += put_;
  kept_.totals = totals_;
  ForgetStaged();
}

void FrontierState::ForgetStaged() {
  for (const FrontierQueueId id : changed_) {
    FrontierQueue* queue = table_->Find(id);
    if (queue != nullptr) queue->changed = false;
  }
  changed_.clear();
  batch_.Clear();
  known_.clear();
  put_ = 0;
  results_.clear();
}

// --- Queues

FrontierQueue* FrontierState::Ensure(std::string_view crawl, std::string_view key,
                                     const Claim& claim) {
  FrontierCrawl* of = table_->FindCrawl(crawl);
  if (of != nullptr) {
    table_->ClaimCrawl(*of, claim);
    if (FrontierQueue* queue = table_->Find(crawl, key)) return queue;
  }
  const FrontierOwner owner = of != nullptr ? *of->owner : table_->OwnerOf(claim.client);
  const uint64_t queues = table_->counts().kept_queues;
  if (ShareLeft(owner.counts.kept_queues, queues, limits_.queues, claim.admin) == 0) {
    return nullptr;
  }
  if (of == nullptr) {
    const size_t crawls = table_->crawls().size();
    if (NamesLeft(claim, owner.crawls, crawls, limits::kMaxFrontierCrawls) == 0) return nullptr;
    of = &table_->AddCrawl(0, crawl, claim);
    batch_.PutCrawl(of->number, crawl);
  }
  if (!of->has_room()) return nullptr;
  FrontierQueueRecord record;
  record.key = std::string(key);
  return &table_->AddQueue(*of, std::move(record));
}

bool FrontierState::MakesQueueOfOthers(std::string_view crawl, std::string_view key,
                                       const Claim& claim) {
  FrontierCrawl* of = table_->FindCrawl(crawl);
  if (of == nullptr) return false;
  table_->ClaimCrawl(*of, claim);
  return !Owns(claim, *of) && table_->Find(crawl, key) == nullptr;
}

uint64_t FrontierState::FlightsLeft(const FrontierCrawl& crawl, uint64_t more) const {
  return ShareLeft(crawl.owner->counts.flight_places + more, table_->counts().flight_places + more,
                   limits_.flights);
}

uint64_t FrontierState::FlightsLeft(const FrontierCrawl& crawl, const Claim& taker) const {
  const uint64_t left = FlightsLeft(crawl);
  return Owns(taker, crawl) ? left : std::min(left, table_->takers().Left(taker.client));
}

void FrontierState::Touch(FrontierQueue& queue) {
  if (std::exchange(queue.changed, true)) return;
  changed_.push_back(queue.id);
}

void FrontierState::Settle(FrontierQueue& queue) {
  const FrontierQueueRecord& record = queue.record;
  const bool terms = record.longest_delay() || record.limit > 0 || record.block_end() >= now_;
  if (!queue.has_urls() && !terms) return RemoveEmpty(queue);
  Touch(queue);
  table_->File(queue, now_);
}

void FrontierState::RemoveEmpty(FrontierQueue& queue) {
  FrontierCrawl& crawl = *queue.crawl;
  batch_.DeleteQueue(queue.id);
  table_->Remove(queue);
  if (!crawl.queues.empty()) return;
  batch_.DeleteCrawl(crawl.number);
  table_->RemoveCrawl(crawl);
}

Status FrontierState::SetDelay(std::string_view crawl, std::string_view key, uint32_t seconds,
                               const Claim& claim, SetBy by) {
  seconds = BoundedDelay(seconds);
  if (key.empty()) {
    settings_.default_delay = seconds;
    batch_.PutSettings(settings_);
    return absl::OkStatus();
  }
  if (MakesQueueOfOthers(crawl, key, claim)) return absl::OkStatus();
  FrontierQueue* queue = Ensure(crawl, key, claim);
  if (queue == nullptr) return MakeStatus(absl::StatusCode::kResourceExhausted, "too many queues");
  if (!Owns(claim, *queue->crawl)) {
    seconds = std::min(seconds, limits::kMaxFrontierDelaySecondsOfOthers);
  }
  FrontierQueueRecord& record = table_->Edit(*queue);
  const bool set = by == SetBy::kOperator;
  if (set) record.delay = seconds;
  record.asked_delay = set ? std::nullopt : std::optional(seconds);
  Settle(*queue);
  return absl::OkStatus();
}

Status FrontierState::BlockUntil(std::string_view crawl, std::string_view key, uint64_t until,
                                 const Claim& claim, SetBy by) {
  if (MakesQueueOfOthers(crawl, key, claim)) return absl::OkStatus();
  FrontierQueue* queue = until > now_ ? Ensure(crawl, key, claim) : table_->Find(crawl, key);
  if (queue == nullptr) {
    if (until <= now_) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kResourceExhausted, "too many queues");
  }
  until = until > now_ ? BoundedBlock(until, now_) : 0;
  FrontierQueueRecord& record = table_->Edit(*queue);
  const bool set = by == SetBy::kOperator;
  if (set) record.blocked_until = until;
  record.asked_until = set ? 0 : until;
  Settle(*queue);
  return absl::OkStatus();
}

Status FrontierState::SetLimit(std::string_view crawl, std::string_view key, uint32_t limit) {
  FrontierQueue* queue = table_->Find(crawl, key);
  if (queue == nullptr || !queue->has_urls()) {
    return NotFound("there is no queue '{}' in crawl '{}'", key, crawl);
  }
  table_->Edit(*queue).limit = limit;
  Settle(*queue);
  return absl::OkStatus();
}

uint64_t FrontierState::DeleteQueue(std::string_view crawl, std::string_view key) {
  FrontierQueue* queue = table_->Find(crawl, key);
  if (queue == nullptr) return 0;
  const uint64_t urls = queue->record.active + queue->record.completed;
  RemoveEmpty(*queue);
  return urls;
}

uint64_t FrontierState::DeleteCrawl(std::string_view crawl) {
  FrontierCrawl* found = table_->FindCrawl(crawl);
  if (found == nullptr) return 0;
  const uint64_t urls = found->counts.active + found->counts.completed;
  batch_.DeleteCrawl(found->number);
  table_->RemoveCrawl(*found);
  return urls;
}

void FrontierState::SetActive(bool active) {
  settings_.active = active;
  batch_.PutSettings(settings_);
}

// --- Putting

bool FrontierState::IsAcceptable(const FrontierPut& put) {
  if (put.metadata.size() <= limits_.metadata_bytes) return true;
  ++totals_.metadata_too_large;
  return false;
}

Status FrontierState::ReadKnown(std::span<const FrontierStore::ItemName> names) {
  const std::vector<StatusOr<FrontierItem>> items = store_.ReadItems(names);
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
    if (!IsAcceptable(puts[i])) {
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
      FrontierQueue& queue = *table_->Find(queues[i]);
      Known& known = known_[{queue.id, puts[i].url}];
      outcomes[i] = read.ok() ? PutOne(puts[i], queue, &known) : FrontierOutcome::kFailed;
    }
    totals_.put_ok += outcomes[i] == FrontierOutcome::kOk ? 1 : 0;
    const bool skipped =
        outcomes[i] == FrontierOutcome::kSkipped || outcomes[i] == FrontierOutcome::kKnown;
    totals_.put_skipped += skipped ? 1 : 0;
    totals_.put_failed += outcomes[i] == FrontierOutcome::kFailed ? 1 : 0;
  }
  // A queue may have been made for nothing.
  for (const FrontierQueueId id : queues) {
    FrontierQueue* queue = table_->Find(id);
    if (queue != nullptr) Settle(*queue);
  }
  return outcomes;
}

FrontierOutcome FrontierState::PutOne(const FrontierPut& put, FrontierQueue& queue, Known* known) {
  if (!put.known && known->exists) {
    return known->due > 0 ? FrontierOutcome::kKnown : FrontierOutcome::kSkipped;
  }
  const bool keeps_flight = !put.reports && queue.flights.contains(put.url);
  // Nothing is both over and in flight.
  if (keeps_flight && put.due == 0) return FrontierOutcome::kFailed;
  const FrontierCounts& all = table_->counts();
  const FrontierCounts& own = queue.crawl->owner->counts;
  if (!known->exists && ShareLeft(own.active + own.completed, all.active + all.completed,
                                  limits_.urls, put.claim.admin) == 0) {
    return FrontierOutcome::kFailed;
  }
  if (keeps_flight) {
    MoveFlight(queue, put.url, put.due);
    known->due = put.due;
    batch_.PutItem(queue.id, put.url,
                   {.due = put.due, .created = known->created, .metadata = put.metadata});
    return FrontierOutcome::kOk;
  }
  if (known->exists) {
    StageResult(queue, put.url, /*answered=*/true);
    TakeOut(queue, put.url, *known);
    table_->Count(queue, known->due > 0 ? -1 : 0, known->due > 0 ? 0 : -1);
  } else {
    known->created = now_;
  }
  known->exists = true;
  known->due = put.known ? put.due : now_;
  const bool completed = known->due == 0;
  table_->Count(queue, completed ? 0 : 1, completed ? 1 : 0);
  batch_.PutItem(queue.id, put.url,
                 {.due = known->due,
                  .created = known->created,
                  .metadata = completed ? std::string() : put.metadata});
  if (!completed) {
    batch_.PutDue(queue.id, known->due, put.url);
    table_->AddDue(queue, {.due = known->due, .url = put.url});
  }
  return FrontierOutcome::kOk;
}

void FrontierState::TakeOut(FrontierQueue& queue, const std::string& url, const Known& known) {
  if (queue.flights.contains(url)) return EndFlight(queue, url);
  if (known.due > 0) batch_.DeleteDue(queue.id, known.due, url);
}

void FrontierState::EndFlight(FrontierQueue& queue, const std::string& url) {
  table_->RemoveFlight(queue, url);
  batch_.DeleteLease(queue.id, url);
}

void FrontierState::MoveFlight(FrontierQueue& queue, const std::string& url, uint64_t due) {
  table_->SetFlightDue(queue, url, due);
  batch_.PutLease(queue.id, url, queue.flights.find(url)->second.lease);
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
  return table_->Find(id);
}

void FrontierState::Remove(FrontierQueue& queue, const std::string& url, Known* known) {
  TakeOut(queue, url, *known);
  table_->Count(queue, known->due > 0 ? -1 : 0, known->due > 0 ? 0 : -1);
  batch_.DeleteItem(queue.id, url);
  known->exists = false;
}

StatusOr<uint64_t> FrontierState::RemoveOlder(FrontierQueueId id, std::span<const std::string> urls,
                                              uint64_t before) {
  ASSIGN_OR_RETURN(FrontierQueue * queue, ReadAll(id, urls));
  uint64_t removed = 0;
  if (queue == nullptr) return removed;
  for (const std::string& url : urls) {
    Known& known = known_[{id, url}];
    if (!known.exists || known.created >= before) continue;
    Remove(*queue, url, &known);
    ++removed;
  }
  Settle(*queue);
  return removed;
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
    table_->Count(*queue, -1, 1);
    known.due = 0;
    batch_.PutItem(id, url, {.due = 0, .created = known.created, .metadata = {}});
  }
  Settle(*queue);
  return ended;
}

StatusOr<uint64_t> FrontierState::RemoveEnded(FrontierQueueId id,
                                              std::span<const std::string> urls) {
  ASSIGN_OR_RETURN(FrontierQueue * queue, ReadAll(id, urls));
  uint64_t removed = 0;
  if (queue == nullptr) return removed;
  for (const std::string& url : urls) {
    Known& known = known_[{id, url}];
    if (!known.exists || known.due > 0) continue;
    Remove(*queue, url, &known);
    ++removed;
  }
  totals_.deleted += removed;
  Settle(*queue);
  return removed;
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

StatusOr<FrontierItem> FrontierState::Read(std::string_view crawl, std::string_view key,
                                           std::string_view url) const {
  const FrontierQueue* queue = table_->Find(crawl, key);
  if (queue == nullptr) return NotFound("nothing is known of {}", url);
  const FrontierStore::ItemName name = {queue->id, url};
  return store_.ReadItems({&name, 1}).front();
}

// --- Giving out

bool FrontierPull::Serves(const std::string& name) const {
  const auto holds = [&name](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return (except == nullptr || !holds(*except)) && (only == nullptr || holds(*only));
}

FrontierQueue* FrontierState::NextOfAny(FrontierPull* pull) {
  CrawlRound& round = pull->round;
  while (auto* const crawl = round.Next(table_->turns(), table_->crawls(), next_crawl_)) {
    if (!pull->Serves(crawl->name) || FlightsLeft(*crawl, pull->taker) == 0) continue;
    FrontierQueue* queue = QueueTable::First(*crawl, pull->urls_per_queue, pull->end);
    if (queue == nullptr) continue;
    round.Keep(*crawl);
    next_crawl_ = crawl->number + 1;
    return queue;
  }
  return nullptr;
}

FrontierQueue* FrontierState::NextQueue(FrontierPull* pull) {
  if (!pull->crawl) return NextOfAny(pull);
  FrontierCrawl* crawl = table_->FindCrawl(*pull->crawl);
  if (crawl == nullptr || FlightsLeft(*crawl, pull->taker) == 0) return nullptr;
  if (pull->key.empty()) return QueueTable::First(*crawl, pull->urls_per_queue, pull->end);
  FrontierQueue* queue = table_->Find(*pull->crawl, pull->key);
  const bool serves = queue != nullptr && table_->ServesFrom(*queue) <= now_ &&
                      queue->flights.size() < pull->urls_per_queue;
  return serves ? queue : nullptr;
}

void FrontierState::Promote(const FrontierPull& pull) {
  if (pull.crawl) {
    FrontierCrawl* crawl = table_->FindCrawl(*pull.crawl);
    if (crawl != nullptr) table_->Promote(*crawl, now_, kPromotedAtOnce);
    return;
  }
  const CrawlTurns::Coming& coming = table_->turns().coming();
  size_t left = kPromotedAtOnce;
  for (auto it = coming.begin(); left > 0 && it != coming.end() && it->first.first <= now_;) {
    const auto place = it->first;
    FrontierCrawl& crawl = *it->second;
    if (pull.Serves(crawl.name)) left -= table_->Promote(crawl, now_, left);
    it = coming.upper_bound(place);
  }
}

Status FrontierState::Pull(FrontierPull* pull, size_t most, std::vector<FrontierServed>* served) {
  if (pull->end == 0) {
    Promote(*pull);
    pull->end = table_->next_turn();
  }
  const size_t first = served->size();
  size_t bytes = 0;
  bool full = false;
  size_t empty = 0;
  while (!pull->over && served->size() - first < most && empty < most && !full) {
    if (!settings_.active || table_->counts().flight_places >= limits_.flights) {
      pull->over = true;
      break;
    }
    FrontierQueue* queue = pull->left_in_queue > 0 ? table_->Find(pull->queue) : nullptr;
    if (queue != nullptr && FlightsLeft(*queue->crawl, pull->taker) == 0) queue = nullptr;
    const bool begun = queue != nullptr;
    if (!begun) {
      queue = pull->queues > 0 ? NextQueue(pull) : nullptr;
      pull->over = queue == nullptr;
      if (pull->over) break;
      pull->queue = queue->id;
      pull->left_in_queue = pull->urls_per_queue;
    }
    const size_t room = most - (served->size() - first);
    const uint64_t may = FlightsLeft(*queue->crawl, pull->taker);
    const size_t want = std::min<uint64_t>({room, pull->left_in_queue, may, kDescribedAtOnce});
    ASSIGN_OR_RETURN(const Given given, ServeFrom(*queue, *pull, want, served, &bytes));
    full = given.full;
    if (given.urls == 0) ++empty;
    if (!begun && given.urls > 0) --pull->queues;
    const bool goes_on = given.full ? begun || given.urls > 0 : given.urls == want;
    pull->left_in_queue = goes_on ? pull->left_in_queue - static_cast<uint32_t>(given.urls) : 0;
    // A queue of its own is looked into once.
    if (pull->left_in_queue == 0 && !pull->key.empty()) pull->over = true;
  }
  return absl::OkStatus();
}

StatusOr<FrontierState::Given> FrontierState::ServeFrom(FrontierQueue& queue,
                                                        const FrontierPull& pull, size_t most,
                                                        std::vector<FrontierServed>* served,
                                                        size_t* bytes) {
  if (!queue.record.head) return Given();
  ASSIGN_OR_RETURN(FrontierStore::DueScan scan,
                   store_.ScanDue(queue.id, *queue.record.head, now_, most));
  ASSIGN_OR_RETURN(std::vector<FrontierServed> urls, Describe(queue, scan.due, bytes));
  const uint64_t until = BoundedLease(now_ + pull.lease_seconds, now_);
  const uint64_t taker = Owns(pull.taker, *queue.crawl) ? 0 : pull.taker.client;
  for (size_t i = 0; i < urls.size(); ++i) {
    const FrontierLease lease = {.until = until, .due = scan.due[i].due};
    batch_.DeleteDue(queue.id, lease.due, urls[i].url);
    batch_.PutLease(queue.id, urls[i].url, lease);
    urls[i].serial = table_->AddFlight(queue, urls[i].url, lease, taker);
    served->push_back(std::move(urls[i]));
  }
  const Given given = {.urls = urls.size(), .full = urls.size() < scan.due.size()};
  totals_.served += given.urls;
  if (given.full) scan.next = std::move(scan.due[given.urls]);
  table_->SetHead(queue, std::move(scan.next));
  if (given.urls > 0) table_->Edit(queue).last_served = now_;
  Touch(queue);
  table_->File(queue, now_);
  return given;
}

StatusOr<std::vector<FrontierServed>> FrontierState::Describe(const FrontierQueue& queue,
                                                              std::span<const FrontierDue> due,
                                                              size_t* bytes) const {
  std::vector<FrontierStore::ItemName> names;
  names.reserve(due.size());
  for (const FrontierDue& one : due) names.push_back({queue.id, one.url});
  std::vector<StatusOr<FrontierItem>> items = store_.ReadItems(names);
  std::vector<FrontierServed> urls;
  for (size_t i = 0; i < due.size(); ++i) {
    RETURN_IF_ERROR(items[i].status());
    FrontierServed url = {.queue = queue.id,
                          .crawl = queue.crawl->name,
                          .key = queue.record.key,
                          .url = due[i].url,
                          .metadata = std::move(items[i]->metadata),
                          .lease = {}};
    if (!AddBytes(BytesOf(url), bytes)) break;
    urls.push_back(std::move(url));
  }
  return urls;
}

void FrontierState::Lend(FrontierQueue& queue, const std::string& url, const FrontierLease& lease,
                         FrontierServed* served) {
  if (queue.flights.contains(url)) {
    EndFlight(queue, url);
  } else {
    batch_.DeleteDue(queue.id, lease.due, url);
  }
  batch_.PutLease(queue.id, url, lease);
  served->queue = queue.id;
  served->serial = table_->AddFlight(queue, url, lease);
  table_->Edit(queue).last_served = now_;
  Touch(queue);
  table_->File(queue, now_);
  ++totals_.served;
}

std::optional<FrontierItem> FrontierState::Adopt(const FrontierName& name) {
  FrontierQueue* queue = Ensure(name.crawl, name.key, {});
  if (queue == nullptr) return std::nullopt;
  const FrontierPut put = {.crawl = name.crawl, .key = name.key, .url = name.url, .metadata = {}};
  Known& known = known_[{queue->id, name.url}];
  const FrontierOutcome outcome = PutOne(put, *queue, &known);
  Settle(*queue);
  if (outcome != FrontierOutcome::kOk) return std::nullopt;
  return FrontierItem{.due = known.due, .created = known.created, .metadata = {}};
}

StatusOr<FrontierPicked> FrontierState::ServeNamed(std::span<const FrontierName> names,
                                                   uint32_t lease_seconds, uint64_t deleted) {
  FrontierPicked picked;
  std::vector<std::optional<FrontierItem>> items(names.size());
  std::vector<FrontierStore::ItemName> known;
  std::vector<size_t> places;  // of these
  std::vector<size_t> absent;
  for (size_t i = 0; i < names.size(); ++i) {
    const FrontierQueue* queue = table_->Find(names[i].crawl, names[i].key);
    if (!settings_.active || (queue != nullptr && known_.contains(Name(queue->id, names[i].url)))) {
      // What is staged of it is not read from the store.
      picked.refused.push_back(i);
    } else if (queue == nullptr) {
      absent.push_back(i);
    } else {
      known.push_back({queue->id, names[i].url});
      places.push_back(i);
    }
  }
  std::vector<StatusOr<FrontierItem>> read = store_.ReadItems(known);
  for (size_t i = 0; i < read.size(); ++i) {
    if (read[i].ok()) {
      items[places[i]] = *std::move(read[i]);
    } else if (absl::IsNotFound(read[i].status())) {
      absent.push_back(places[i]);
    } else {
      return read[i].status();
    }
  }
  for (const size_t place : absent) {
    if (deleted == totals_.deleted) items[place] = Adopt(names[place]);
    if (!items[place]) picked.refused.push_back(place);
  }
  LendPicked(names, items, lease_seconds, &picked);
  return picked;
}

void FrontierState::LendPicked(std::span<const FrontierName> names,
                               std::span<std::optional<FrontierItem>> items, uint32_t lease_seconds,
                               FrontierPicked* picked) {
  size_t bytes = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i]) continue;
    if (items[i]->due == 0) {
      picked->ended.push_back(i);
      continue;
    }
    FrontierQueue& queue = *table_->Find(names[i].crawl, names[i].key);
    FrontierServed served = {.crawl = names[i].crawl,
                             .key = names[i].key,
                             .url = names[i].url,
                             .metadata = std::move(items[i]->metadata),
                             .lease = {}};
    if (FlightsLeft(*queue.crawl) == 0 || !AddBytes(BytesOf(served), &bytes)) {
      picked->refused.push_back(i);
      continue;
    }
    Lend(queue, names[i].url,
         {.until = BoundedLease(now_ + lease_seconds, now_), .due = items[i]->due}, &served);
    picked->served.emplace_back(i, std::move(served));
  }
}

void FrontierState::GiveBack(std::span<const FrontierServed> served) {
  for (const FrontierServed& url : served) {
    FrontierQueue* queue = table_->Find(url.queue);
    if (queue == nullptr) continue;
    const auto flight = queue->flights.find(url.url);
    // It may be out with somebody else by now.
    if (flight == queue->flights.end() || flight->second.serial != url.serial) continue;
    const FrontierDue due = {.due = flight->second.lease.due, .url = url.url};
    EndFlight(*queue, url.url);
    batch_.PutDue(queue->id, due.due, due.url);
    table_->AddDue(*queue, due);
    Settle(*queue);
    ++totals_.given_back;
  }
}

void FrontierState::Expire(size_t most) {
  for (size_t i = 0; i < most; ++i) {
    const auto expired = table_->FirstExpired(now_);
    if (!expired) return;
    FrontierQueue& queue = *expired->queue;
    const FrontierDue due = {.due = queue.flights.find(expired->url)->second.lease.due,
                             .url = expired->url};
    StageResult(queue, expired->url, /*answered=*/false);
    EndFlight(queue, expired->url);
    batch_.PutDue(queue.id, due.due, due.url);
    table_->AddDue(queue, due);
    Settle(queue);
    ++totals_.expired;
  }
}

}  // namespace freshet
