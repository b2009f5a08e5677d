#include "server/engine/dispatcher.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/schedule/shard_state.h"
#include "server/base/limits.h"
#include "server/base/refusals.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

// While this server does not have the turn, it asks for it at this interval.
constexpr Duration kHeldBackWait = Duration::Millis(100);
constexpr Duration kIdle = Duration::Millis(500);
constexpr size_t kRecentAssignments = 50;
// The maximum number of consecutive ticks that one worker gets before the next worker's turn.
constexpr double kLongestRun = 32;

Duration Scaled(Duration duration, double factor) {
  return Duration::FromSeconds(duration.seconds() * factor);
}

// The instant of the tick that comes `ticks` ticks after the next one.
Instant TickAfter(const Pacer& pacer, size_t ticks, Instant now) {
  const Instant next = std::max(pacer.next(), now);
  return next + Duration::FromSeconds(static_cast<double>(ticks) / pacer.rate().per_second());
}

}  // namespace

struct Dispatcher::Actions {
  Deliveries deliveries;
  std::vector<ReturnLease> give_back;
  std::shared_ptr<Refill> refill;

  [[nodiscard]] bool empty() const {
    return deliveries.empty() && give_back.empty() && refill == nullptr;
  }
  void Perform(Router& router, Bidding& bidding) &&;
};

void Dispatcher::Actions::Perform(Router& router, Bidding& bidding) && {
  std::move(deliveries).Deliver();
  for (ReturnLease& event : give_back) router.Return(std::move(event));
  if (refill != nullptr) bidding.Send(refill);
}

Dispatcher::Dispatcher(Router& router, Clock& clock, Rate rate, const WorkerLimits& workers,
                       Duration max_lateness, double forced_share)
    : router_(router),
      clock_(clock),
      bidding_(
          router, clock,
          [this](Refill& refill, size_t term, const Pick& pick) {
            return FindWorker(refill, term, pick);
          },
          [this](Refill& refill) { Finish(refill); }),
      workers_(workers),
      pacer_(rate, clock.Now(), max_lateness),
      forced_share_(forced_share) {}

Dispatcher::~Dispatcher() { Stop(); }

void Dispatcher::Start(Turn ask_turn) {
  CHECK(!thread_.joinable(), "runs already");
  ask_turn_ = std::move(ask_turn);
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
    DropReady(0, clock_.Now(), &actions);
    // Shards still run for a while and report leases, so waiters must be removed now.
    workers_.EndAllWaits(&actions.deliveries);
  }
  std::move(actions).Perform(router_, bidding_);
}

// --- Workers

StatusOr<WorkerId> Dispatcher::Join(WorkerTerms terms, std::shared_ptr<AssignmentSink> sink,
                                    size_t max_workers) {
  const MutexLock lock(mutex_);
  if (stopping_) {
    return ServerIsStopping();
  }
  ASSIGN_OR_RETURN(const WorkerId id,
                   workers_.Join(std::move(terms), std::move(sink), max_workers));
  const WorkerPool::Worker& worker = *workers_.Find(id);
  roster_.Saw(worker.key, worker.terms.address, clock_.Now());
  return id;
}

void Dispatcher::Grant(WorkerId id, uint64_t assignments) {
  {
    const MutexLock lock(mutex_);
    const WorkerPool::Worker* const worker = workers_.Grant(id, assignments);
    if (worker == nullptr) return;
    roster_.Saw(worker->key, {}, clock_.Now());
    // While pages are being leased, Finish will wake the thread, so there is no need to do it here.
    // The exception is a waiter whose wait ends before the thread's next wake-up.
    const WorkerTerms& terms = worker->terms;
    if (in_refill_ > 0 && (!terms.waiter || terms.waits_until >= wake_)) return;
  }
  condition_.NotifyOne();
}

uint64_t Dispatcher::FreeCredit(WorkerId id) const {
  const MutexLock lock(mutex_);
  const WorkerPool::Worker* const worker = workers_.Find(id);
  return worker == nullptr ? 0 : worker->free_credit();
}

uint64_t Dispatcher::TakeCredit(WorkerId id, uint64_t most) {
  const MutexLock lock(mutex_);
  return workers_.TakeCredit(id, most);
}

