#include "server/engine/worker_pool.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

// The number of workers whose allowance is remembered: twice as many as can be connected.
constexpr size_t kRememberedNames = 2 * limits::kMaxWorkers;
// A lingering worker waits this much longer if pages are still being leased for it when its time
// ends.
constexpr Duration kLastWait = Duration::Millis(100);
// A worker waits this much longer if a request that might bring it a page is under way when its
// time ends.
constexpr Duration kOpenWait = Duration::Millis(5);
// When leases end, at most this many of the workers that wait for room for a lease are requeued. A
// requeued newcomer that still may not hold another lease then goes behind the other waiting
// newcomers.
constexpr size_t kLookedAt = 64;
// While proven workers want pages, newcomers get every fourth page. Names cost nothing, so
// newcomers must not be able to take the crawl rate from proven workers by their number.
constexpr int kProvenInRow = 3;

void CountInRow(bool newcomer, int& proven) {
  proven = newcomer ? 0 : std::min(proven + 1, kProvenInRow);
}

// Logs that the allowance of a worker is reduced, or is whole again.
void LogAllowance(const WorkerKey& key, bool reduced, LogLimit& limit, Instant now) {
  const auto more = limit.Admit(now);
  if (!more) return;
  if (reduced) {
    Logger(LogModule::kEngine)
        .warn(
            "leases of worker '{}' of {} ran out without a result: this worker may now hold "
            "fewer leases{}",
            key.name, key.client, *more);
  } else {
    Logger(LogModule::kEngine)
        .info("worker '{}' of {} may again hold as many leases as other workers{}", key.name,
              key.client, *more);
  }
}

}  // namespace

WorkerPool::WorkerPool(const WorkerLimits& limits)
    : max_credit_(limits.credit),
      allowances_({.most = limits.open_leases,
                   .newcomers = limits.newcomer_leases,
                   .proven_names = kRememberedNames,
                   .newcomer_names = kRememberedNames}) {}

// --- Who is there

StatusOr<WorkerId> WorkerPool::Join(WorkerTerms terms, std::shared_ptr<AssignmentSink> sink,
                                    size_t max_workers) {
  CHECK(sink != nullptr, "assignments go somewhere");
  RETURN_IF_ERROR(places_.Take(terms, max_workers));
  const WorkerId id = next_worker_++;
  if (terms.takes != kAllClasses) ++restricted_;
  if (terms.waiter) ends_.emplace(terms.waits_until, id);
  WorkerKey key = {terms.client, terms.name};
  by_key_[key].insert(id);
  workers_[id] = {.terms = std::move(terms), .key = std::move(key), .sink = std::move(sink)};
  return id;
}

void WorkerPool::Remove(WorkerId id) {
  const auto it = workers_.find(id);
  CHECK(it != workers_.end());
  Worker& worker = it->second;
  if (worker.terms.takes != kAllClasses) --restricted_;
  places_.GiveBack(worker.terms);
  if (worker.terms.waiter || worker.lingers) EndWait(id, worker);
  const bool in_turn = worker.queue != nullptr;
  if (in_turn) worker.queue->Remove(worker.terms.takes, worker.turn);
  if (worker.crowded > 0) {
    crowded_.erase(worker.crowded);
  } else if (const auto full = full_.find(worker.key); worker.full && full != full_.end()) {
    std::erase(full->second, id);
    if (full->second.empty()) full_.erase(full);
  }
  const auto same = by_key_.find(worker.key);
  same->second.erase(id);
  if (same->second.empty()) by_key_.erase(same);
  const WorkerKey key = std::move(worker.key);
  workers_.erase(it);
  if (in_turn) (void)LetIn(key, 1);
}

const WorkerPool::Worker* WorkerPool::Find(WorkerId id) const {
  const auto it = workers_.find(id);
  return it == workers_.end() ? nullptr : &it->second;
}

