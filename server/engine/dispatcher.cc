#include "server/engine/dispatcher.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/base/shares.h"
#include "core/schedule/leases.h"
#include "core/schedule/shard_state.h"
#include "server/base/limits.h"
#include "server/base/stopping.h"
#include "server/engine/dispatcher_refill.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

// How far ahead of its tick a page is leased: at least this, and twice what a lease takes to be
// durable. A signal that comes within this time is too late for the pick.
constexpr Duration kMinLookahead = Duration::Millis(20);
constexpr Duration kMaxLookahead = Duration::Millis(1000);
// Pauses between requests that find too few pages; whatever changes a page ends them early.
constexpr Duration kMinBarrenWait = Duration::Millis(5);
constexpr Duration kMaxBarrenWait = Duration::Millis(80);
// Likewise while nothing can be leased.
constexpr Duration kStalledWait = Duration::Seconds(1);
// Between two questions whether pages may be handed out.
constexpr Duration kHeldBackWait = Duration::Millis(100);
constexpr Duration kIdle = Duration::Millis(500);
constexpr size_t kRecentAssignments = 50;
// Of workers whose allowance is remembered: those that can be there, and as many that were.
constexpr size_t kRememberedNames = 2 * limits::kMaxWorkers;
// For what is on its way when the time of one that lingers is over.
constexpr Duration kLastWait = Duration::Millis(100);

Duration Scaled(Duration duration, double factor) {
  return Duration::FromSeconds(duration.seconds() * factor);
}

// Calls that wait cost a client little, and must not keep out workers on streams.
size_t MostWaiters(size_t max_workers) {
  return std::max<size_t>(1, max_workers / 4 * 3 + max_workers % 4 * 3 / 4);
}

}  // namespace

struct Dispatcher::Actions {
  struct Delivery {
    WorkerId worker = 0;
    std::shared_ptr<AssignmentSink> sink;
    std::vector<Assignment> assignments;
    Outlook outlook = Outlook::kMore;
  };
  std::vector<Delivery> deliveries;
  absl::flat_hash_map<WorkerId, size_t> delivery_of;
  std::vector<ReturnLease> give_back;
  std::shared_ptr<Refill> refill;

  [[nodiscard]] bool empty() const {
    return deliveries.empty() && give_back.empty() && refill == nullptr;
  }
  Delivery& For(WorkerId worker, const std::shared_ptr<AssignmentSink>& sink) {
    const auto [it, first] = delivery_of.try_emplace(worker, deliveries.size());
    if (first) deliveries.push_back({.worker = worker, .sink = sink});
    return deliveries[it->second];
  }
};

Dispatcher::Dispatcher(Router& router, Clock& clock, Rate rate, const WorkerLimits& workers,
                       Duration max_lateness, double forced_share)
    : router_(router),
      clock_(clock),
      groups_(router.shards().size()),
      pacer_(rate, clock.Now(), max_lateness),
      forced_share_(forced_share),
      max_credit_(workers.credit),
      allowances_({.most = workers.open_leases,
                   .newcomers = workers.newcomer_leases,
                   .proven_names = kRememberedNames,
                   .newcomer_names = kRememberedNames}),
      barren_wait_(kMinBarrenWait),
      lookahead_(kMinLookahead) {}

Dispatcher::~Dispatcher() { Stop(); }

void Dispatcher::Start() {
  CHECK(!thread_.joinable(), "runs already");
  thread_ = std::thread([this] { Run(); });
}

void Dispatcher::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    condition_.NotifyOne();
  }
  if (thread_.joinable()) thread_.join();
  Actions actions;
  {
    const MutexLock lock(mutex_);
    while (in_refill_ > 0) refilled_.Wait(mutex_);
    DropReady(0, &actions);
    std::vector<WorkerId> over;
    for (auto& [id, worker] : workers_) {
      if (!worker.terms.waiter) continue;
      actions.For(id, worker.sink).outlook = Outlook::kTimeOut;
      over.push_back(id);
    }
    // Shards go on for a while, and tell of leases: nothing may name these workers any more.
    for (const WorkerId id : over) Dismiss(id);
  }
  Perform(actions);
}

// --- Workers