void Dispatcher::Leave(WorkerId id) {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    if (workers_.Find(id) == nullptr) return;
    workers_.Remove(id);
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
  std::move(actions).Perform(router_, bidding_);
}

bool Dispatcher::Linger(WorkerId id, Duration patience) {
  const MutexLock lock(mutex_);
  if (!workers_.Linger(id, patience, clock_.Now())) return false;
  condition_.NotifyOne();
  return true;
}

void Dispatcher::OnLeases(const LeaseTallies& tallies) {
  const Instant now = clock_.Now();
  roster_.Count(tallies, now);
  WorkerPool::LeaseNews news;
  {
    const MutexLock lock(mutex_);
    news = workers_.OnLeases(tallies, now);
    if (news.let_in) condition_.NotifyOne();
  }
  for (const WorkerPool::Told& each : news.told) each.sink->OnAllowance(each.leases, each.whole);
}

void Dispatcher::TakeBack(const Assignment& assignment, Actions* actions) {
  ReturnLease event{assignment.lease};
  event.never_left = true;
  event.host_left = departures_.LeftAt(assignment.host);
  actions->give_back.push_back(std::move(event));
}

void Dispatcher::DropReady(size_t keep, Instant now, Actions* actions) {
  while (ready_.size() > keep) {
    const Ready last = std::move(ready_.back());
    ready_.pop_back();
    TakeBack(last.assignment, actions);
    workers_.Unreserve(last.worker, now, &actions->deliveries);
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
    // At a lower rate, some ready pages would wait long for their tick. Their leases are returned,
    // and the pages compete again.
    const double ticks = lookahead_.time().seconds() * rate.per_second();
    DropReady(rate.per_second() == 0 ? 0 : static_cast<size_t>(ticks) + 1, now, &actions);
    condition_.NotifyOne();
  }
  std::move(actions).Perform(router_, bidding_);
  return before;
}

void Dispatcher::SetShares(const std::vector<ClassTerms>& terms) {
  const MutexLock lock(mutex_);
  shares_.Set(terms, clock_.Now());
  lookahead_.EndWait();
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
    if (paused) DropReady(0, clock_.Now(), &actions);
    if (before != paused) sinks = workers_.sinks();
    condition_.NotifyOne();
  }
  for (const auto& sink : sinks) sink->OnPause(paused);
  std::move(actions).Perform(router_, bidding_);
  return before;
}

void Dispatcher::SetStalled(const Status& why) {
  std::vector<std::shared_ptr<AssignmentSink>> sinks;
  {
    const MutexLock lock(mutex_);
    stalled_ = why;
    sinks = workers_.sinks();
    if (why.ok()) lookahead_.EndWait();
    condition_.NotifyOne();
  }
  for (const auto& sink : sinks) sink->OnStall(why);
}

void Dispatcher::Poke() {
  const MutexLock lock(mutex_);
  if (!lookahead_.barren() || !stalled_.ok()) return;
  lookahead_.EndWait();
  condition_.NotifyOne();
}

// --- The loop

void Dispatcher::Run() {
  while (true) {
    Actions actions;
    {
      const MutexLock lock(mutex_);
      if (stopping_) return;
      LookAtTurn(clock_.Now(), &actions);
      const Instant now = clock_.Now();
      workers_.EndWaits(now, &actions.deliveries);
      CountMissed(now);
      Release(now, &actions);
      Plan(now, &actions);
      if (actions.empty()) {
        wake_ = NextWake(now);
        condition_.WaitFor(mutex_, (wake_ - clock_.Now()).chrono());
      }
    }
    std::move(actions).Perform(router_, bidding_);
  }
}

void Dispatcher::LookAtTurn(Instant now, Actions* actions) {
  const std::optional<uint64_t> turn = ask_turn_ ? ask_turn_() : 0;
  // Between the two turns, another server may have handed out the same pages.
  if (turn != turn_) DropReady(0, now, actions);
  turn_ = turn;
}