std::vector<std::shared_ptr<AssignmentSink>> WorkerPool::sinks() const {
  std::vector<std::shared_ptr<AssignmentSink>> sinks;
  for (const auto& [id, worker] : workers_) sinks.push_back(worker.sink);
  return sinks;
}

const WorkerPool::Worker* WorkerPool::Grant(WorkerId id, uint64_t assignments) {
  const auto it = workers_.find(id);
  if (it == workers_.end()) return nullptr;
  Worker& worker = it->second;
  const uint64_t left = max_credit_ - std::min(max_credit_, worker.credit);
  worker.credit += std::min(assignments, left);
  Queue(id, worker);
  return &worker;
}

uint64_t WorkerPool::TakeCredit(WorkerId id, uint64_t most) {
  const auto it = workers_.find(id);
  if (it == workers_.end()) return 0;
  const uint64_t taken = std::min(most, it->second.free_credit());
  it->second.credit -= taken;
  return taken;
}

bool WorkerPool::AnyWithCredit() const {
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& entry) {
    return entry.second.credit > 0 && !entry.second.full && !entry.second.sink->behind();
  });
}

// --- Who waits

bool WorkerPool::Linger(WorkerId id, Duration patience, Instant now) {
  const auto it = workers_.find(id);
  if (it == workers_.end() || it->second.credit == 0) return false;
  it->second.lingers = patience;
  SetWait(id, it->second, now + patience);
  return true;
}

void WorkerPool::EndWait(WorkerId id, const Worker& worker) {
  DCHECK(worker.terms.waiter || worker.lingers, "worker {} waits for nothing", id);
  const auto [first, last] = ends_.equal_range(worker.terms.waits_until);
  const auto own = std::find_if(first, last, [&](const auto& end) { return end.second == id; });
  if (own != last) ends_.erase(own);
}

void WorkerPool::SetWait(WorkerId id, Worker& worker, Instant until) {
  EndWait(id, worker);
  worker.terms.waits_until = until;
  ends_.emplace(until, id);
}

Instant WorkerPool::next_end() const {
  return ends_.empty() ? Instant::Infinite() : ends_.begin()->first;
}

bool WorkerPool::MayYetBeServed(const Worker& worker) const {
  if (open_request_ == 0 || !worker.queued || worker.full) return false;
  // The wait is extended for one open request only.
  return worker.held_for == 0 || worker.held_for == open_request_;
}

void WorkerPool::EndWaits(Instant now, Deliveries* deliveries) {
  while (!ends_.empty() && ends_.begin()->first <= now) {
    const WorkerId id = ends_.begin()->second;
    Worker& worker = workers_.at(id);
    if (worker.reserved == 0 && MayYetBeServed(worker)) {
      worker.held_for = open_request_;
      SetWait(id, worker, now + kOpenWait);
    } else if (worker.reserved == 0) {
      deliveries->For(id, worker.sink).outlook = Outlook::kTimeOut;
      Remove(id);
    } else if (worker.lingers) {
      SetWait(id, worker, now + kLastWait);
    } else {
      // The wait ends in Serve or Unreserve, when the pages set aside have come or failed.
      ends_.erase(ends_.begin());
    }
  }
}

void WorkerPool::EndAllWaits(Deliveries* deliveries) {
  std::vector<WorkerId> over;
  for (const auto& [id, worker] : workers_) {
    if (!worker.terms.waiter) continue;
    deliveries->For(id, worker.sink).outlook = Outlook::kTimeOut;
    over.push_back(id);
  }
  for (const WorkerId id : over) Remove(id);
}

// --- Whose turn it is

void WorkerPool::Queue(WorkerId id, Worker& worker) {
  if (worker.queued || !worker.has_credit()) return;
  worker.queued = true;
  PutInTurn(id, worker);
}

void WorkerPool::PutInTurn(WorkerId id, Worker& worker) {
  worker.queue = allowances_.proven(worker.key) ? &in_turn_ : &newcomers_in_turn_;
  worker.turn = worker.queue->Push(id, worker.terms.takes, worker.terms.client);
  unasked_ |= worker.terms.takes & ~asked_for_;
}