Status Dispatcher::CheckPlace(const WorkerTerms& terms, size_t max_workers) const {
  const auto it = places_.find(terms.client);
  const Places own = it == places_.end() ? Places() : it->second;
  const size_t others = workers_.size() - waiting_;
  const char* const kept = ", but for places of clients that have few";
  if (terms.waiter) {
    const size_t most =
        std::min(MostWaiters(max_workers), max_workers - std::min(others, max_workers));
    if (MayTakePlace(own.waiters, waiting_, most, terms.admin)) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "{} calls of Next are already waiting, the maximum{}: try again later, or "
                      "use the stream Crawl",
                      waiting_, waiting_ < most ? kept : "");
  }
  const size_t most = max_workers - std::min(waiting_, max_workers);
  if (MayTakePlace(own.others, others, most, terms.admin)) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "{} workers are already connected, the maximum{}: try again later",
                    workers_.size(), others < most ? kept : "");
}

StatusOr<WorkerId> Dispatcher::Join(WorkerTerms terms, std::shared_ptr<AssignmentSink> sink,
                                    size_t max_workers) {
  CHECK(sink != nullptr, "assignments go somewhere");
  const MutexLock lock(mutex_);
  if (stopping_) {
    return ServerIsStopping();
  }
  RETURN_IF_ERROR(CheckPlace(terms, max_workers));
  Places& places = places_[terms.client];
  ++(terms.waiter ? places.waiters : places.others);
  const WorkerId id = next_worker_++;
  if (terms.takes != kAllClasses) ++restricted_;
  if (terms.waiter) {
    ++waiting_;
    waiters_.emplace(terms.waits_until, id);
  }
  WorkerKey key = {terms.client, terms.name};
  roster_.Saw(key, terms.address, clock_.Now());
  workers_[id] = {.terms = std::move(terms), .key = std::move(key), .sink = std::move(sink)};
  return id;
}

void Dispatcher::Grant(WorkerId id, uint64_t assignments) {
  {
    const MutexLock lock(mutex_);
    const auto it = workers_.find(id);
    if (it == workers_.end()) return;
    const uint64_t left = max_credit_ - std::min(max_credit_, it->second.credit);
    it->second.credit += std::min(assignments, left);
    roster_.Saw(it->second.key, {}, clock_.Now());
    Queue(id, it->second);
    // While pages are being leased, Finish wakes the thread, unless it is to look at the clock
    // before.
    const WorkerTerms& terms = it->second.terms;
    if (in_refill_ > 0 && (!terms.waiter || terms.waits_until >= wake_)) return;
  }
  condition_.NotifyOne();
}

uint64_t Dispatcher::FreeCredit(WorkerId id) const {
  const MutexLock lock(mutex_);
  const auto it = workers_.find(id);
  return it == workers_.end() ? 0 : it->second.free_credit();
}

uint64_t Dispatcher::TakeCredit(WorkerId id, uint64_t most) {
  const MutexLock lock(mutex_);
  const auto it = workers_.find(id);
  if (it == workers_.end()) return 0;
  const uint64_t taken = std::min(most, it->second.free_credit());
  it->second.credit -= taken;
  return taken;
}

void Dispatcher::Leave(WorkerId id) {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    if (!workers_.contains(id)) return;
    Dismiss(id);
    std::deque<Ready> kept;
    for (Ready& ready : ready_) {
      if (ready.worker == id) {
        TakeBack(ready.assignment, &actions);
      } else {
        kept.push_back(std::move(ready));
      }
    }
    ready_ = std::move(kept);
  }
  Perform(actions);
}

bool Dispatcher::Linger(WorkerId id, Duration patience) {
  const MutexLock lock(mutex_);
  const auto it = workers_.find(id);
  if (it == workers_.end() || it->second.credit == 0) return false;
  it->second.lingers = patience;
  SetWait(id, it->second, clock_.Now() + patience);
  condition_.NotifyOne();
  return true;
}

void Dispatcher::EndWait(WorkerId id, const Worker& worker) {
  DCHECK(worker.terms.waiter || worker.lingers, "worker {} waits for nothing", id);
  const auto [first, last] = waiters_.equal_range(worker.terms.waits_until);
  const auto own = std::find_if(first, last, [&](const auto& w) { return w.second == id; });
  if (own != last) waiters_.erase(own);
}