void Dispatcher::CountMissed(Instant now) {
  const auto missed = static_cast<uint64_t>(pacer_.SkipMissed(now));
  if (missed == 0) return;
  if (paused_) {
    stats_.ticks_paused += missed;
  } else if (!workers_.AnyWithCredit()) {
    stats_.ticks_without_credit += missed;
  } else if (!turn_ || !stalled_.ok()) {
    stats_.ticks_stalled += missed;
  } else if (lookahead_.barren()) {
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
      workers_.Unreserve(ready.worker, now, &actions->deliveries);
      continue;
    }
    (void)pacer_.Use();
    ++stats_.assignments;
    stats_.forced_assignments += std::isinf(ready.assignment.value) ? 1 : 0;
    recent_.push_front({.at = now,
                        .url = ready.assignment.key.url,
                        .worker = {},
                        .value = ready.assignment.value});
    if (recent_.size() > kRecentAssignments) recent_.pop_back();
    WorkerPool::Served served =
        workers_.Serve(ready.worker, std::move(ready.assignment), now, &actions->deliveries);
    to_stream |= !served.waiter;
    recent_.front().worker = std::move(served.worker);
  }
  const bool close = pacer_.rate().per_second() * kTogether.seconds() > 1;
  if (close && to_stream) next_release_ = now + kTogether;
}

bool Dispatcher::MayLeave(const Ready& ready, Instant now) {
  const Assignment& assignment = ready.assignment;
  if (assignment.deadline - now < now - assignment.at) return false;
  return departures_.Leave(assignment.host, ready.spacing, assignment.at, now);
}

Instant Dispatcher::ReleaseTime() const {
  const Ready& first = ready_.front();
  const WorkerPool::Worker* const worker = workers_.Find(first.worker);
  // A waiter gets only one answer, so there is nothing to gain by combining messages.
  return worker != nullptr && worker->terms.waiter ? first.assignment.at
                                                   : std::max(first.assignment.at, next_release_);
}

bool Dispatcher::CanPlan(Instant now) const {
  return !paused_ && turn_ && !stopping_ && in_refill_ == 0 && workers_.in_turn() > 0 &&
         pacer_.rate().per_second() > 0 && BarrenUntil() <= now;
}

// If workers that take other classes have come since the last request, the request's lack of pages
// says nothing about pages of those classes.
Instant Dispatcher::BarrenUntil() const {
  return workers_.unasked() == 0 ? lookahead_.barren_until() : Instant::None();
}

size_t Dispatcher::Ahead(Instant now) const {
  return ready_.size() - std::min(ready_.size(), static_cast<size_t>(pacer_.Overdue(now)));
}

void Dispatcher::Plan(Instant now, Actions* actions) {
  if (!CanPlan(now)) return;
  const size_t ahead = Ahead(now);
  const Instant first = TickAfter(pacer_, ahead, now);
  if (first > now + Scaled(lookahead_.time(), 0.75)) return;
  // Counts ticks that have passed but can still be used, and ticks up to the lookahead.
  const auto overdue = static_cast<size_t>(pacer_.Overdue(now)) - (ready_.size() - ahead);
  const double ticks = (now + lookahead_.time() - first).seconds() * pacer_.rate().per_second() +
                       static_cast<double>(overdue);
  CHECK(ready_.size() <= limits::kMaxReadyAssignments, "{} are ready", ready_.size());
  const double room = static_cast<double>(
      std::min(limits::kMaxEventsPerCommit, limits::kMaxReadyAssignments - ready_.size()));
  const auto count = static_cast<size_t>(std::min(std::floor(ticks) + 1, room));
  auto refill = std::make_shared<Refill>(router_.shards().size());
  refill->asked = now;
  refill->turn = turn_;
  Instant at = last_at_;
  for (size_t i = 0; i < count; ++i) {
    at = std::max(at, TickAfter(pacer_, ahead + i - std::min(i, overdue), now));
    refill->terms.push_back({.at = at, .worker = {}, .client = {}, .lease = {}});
  }
  // Ticks that are used together go to one worker, so that one message carries all of them.
  const double together = pacer_.rate().per_second() * kTogether.seconds();
  const auto run = static_cast<size_t>(std::clamp(together, 1.0, kLongestRun));
  const WorkerPool::Asked asked = workers_.Ask(run, &refill->terms, &refill->workers);
  if (refill->terms.empty()) return;
  last_at_ = refill->terms.back().at;
  in_refill_ = refill->terms.size();
  refill->owners = shares_.Next(refill->terms.size(), refill->terms.front().at);
  refill->owners.takers = asked.takers;
  refill->owners.forced_first = forced_share_.Next(refill->terms.size());
  refill->open = asked.open;
  actions->refill = std::move(refill);
}