std::optional<WorkerId> WorkerPool::NextInTurn(ClassSet classes) {
  const bool newcomer_first = planned_in_row_ >= kProvenInRow;
  std::optional<WorkerId> id = NextOf(newcomer_first ? newcomers_in_turn_ : in_turn_, classes);
  const bool found = id.has_value();
  if (!found) id = NextOf(newcomer_first ? in_turn_ : newcomers_in_turn_, classes);
  if (id) CountInRow(/*newcomer=*/found == newcomer_first, planned_in_row_);
  return id;
}

std::optional<WorkerId> WorkerPool::NextOf(TurnQueue& queue, ClassSet classes) {
  const std::optional<WorkerId> id =
      queue.Pop(classes, [this](WorkerId worker) { return KeepsTurn(worker); });
  if (id) {
    Worker& worker = workers_.at(*id);
    worker.queued = false;
    worker.queue = nullptr;
    allowances_.Reserve(worker.key);
    left_turns_.push_back(worker.key);
  }
  LetInAfter();
  return id;
}

bool WorkerPool::KeepsTurn(WorkerId id) {
  Worker& worker = workers_.at(id);
  worker.queued = worker.has_credit();
  const auto why = worker.queued ? allowances_.FullBy(worker.key) : std::nullopt;
  if (worker.queued && !why) return true;
  worker.queue = nullptr;
  if (!worker.queued) {
    left_turns_.push_back(worker.key);
    return false;
  }
  worker.full = true;
  if (why->newcomers) {
    worker.crowded = next_crowded_++;
    crowded_.emplace(worker.crowded, id);
  } else {
    full_[worker.key].push_back(id);
  }
  return false;
}

ClassSet WorkerPool::TakenInTurn() {
  const auto keeps = [this](WorkerId id) { return KeepsTurn(id); };
  // Workers of one key can take different classes, so those in full_ are requeued first.
  for (const auto& [key, ids] : full_) {
    if (left_turns_.size() >= kLookedAt) break;
    left_turns_.push_back(key);
  }
  LetInAfter();
  const ClassSet takes = in_turn_.Takes(keeps) | newcomers_in_turn_.Takes(keeps);
  LetInAfter();
  return takes;
}

bool WorkerPool::TakesMore(WorkerId id) {
  const Worker& worker = workers_.at(id);
  if (!worker.has_credit() || allowances_.FullBy(worker.key)) return false;
  allowances_.Reserve(worker.key);
  return true;
}

WorkerPool::Asked WorkerPool::Ask(size_t run, std::vector<LeaseTerms>* terms,
                                  std::vector<WorkerId>* workers) {
  CHECK(run > 0 && workers->empty(), "runs of {}, for {} workers", run, workers->size());
  planned_in_row_ = proven_in_row_;
  Asked asked = {.open = restricted_ > 0};
  if (asked.open) {
    asked.takers = AskForAnybody(terms, workers);
  } else {
    AskInTurn(run, terms, workers);
  }
  if (terms->empty()) return asked;
  if (asked.open) open_request_ = ++open_requests_;
  asked_for_ = asked.takers;
  unasked_ = 0;
  return asked;
}

void WorkerPool::SetAside(WorkerId id, LeaseTerms* terms) {
  Worker& worker = workers_.at(id);
  ++worker.reserved;
  terms->worker = worker.terms.name;
  terms->client = worker.terms.client;
  terms->lease = worker.terms.lease;
}