void Dispatcher::SetWait(WorkerId id, Worker& worker, Instant until) {
  EndWait(id, worker);
  worker.terms.waits_until = until;
  waiters_.emplace(until, id);
}

void Dispatcher::Dismiss(WorkerId id) {
  const auto it = workers_.find(id);
  CHECK(it != workers_.end());
  Worker& worker = it->second;
  if (worker.terms.takes != kAllClasses) --restricted_;
  if (worker.terms.waiter) --waiting_;
  const auto places = places_.find(worker.terms.client);
  --(worker.terms.waiter ? places->second.waiters : places->second.others);
  if (places->second.waiters + places->second.others == 0) places_.erase(places);
  if (worker.terms.waiter || worker.lingers) EndWait(id, worker);
  if (worker.crowded) {
    std::erase(crowded_, id);
  } else if (const auto full = full_.find(worker.key); worker.full && full != full_.end()) {
    std::erase(full->second, id);
    if (full->second.empty()) full_.erase(full);
  }
  workers_.erase(it);
}

void Dispatcher::GiveBack(const std::vector<LeaseId>& leases, bool never_left) {
  for (const LeaseId lease : leases) {
    ReturnLease event{lease};
    event.never_left = never_left;
    router_.SubmitAlways(SlotOfLease(lease), std::move(event), nullptr);
  }
}

void Dispatcher::TakeBack(const Assignment& assignment, Actions* actions) {
  ReturnLease event{assignment.lease};
  event.never_left = true;
  event.host_left = departures_.LeftAt(assignment.host);
  actions->give_back.push_back(std::move(event));
}

// What was set aside did not come about.
void Dispatcher::Unreserve(WorkerId id, Actions* actions) {
  const auto it = workers_.find(id);
  if (it == workers_.end()) return;
  Worker& worker = it->second;
  CHECK(worker.reserved > 0, "worker {} has nothing set aside", id);
  --worker.reserved;
  const bool over = worker.terms.waiter && worker.reserved == 0 &&
                    (worker.served || worker.terms.waits_until <= clock_.Now());
  if (over) {
    actions->For(id, worker.sink).outlook = worker.served ? Outlook::kServed : Outlook::kTimeOut;
    return Dismiss(id);
  }
  Queue(id, worker);
}

// Gives back what is ready behind the first `keep`.
void Dispatcher::DropReady(size_t keep, Actions* actions) {
  while (ready_.size() > keep) {
    Ready last = std::move(ready_.back());
    ready_.pop_back();
    TakeBack(last.assignment, actions);
    Unreserve(last.worker, actions);
  }
}

// --- Settings

Rate Dispatcher::SetRate(Rate rate) {
  Actions actions;
  Rate before;
  {
    const MutexLock lock(mutex_);
    const Instant now = clock_.Now();
    before = pacer_.rate();
    pacer_.SetRate(rate, now);
    // At a lower rate some would wait long for their tick: they compete again instead.
    const double ticks = lookahead_.seconds() * rate.per_second();
    DropReady(rate.per_second() == 0 ? 0 : static_cast<size_t>(ticks) + 1, &actions);
    condition_.NotifyOne();
  }
  Perform(actions);
  return before;
}

void Dispatcher::SetShares(const std::vector<ClassTerms>& terms) {
  const MutexLock lock(mutex_);
  shares_.Set(terms, clock_.Now());
  barren_until_ = Instant::None();
  condition_.NotifyOne();
}

bool Dispatcher::SetPaused(bool paused, std::string reason) {
  Actions actions;
  std::vector<std::shared_ptr<AssignmentSink>> sinks;
  bool before = false;
  {
    const MutexLock lock(mutex_);
    before = std::exchange(paused_, paused);
    pause_reason_ = paused ? std::move(reason) : std::string();
    if (paused) DropReady(0, &actions);
    if (before != paused) {
      for (auto& [id, worker] : workers_) sinks.push_back(worker.sink);
    }
    condition_.NotifyOne();
  }
  for (const auto& sink : sinks) sink->OnPause(paused);
  Perform(actions);
  return before;
}