Instant Dispatcher::NextWake(Instant now) const {
  Instant wake = now + kIdle;
  wake = std::min(wake, workers_.next_end());
  if (paused_ || pacer_.rate().per_second() == 0) return wake;
  if (!turn_) return std::min(wake, now + kHeldBackWait);
  if (!ready_.empty()) {
    wake = std::min(wake, std::max(pacer_.next(), ReleaseTime()));
  }
  if (in_refill_ == 0 && workers_.in_turn() > 0 && ready_.size() < limits::kMaxReadyAssignments) {
    const Instant plan = TickAfter(pacer_, Ahead(now), now) - Scaled(lookahead_.time(), 0.75);
    wake = std::min(wake, std::max(plan, BarrenUntil()));
  }
  return wake;
}

// --- Pages from the shards

bool Dispatcher::FindWorker(Refill& refill, size_t term, const Pick& pick) {
  const MutexLock lock(mutex_);
  // A plan knows no classes, so its pages are for workers that take all classes.
  const ClassSet classes = pick.planned ? kAllClasses : SetOf(pick.crawl_class);
  refill.workers[term] = workers_.TakeFor(classes, &refill.terms[term]);
  return refill.workers[term] != WorkerPool::kNobody;
}

void Dispatcher::Finish(Refill& refill) {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    CHECK(in_refill_ == refill.terms.size() && refill.assignments.size() == in_refill_,
          "{} answers to {} terms of {}", refill.assignments.size(), refill.terms.size(),
          in_refill_);
    const Instant now = clock_.Now();
    in_refill_ = 0;
    // If the rate was set to zero since the request, there is no tick for the pages.
    const bool no_use = stopping_ || paused_ || pacer_.rate() == Rate() || refill.turn != turn_;
    std::vector<bool> page;
    for (const auto& assignment : refill.assignments) page.push_back(assignment && !no_use);
    const std::vector<bool> there =
        workers_.Settle(refill.workers, refill.terms, page, now, &actions.deliveries);
    bool any = false;
    bool short_of_pages = false;
    for (size_t i = 0; i < refill.workers.size(); ++i) {
      std::optional<Assignment>& assignment = refill.assignments[i];
      any |= assignment.has_value();
      short_of_pages |= !assignment;
      if (!assignment) continue;
      if (!refill.classes.empty()) shares_.Use(refill.classes[i]);
      if (there[i]) {
        ready_.push_back({.assignment = *std::move(assignment),
                          .worker = refill.workers[i],
                          .spacing = refill.spacings[i]});
      } else {
        TakeBack(*assignment, &actions);
      }
    }
    // If the ranking was cut short, pages for the remaining ticks are requested again at once.
    if (refill.cut && any) short_of_pages = false;
    lookahead_.Note(now - refill.asked, short_of_pages, !stalled_.ok(), now);
    condition_.NotifyOne();
    refilled_.NotifyAll();
  }
  std::move(actions).Perform(router_, bidding_);
}

// --- What others may see

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
  workers_.AddTo(&stats);
  stats.ready = ready_.size();
  stats.lookahead = lookahead_.time();
  stats.rate = pacer_.rate();
  stats.paused = paused_;
  stats.pause_reason = pause_reason_;
  return stats;
}

std::optional<WorkerAllowances::Full> Dispatcher::FullBy(const WorkerKey& worker) const {
  const MutexLock lock(mutex_);
  return workers_.FullBy(worker);
}

std::vector<WorkerRecord> Dispatcher::workers() const {
  std::vector<WorkerRecord> records = roster_.records();
  const MutexLock lock(mutex_);
  workers_.AddTo(&records);
  return records;
}

std::vector<RecentAssignment> Dispatcher::recent() const {
  const MutexLock lock(mutex_);
  return {recent_.begin(), recent_.end()};
}

}  // namespace freshet