// Chooses the workers now, because each of them takes any page.
void WorkerPool::AskInTurn(size_t run, std::vector<LeaseTerms>* terms,
                           std::vector<WorkerId>* workers) {
  std::optional<WorkerId> id;
  for (size_t i = 0; i < terms->size(); ++i) {
    if (i % run == 0 || !TakesMore(*id)) {
      if (id) Queue(*id, workers_.at(*id));
      id = NextInTurn(0);
      if (!id) break;
    }
    SetAside(*id, &(*terms)[i]);
    workers->push_back(*id);
  }
  if (id) Queue(*id, workers_.at(*id));
  terms->resize(workers->size());
}

ClassSet WorkerPool::AskForAnybody(std::vector<LeaseTerms>* terms, std::vector<WorkerId>* workers) {
  const ClassSet takers = TakenInTurn();
  uint64_t credit = 0;
  for (const auto& [id, worker] : workers_) {
    if (!worker.queued || worker.full) continue;
    credit += worker.free_credit();
    if (credit >= terms->size()) break;
  }
  if (takers == 0) credit = 0;
  terms->resize(std::min<uint64_t>(credit, terms->size()));
  workers->assign(terms->size(), kNobody);
  return takers;
}

WorkerId WorkerPool::TakeFor(ClassSet classes, LeaseTerms* terms) {
  const std::optional<WorkerId> id = NextInTurn(classes);
  if (!id) return kNobody;
  SetAside(*id, terms);
  Queue(*id, workers_.at(*id));
  return *id;
}

std::vector<bool> WorkerPool::Settle(const std::vector<WorkerId>& workers,
                                     const std::vector<LeaseTerms>& terms,
                                     const std::vector<bool>& page, Instant now,
                                     Deliveries* deliveries) {
  open_request_ = 0;
  std::vector<bool> there(workers.size(), false);
  const uint64_t newcomer_leases = allowances_.newcomer_leases();
  for (size_t i = 0; i < workers.size(); ++i) {
    if (workers[i] == kNobody) continue;
    const WorkerKey key = {terms[i].client, terms[i].worker};
    allowances_.Settle(key);
    LetIn(key, kLookedAt);
    there[i] = page[i] && workers_.contains(workers[i]);
    if (there[i]) {
      // If pages are scarce, most terms get none. Only workers whose term got a page are counted.
      CountInRow(!allowances_.proven(key), proven_in_row_);
    } else {
      Unreserve(workers[i], now, deliveries);
    }
  }
  LetInNewcomers(newcomer_leases);
  return there;
}

void WorkerPool::Unreserve(WorkerId id, Instant now, Deliveries* deliveries) {
  const auto it = workers_.find(id);
  if (it == workers_.end()) return;
  Worker& worker = it->second;
  CHECK(worker.reserved > 0, "worker {} has nothing set aside", id);
  --worker.reserved;
  const bool over = worker.terms.waiter && worker.reserved == 0 &&
                    (worker.served || worker.terms.waits_until <= now);
  if (over) {
    deliveries->For(id, worker.sink).outlook = worker.served ? Outlook::kServed : Outlook::kTimeOut;
    return Remove(id);
  }
  Queue(id, worker);
}

WorkerPool::Served WorkerPool::Serve(WorkerId id, Assignment assignment, Instant now,
                                     Deliveries* deliveries) {
  const auto it = workers_.find(id);
  CHECK(it != workers_.end(), "ready for a worker that is gone");
  Worker& worker = it->second;
  CHECK(worker.credit > 0 && worker.reserved > 0, "worker {}: {} set aside of {}", id,
        worker.reserved, worker.credit);
  --worker.credit;
  --worker.reserved;
  worker.served = true;
  Served served = {.worker = worker.terms.name, .waiter = worker.terms.waiter};
  Deliveries::Delivery& delivery = deliveries->For(id, worker.sink);
  delivery.assignments.push_back(std::move(assignment));
  if (worker.lingers) SetWait(id, worker, now + *worker.lingers);
  if (worker.terms.waiter ? worker.reserved == 0 : worker.lingers && worker.credit == 0) {
    delivery.outlook = Outlook::kServed;
    Remove(id);
  }
  return served;
}

// --- How many leases they may have