void Dispatcher::SetStalled(const Status& why) {
  std::vector<std::shared_ptr<AssignmentSink>> sinks;
  {
    const MutexLock lock(mutex_);
    stalled_ = why;
    for (auto& [id, worker] : workers_) sinks.push_back(worker.sink);
    if (why.ok()) barren_until_ = Instant::None();
    condition_.NotifyOne();
  }
  for (const auto& sink : sinks) sink->OnStall(why);
}

void Dispatcher::Poke() {
  const MutexLock lock(mutex_);
  if (!barren_ || !stalled_.ok()) return;
  barren_until_ = Instant::None();
  condition_.NotifyOne();
}

// --- The loop

void Dispatcher::Run() {
  while (true) {
    Actions actions;
    {
      const MutexLock lock(mutex_);
      if (stopping_) return;
      LookAtTurn(&actions);
      const Instant now = clock_.Now();
      ExpireWaiters(now, &actions);
      CountMissed(now);
      Release(now, &actions);
      Plan(now, &actions);
      if (actions.empty()) {
        wake_ = NextWake(now);
        condition_.WaitFor(mutex_, (wake_ - clock_.Now()).chrono());
      }
    }
    Perform(actions);
  }
}

void Dispatcher::LookAtTurn(Actions* actions) {
  const std::optional<uint64_t> turn = ask_turn_ ? ask_turn_() : 0;
  // Another server may have had the pages since, and may have handed them out.
  if (turn != turn_) DropReady(0, actions);
  turn_ = turn;
}

void Dispatcher::ExpireWaiters(Instant now, Actions* actions) {
  while (!waiters_.empty() && waiters_.begin()->first <= now) {
    const WorkerId id = waiters_.begin()->second;
    Worker& worker = workers_.at(id);
    if (worker.reserved == 0 && MayYetBeServed(worker)) {
      worker.held_for = open_refill_;
      SetWait(id, worker, now + kMinBarrenWait);
    } else if (worker.reserved == 0) {
      actions->For(id, worker.sink).outlook = Outlook::kTimeOut;
      Dismiss(id);
    } else if (worker.lingers) {
      SetWait(id, worker, now + kLastWait);
    } else {
      // It is told when what is set aside for it has come or failed.
      waiters_.erase(waiters_.begin());
    }
  }
}

void Dispatcher::CountMissed(Instant now) {
  const auto missed = static_cast<uint64_t>(pacer_.SkipMissed(now));
  if (missed == 0) return;
  const bool credit = std::any_of(workers_.begin(), workers_.end(), [](const auto& entry) {
    return entry.second.credit > 0 && !entry.second.full && !entry.second.sink->behind();
  });
  if (paused_) {
    stats_.ticks_paused += missed;
  } else if (!credit) {
    stats_.ticks_without_credit += missed;
  } else if (!turn_ || !stalled_.ok()) {
    stats_.ticks_stalled += missed;
  } else if (barren_) {
    stats_.ticks_without_page += missed;
  } else {
    stats_.ticks_late += missed;
  }
}

void Dispatcher::Release(Instant now, Actions* actions) {
  if (paused_ || !turn_) return;
  bool to_stream = false;
  while (!ready_.empty() && pacer_.next() <= now && ReleaseTime() <= now) {
    Ready ready = std::move(ready_.front());
    ready_.pop_front();
    if (!MayLeave(ready, now)) {
      TakeBack(ready.assignment, actions);
      Unreserve(ready.worker, actions);
      continue;
    }
    (void)pacer_.Use();
    const auto it = workers_.find(ready.worker);
    CHECK(it != workers_.end(), "ready for a worker that is gone");
    Worker& worker = it->second;
    CHECK(worker.credit > 0 && worker.reserved > 0, "worker {}: {} set aside of {}", ready.worker,
          worker.reserved, worker.credit);
    --worker.credit;
    --worker.reserved;
    worker.served = true;
    to_stream |= !worker.terms.waiter;
    ++stats_.assignments;
    stats_.forced_assignments += std::isinf(ready.assignment.value) ? 1 : 0;
    recent_.push_front({.at = now,
                        .url = ready.assignment.key.url,
                        .worker = worker.terms.name,
                        .value = ready.assignment.value});
    if (recent_.size() > kRecentAssignments) recent_.pop_back();
    Actions::Delivery& delivery = actions->For(ready.worker, worker.sink);
    delivery.assignments.push_back(std::move(ready.assignment));
    if (worker.lingers) SetWait(ready.worker, worker, now + *worker.lingers);
    if (worker.terms.waiter ? worker.reserved == 0 : worker.lingers && worker.credit == 0) {
      delivery.outlook = Outlook::kServed;
      Dismiss(ready.worker);
    }
  }
  const bool close = pacer_.rate().per_second() * kTogether.seconds() > 1;
  if (close && to_stream) next_release_ = now + kTogether;
}

bool Dispatcher::MayLeave(const Ready& ready, Instant now) {
  const Assignment& its = ready.assignment;
  if (its.deadline - now < now - its.at) return false;
  return departures_.Leave(its.host, ready.spacing, its.at, now);
}

Instant Dispatcher::ReleaseTime() const {
  const Ready& first = ready_.front();
  const auto it = workers_.find(first.worker);
  // A call that waits is answered once: nothing is gained by making it wait for others.
  const bool waiter = it != workers_.end() && it->second.terms.waiter;
  return waiter ? first.assignment.at : std::max(first.assignment.at, next_release_);
}

bool Dispatcher::CanPlan(Instant now) const {
  return !paused_ && turn_ && !stopping_ && in_refill_ == 0 && AnyInTurn() &&
         pacer_.rate().per_second() > 0 && barren_until_ <= now;
}

Instant Dispatcher::TickAfter(size_t ticks, Instant now) const {
  const Instant next = std::max(pacer_.next(), now);
  return next + Duration::FromSeconds(static_cast<double>(ticks) / pacer_.rate().per_second());
}

size_t Dispatcher::Ahead(Instant now) const {
  return ready_.size() - std::min(ready_.size(), static_cast<size_t>(pacer_.Overdue(now)));
}

void Dispatcher::Plan(Instant now, Actions* actions) {
  if (!CanPlan(now)) return;
  const size_t ahead = Ahead(now);
  const Instant first = TickAfter(ahead, now);
  if (first > now + Scaled(lookahead_, 0.75)) return;
  // For ticks that have passed and can still be used, and for those up to the lookahead.
  const auto overdue = static_cast<size_t>(pacer_.Overdue(now)) - (ready_.size() - ahead);
  const double ticks = (now + lookahead_ - first).seconds() * pacer_.rate().per_second() +
                       static_cast<double>(overdue);
  CHECK(ready_.size() <= limits::kMaxReadyAssignments, "{} are ready", ready_.size());
  const double room = static_cast<double>(
      std::min(limits::kMaxEventsPerCommit, limits::kMaxReadyAssignments - ready_.size()));
  const auto count = static_cast<size_t>(std::min(std::floor(ticks) + 1, room));
  auto refill = std::make_shared<Refill>(router_.shards().size());
  refill->asked = now;
  refill->turn = turn_;
  planned_in_row_ = proven_in_row_;
  Instant at = last_at_;
  for (size_t i = 0; i < count; ++i) {
    at = std::max(at, TickAfter(ahead + i - std::min(i, overdue), now));
    refill->terms.push_back({.at = at, .worker = {}, .client = {}, .lease = {}});
  }
  restricted_ > 0 ? AskForAnybody(refill.get()) : AskInTurn(refill.get());
  if (refill->terms.empty()) return;
  last_at_ = refill->terms.back().at;
  in_refill_ = refill->terms.size();
  const ClassSet takers = refill->owners.takers;
  refill->owners = shares_.Next(refill->terms.size(), refill->terms.front().at);
  refill->owners.takers = asked_for_ = takers;
  refill->owners.forced_first = forced_share_.Next(refill->terms.size());
  if (refill->open) open_refill_ = ++refills_;
  actions->refill = std::move(refill);
}