WorkerPool::LeaseNews WorkerPool::OnLeases(const LeaseTallies& tallies, Instant now) {
  LeaseNews news;
  const uint64_t newcomer_leases = allowances_.newcomer_leases();
  for (const auto& [key, tally] : tallies) {
    const size_t reduced = allowances_.reduced();
    const bool was_proven = allowances_.proven(key);
    const std::optional<uint64_t> told = allowances_.Apply(key, tally);
    news.let_in |= LetIn(key, kLookedAt);
    if (!was_proven && allowances_.proven(key)) {
      LetInProven(key);
      news.let_in = true;
    }
    if (allowances_.reduced() > reduced) LogAllowance(key, true, log_reduced_, now);
    if (allowances_.reduced() < reduced) LogAllowance(key, false, log_restored_, now);
    if (!told) continue;
    const auto same = by_key_.find(key);
    if (same == by_key_.end()) continue;
    for (const WorkerId id : same->second) {
      news.told.push_back({workers_.at(id).sink, *told, allowances_.whole(*told)});
    }
  }
  news.let_in |= LetInNewcomers(newcomer_leases);
  return news;
}

bool WorkerPool::LetIn(const WorkerKey& key, size_t most) {
  const auto full = full_.find(key);
  if (full == full_.end()) return false;
  // All workers of one key share their leases, so one check is enough.
  const auto why = allowances_.FullBy(key);
  if (why && !why->newcomers) return false;
  for (size_t left = std::min(most, full->second.size()); left > 0; --left) {
    Readmit(full->second.front());
    full->second.pop_front();
  }
  if (full->second.empty()) full_.erase(full);
  return true;
}

void WorkerPool::LetInAfter() {
  for (const WorkerKey& key : std::exchange(left_turns_, {})) (void)LetIn(key, 1);
}

void WorkerPool::Readmit(WorkerId id) {
  Worker& worker = workers_.at(id);
  worker.full = false;
  worker.crowded = 0;
  PutInTurn(id, worker);
}

void WorkerPool::LetInProven(const WorkerKey& key) {
  const auto same = by_key_.find(key);
  if (same == by_key_.end()) return;
  for (const WorkerId id : same->second) {
    Worker& worker = workers_.at(id);
    if (worker.crowded > 0) {
      crowded_.erase(worker.crowded);
      Readmit(id);
    } else if (worker.queue == &newcomers_in_turn_) {
      newcomers_in_turn_.Remove(worker.terms.takes, worker.turn);
      PutInTurn(id, worker);
    }
  }
}

bool WorkerPool::LetInNewcomers(uint64_t before) {
  if (allowances_.newcomer_leases() >= before || crowded_.empty()) return false;
  for (size_t left = std::min(kLookedAt, crowded_.size()); left > 0; --left) {
    const WorkerId id = crowded_.begin()->second;
    crowded_.erase(crowded_.begin());
    Readmit(id);
  }
  return true;
}

// --- Figures

void WorkerPool::AddTo(DispatchStats* stats) const {
  for (const auto& [id, worker] : workers_) {
    (worker.terms.waiter ? stats->waiting_credit : stats->credit) += worker.credit;
    if (worker.terms.waiter) continue;
    ++stats->workers;
    stats->workers_at_allowance += worker.full ? 1 : 0;
  }
  stats->allowances_reduced = allowances_.reduced();
  stats->newcomer_leases = allowances_.newcomer_leases();
}

void WorkerPool::AddTo(std::vector<WorkerRecord>* records) const {
  absl::flat_hash_map<WorkerKey, WorkerRecord*> by_key;
  for (WorkerRecord& record : *records) by_key[{record.client, record.name}] = &record;
  for (const auto& [id, worker] : workers_) {
    const auto it = by_key.find(worker.key);
    if (it == by_key.end()) continue;
    ++it->second->streams;
    it->second->credit += worker.credit;
  }
}

}  // namespace freshet