Instant Dispatcher::NextWake(Instant now) const {
  Instant wake = now + kIdle;
  if (!waiters_.empty()) wake = std::min(wake, waiters_.begin()->first);
  if (paused_ || pacer_.rate().per_second() == 0) return wake;
  if (!turn_) return std::min(wake, now + kHeldBackWait);
  if (!ready_.empty()) {
    wake = std::min(wake, std::max(pacer_.next(), ReleaseTime()));
  }
  if (in_refill_ == 0 && AnyInTurn() && ready_.size() < limits::kMaxReadyAssignments) {
    const Instant plan = TickAfter(Ahead(now), now) - Scaled(lookahead_, 0.75);
    wake = std::min(wake, std::max(plan, barren_until_));
  }
  return wake;
}

void Dispatcher::Perform(Actions& actions) {
  for (Actions::Delivery& delivery : actions.deliveries) {
    delivery.sink->Deliver(std::move(delivery.assignments), delivery.outlook);
  }
  for (ReturnLease& event : actions.give_back) {
    const Slot slot = SlotOfLease(event.lease);
    router_.SubmitAlways(slot, std::move(event), nullptr);
  }
  if (actions.refill != nullptr) Send(actions.refill);
}

// --- Pages from the shards

void Dispatcher::Send(const std::shared_ptr<Refill>& refill) {
  const auto& shards = router_.shards();
  std::vector<Instant> ticks;
  for (const LeaseTerms& terms : refill->terms) ticks.push_back(terms.at);
  std::vector<std::vector<GroupNews>> news;
  {
    const MutexLock lock(groups_mutex_);
    news = groups_.TakeNews();
  }
  for (size_t shard = 0; shard < shards.size(); ++shard) {
    BidRequest request{.at = ticks,
                       .owners = refill->owners,
                       .groups = std::move(news[shard]),
                       .others = shards.size() > 1,
                       .done = {}};
    request.done = [this, refill, shard](ShardBid bid) {
      refill->bids[shard] = std::move(bid);
      if (refill->bid.Arrive()) SettleBids(refill);
    };
    shards[shard]->Submit(std::move(request));
  }
}

void Dispatcher::OnGroups(uint16_t shard, const std::vector<GroupStanding>& standings) {
  if (router_.shards().size() == 1) return;  // which knows all of its groups
  const MutexLock lock(groups_mutex_);
  groups_.Hear(shard, standings, clock_.Now());
}

void Dispatcher::SettleBids(const std::shared_ptr<Refill>& refill) {
  const auto& shards = router_.shards();
  std::vector<SettleRequest> requests(shards.size());
  std::vector<std::vector<size_t>> places(shards.size());
  std::vector<std::vector<bool>> taken(shards.size());
  for (size_t shard = 0; shard < shards.size(); ++shard) {
    refill->bids[shard].pages = shards[shard]->snapshot().counters.pages;
    taken[shard].resize(refill->bids[shard].picks.size());
  }
  const RankedBids ranked = Rank(*refill);
  refill->cut = ranked.cut;
  const bool owned = !refill->owners.of_tick.empty();
  if (owned) refill->classes.resize(refill->terms.size());
  refill->spacings.resize(refill->terms.size());
  for (const auto& [term, shard, i] : ranked.taken) {
    CHECK(i < taken[shard].size() && !taken[shard][i], "shard {} bids {} pages", shard,
          taken[shard].size());
    const Pick& pick = refill->bids[shard].picks[i];
    taken[shard][i] = true;
    if (owned) refill->classes[term] = pick.crawl_class;
    refill->spacings[term] = {
        .of_host = pick.host_delay, .group = pick.group, .of_group = pick.group_terms.min_delay};
    requests[shard].leases.push_back({.pick = pick, .terms = refill->terms[term]});
    places[shard].push_back(term);
  }
  refill->assignments.resize(refill->terms.size());
  for (size_t shard = 0; shard < shards.size(); ++shard) {
    const std::vector<Pick>& picks = refill->bids[shard].picks;
    for (size_t i = 0; i < picks.size(); ++i) {
      if (!taken[shard][i]) requests[shard].put_back.push_back(picks[i].page);
    }
    requests[shard].done = [this, refill, place = std::move(places[shard])](
                               std::vector<std::optional<Assignment>> assignments) {
      CHECK(assignments.size() == place.size(), "{} answers to {} picks", assignments.size(),
            place.size());
      for (size_t i = 0; i < place.size(); ++i) {
        refill->assignments[place[i]] = std::move(assignments[i]);
      }
      if (refill->settled.Arrive()) Finish(refill);
    };
    shards[shard]->Submit(std::move(requests[shard]));
  }
}

void Dispatcher::Finish(const std::shared_ptr<Refill>& refill) {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    CHECK(in_refill_ == refill->terms.size() && refill->assignments.size() == in_refill_,
          "{} answers to {} terms of {}", refill->assignments.size(), refill->terms.size(),
          in_refill_);
    const Instant now = clock_.Now();
    in_refill_ = 0;
    open_refill_ = 0;
    // There is no tick for it any more if the rate went to zero meanwhile.
    const bool no_use = stopping_ || paused_ || pacer_.rate() == Rate() || refill->turn != turn_;
    bool any = false;
    bool short_of_pages = false;
    const uint64_t newcomer_leases = allowances_.newcomer_leases();
    for (size_t i = 0; i < refill->workers.size(); ++i) {
      const WorkerId worker = refill->workers[i];
      std::optional<Assignment>& assignment = refill->assignments[i];
      any |= assignment.has_value();
      short_of_pages |= !assignment;
      if (worker == kNobody) continue;
      if (assignment && !refill->classes.empty()) shares_.Use(refill->classes[i]);
      const WorkerKey key = {refill->terms[i].client, refill->terms[i].worker};
      allowances_.Settle(key);
      LetIn(key);
      if (!assignment) {
        Unreserve(worker, &actions);
      } else if (no_use || !workers_.contains(worker)) {
        TakeBack(*assignment, &actions);
        Unreserve(worker, &actions);
      } else {
        // Where pages are scarce most terms get none: whose turn it is goes by those that do.
        CountInRow(!allowances_.proven(key), proven_in_row_);
        ready_.push_back({.assignment = *std::move(assignment),
                          .worker = worker,
                          .spacing = refill->spacings[i]});
      }
    }
    LetInNewcomers(newcomer_leases);
    // What was cut off is asked for again at once.
    if (refill->cut && any) short_of_pages = false;
    const Duration target = std::clamp((now - refill->asked) * 2, kMinLookahead, kMaxLookahead);
    lookahead_ = std::max(target, Scaled(lookahead_, 0.9) + Scaled(target, 0.1));
    barren_wait_ =
        short_of_pages && barren_ ? std::min(barren_wait_ * 2, kMaxBarrenWait) : kMinBarrenWait;
    if (!stalled_.ok()) barren_wait_ = kStalledWait;
    barren_ = short_of_pages;
    barren_until_ = short_of_pages ? now + barren_wait_ : Instant::None();
    condition_.NotifyOne();
    refilled_.NotifyAll();
  }
  Perform(actions);
}

// --- What others may see

bool Dispatcher::paused() const {
  const MutexLock lock(mutex_);
  return paused_;
}

std::optional<std::string> Dispatcher::pause() const {
  const MutexLock lock(mutex_);
  return paused_ ? std::optional(pause_reason_) : std::nullopt;
}

Status Dispatcher::stalled() const {
  const MutexLock lock(mutex_);
  return stalled_;
}

Rate Dispatcher::rate() const {
  const MutexLock lock(mutex_);
  return pacer_.rate();
}

DispatchStats Dispatcher::stats() const {
  const MutexLock lock(mutex_);
  DispatchStats stats = stats_;
  for (const auto& [id, worker] : workers_) {
    if (worker.terms.waiter) {
      stats.waiting_credit += worker.credit;
      continue;
    }
    ++stats.workers;
    stats.credit += worker.credit;
    stats.workers_at_allowance += worker.full ? 1 : 0;
  }
  stats.allowances_reduced = allowances_.reduced();
  stats.newcomer_leases = allowances_.newcomer_leases();
  stats.ready = ready_.size();
  stats.lookahead = lookahead_;
  stats.rate = pacer_.rate();
  stats.paused = paused_;
  stats.pause_reason = pause_reason_;
  return stats;
}

std::vector<RecentAssignment> Dispatcher::recent() const {
  const MutexLock lock(mutex_);
  return {recent_.begin(), recent_.end()};
}

}  // namespace freshet
