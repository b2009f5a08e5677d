// Hands out assignments at the constant crawl rate. Pages are picked and leased a little ahead of
// their tick, so that the commit is over when the tick comes; they leave at their tick, each to a
// worker whose credit was set aside for it. Ticks without an assignment are gone and counted.
#ifndef FRESHET_SERVER_ENGINE_DISPATCHER_H_
#define FRESHET_SERVER_ENGINE_DISPATCHER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/schedule/event.h"
#include "core/schedule/forced_share.h"
#include "core/schedule/pacer.h"
#include "server/base/limits.h"
#include "server/base/log_limit.h"
#include "server/base/system_clock.h"
#include "server/engine/bids.h"
#include "server/engine/departures.h"
#include "server/engine/group_ledger.h"
#include "server/engine/limited_ranking.h"
#include "server/engine/router.h"
#include "server/engine/tick_shares.h"
#include "server/engine/turn_queue.h"
#include "server/engine/worker_allowance.h"
#include "server/engine/worker_roster.h"
#include "sync/mutex.h"

namespace freshet {

// What a worker can expect after a delivery.
enum class Outlook : uint8_t {
  kMore,     // while it has credit
  kServed,   // nothing more: it got what was to come
  kTimeOut,  // nothing more: the time that it was to wait is over
};

// Where a worker's assignments go. Called without locks of the dispatcher, never after Leave has
// returned on another thread, except for a call that was under way.
class AssignmentSink {
 public:
  virtual ~AssignmentSink() = default;
  // Takes over the assignments: sends them, or gives their leases back. There are none only when
  // nothing more comes.
  virtual void Deliver(std::vector<Assignment> assignments, Outlook outlook) = 0;
  virtual void OnPause(bool paused) = 0;
  // Nothing can be leased, for this reason; OK when it goes on.
  virtual void OnStall(const Status& why) = 0;
  // Whether the worker takes so little of what was delivered that nothing more is meant for it.
  // When it has caught up, Dispatcher::Grant with no assignments goes on. Any thread, with any
  // lock.
  [[nodiscard]] virtual bool behind() const { return false; }
  // The worker may have so many leases open; `whole`: as many as any.
  virtual void OnAllowance(uint64_t /*leases*/, bool /*whole*/) {}
};

struct WorkerTerms {
  std::string name;
  std::string client;   // whose worker it is (LeaseRecord::client)
  std::string address;  // where it comes from, without the port
  Duration lease;
  ClassSet takes = kAllClasses;  // classes of crawl ids; it is given their pages only
  bool admin = false;            // the client is an identity with the role admin
  // A waiter is served once: after its first assignments only what is set aside for it already
  // follows, and at `waits_until` it is told that nothing came.
  bool waiter = false;
  Instant waits_until;  // also of one that lingers
};

struct DispatchStats {
  uint64_t assignments = 0;
  uint64_t forced_assignments = 0;  // of these
  uint64_t ticks_without_credit = 0;
  uint64_t ticks_without_page = 0;
  uint64_t ticks_late = 0;
  uint64_t ticks_paused = 0;
  uint64_t ticks_stalled = 0;
  size_t workers = 0;  // waiters not included
  uint64_t credit = 0;
  uint64_t waiting_credit = 0;      // of waiters alone
  size_t workers_at_allowance = 0;  // have credit, and as many open leases as they may
  size_t allowances_reduced = 0;    // names of workers
  uint64_t newcomer_leases = 0;     // of workers of which no result has come
  size_t ready = 0;
  Duration lookahead;
  Rate rate;
  bool paused = false;
  std::string pause_reason;
};

struct RecentAssignment {
  Instant at;
  std::string url;
  std::string worker;
  double value = 0;  // infinite: forced
};

// What workers may have. Value type, thread-compatible.
struct WorkerLimits {
  uint64_t open_leases = limits::kMaxOpenLeasesPerWorker;  // of one name of a client
  uint64_t newcomer_leases = limits::kNewcomerLeases;      // open, of all newcomers
  uint64_t credit = limits::kMaxCreditPerWorker;
};

// Thread-safe. Start once, Stop before the shards are stopped.
class Dispatcher {
 public:
  // A tick may be used up to `max_lateness` after its time (Pacer).
  Dispatcher(Router& router, Clock& clock, Rate rate, const WorkerLimits& workers = {},
             Duration max_lateness = Pacer::kUsualLateness,
             double forced_share = ForcedShare::kUsual);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // The number of the turn in which this server may hand out pages; nullopt: it may not now.
  // Another number each time that a server may have handed out pages in its place in between.
  using Turn = std::function<std::optional<uint64_t>()>;

  // Before Start. Nothing leaves without a turn, nor what was asked for in another turn: that is
  // given back. `turn` is asked at the last moment, under the lock of this.
  void AskBefore(Turn turn) { ask_turn_ = std::move(turn); }
  void Start();
  // Ends handing out and gives back what was leased ahead. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

  // A worker without credit. Waiters have three quarters of `max_workers` places at most, and the
  // others those that waiters leave. Of both, clients have a share as of connections
  // (MayTakePlace). ResourceExhausted: there is no place for one more.
  [[nodiscard]] StatusOr<WorkerId> Join(WorkerTerms terms, std::shared_ptr<AssignmentSink> sink,
                                        size_t max_workers) FRESHET_EXCLUDES(mutex_);
  // Adds credit, up to WorkerLimits::credit in total, and goes on with what there is of it.
  void Grant(WorkerId worker, uint64_t assignments) FRESHET_EXCLUDES(mutex_);
  // What it may yet be given, but for what is set aside for it; 0 for one that is gone or behind.
  [[nodiscard]] uint64_t FreeCredit(WorkerId worker) const FRESHET_EXCLUDES(mutex_);
  // Takes so much of that, or what there is of it.
  [[nodiscard]] uint64_t TakeCredit(WorkerId worker, uint64_t most) FRESHET_EXCLUDES(mutex_);
  // Gives back what was set aside for the worker. Does nothing for one that is gone.
  void Leave(WorkerId worker) FRESHET_EXCLUDES(mutex_);
  // A worker that says no more still gets what its credit allows, as long as no two assignments are
  // further apart than `patience`. Then it leaves by itself, and its sink is told. False, and it is
  // as it was: it has no credit, or is gone.
  [[nodiscard]] bool Linger(WorkerId worker, Duration patience) FRESHET_EXCLUDES(mutex_);
  // For assignments that were handed to a sink and did not reach the worker, as far as is known; or
  // that surely did not leave, for which neither their pages nor their hosts wait.
  void GiveBack(const std::vector<LeaseId>& leases, bool never_left = false);

  // Returns the rate before.
  Rate SetRate(Rate rate) FRESHET_EXCLUDES(mutex_);
  // What the classes of crawl ids have from the next ticks on.
  void SetShares(const std::vector<ClassTerms>& terms) FRESHET_EXCLUDES(mutex_);
  // Returns whether it was paused.
  bool SetPaused(bool paused, std::string reason) FRESHET_EXCLUDES(mutex_);
  // Says why nothing can be leased, to all who ask for pages; OK when it goes on. The shards are
  // asked once a second meanwhile, so that it is noticed when they can.
  void SetStalled(const Status& why) FRESHET_EXCLUDES(mutex_);
  // Leases were opened, or are over.
  void OnLeases(const LeaseTallies& tallies) FRESHET_EXCLUDES(mutex_);
  // What a shard has of groups of hosts has changed.
  void OnGroups(uint16_t shard, const std::vector<GroupStanding>& standings)
      FRESHET_EXCLUDES(groups_mutex_);
  // Pages may have become due: try again at once.
  void Poke() FRESHET_EXCLUDES(mutex_);

  [[nodiscard]] bool paused() const FRESHET_EXCLUDES(mutex_);
  // Why assignments are paused, empty: for no reason given; nullopt: they are not.
  [[nodiscard]] std::optional<std::string> pause() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] Status stalled() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] Rate rate() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] DispatchStats stats() const FRESHET_EXCLUDES(mutex_);
  // What keeps a worker from another lease, if anything does.
  [[nodiscard]] std::optional<WorkerAllowances::Full> FullBy(const WorkerKey& worker) const
      FRESHET_EXCLUDES(mutex_);
  // Who works and who did lately, those seen last first.
  [[nodiscard]] std::vector<WorkerRecord> workers() const FRESHET_EXCLUDES(mutex_);
  // The latest ones, newest first.
  [[nodiscard]] std::vector<RecentAssignment> recent() const FRESHET_EXCLUDES(mutex_);

 private:
  struct Worker {
    WorkerTerms terms;
    WorkerKey key;  // of these
    std::shared_ptr<AssignmentSink> sink;
    uint64_t credit = 0;              // assignments that may still be delivered
    uint64_t reserved = 0;            // of these, set aside for what is being leased or is ready
    bool served = false;              // of a waiter
    bool queued = false;              // is in one of the queues, or in full_
    bool full = false;                // is in full_ or crowded_
    bool crowded = false;             // is in crowded_
    uint64_t held_for = 0;            // the open refill that its end has waited for
    std::optional<Duration> lingers;  // its patience
    [[nodiscard]] uint64_t free_credit() const { return sink->behind() ? 0 : credit - reserved; }
    [[nodiscard]] bool has_credit() const { return free_credit() > 0 && !(terms.waiter && served); }
  };
  struct Ready {
    Assignment assignment;
    WorkerId worker = 0;
    Spacing spacing;
  };
  // One request for pages, over all shards, and what came of it.
  struct Refill;
  // What is to be done once the lock is free.
  struct Actions;
  // Ticks that are closer together are used together, this long after one another: far below
  // Pacer::kUsualLateness, and a message to each worker then costs less than the rest.
  static constexpr Duration kTogether = Duration::Micros(250);
  // Finds the workers of an open refill.
  class OpenTurns;
  // No worker has this id.
  static constexpr WorkerId kNobody = 0;

  void Run();
  void LookAtTurn(Actions* actions) FRESHET_REQUIRES(mutex_);
  void ExpireWaiters(Instant now, Actions* actions) FRESHET_REQUIRES(mutex_);
  void CountMissed(Instant now) FRESHET_REQUIRES(mutex_);
  void Release(Instant now, Actions* actions) FRESHET_REQUIRES(mutex_);
  // Not if the worker would have less than half of its lease left, or the host was not left alone
  // for long enough since a page of it left late.
  [[nodiscard]] bool MayLeave(const Ready& ready, Instant now) FRESHET_REQUIRES(mutex_);
  void TakeBack(const Assignment& assignment, Actions* actions) FRESHET_REQUIRES(mutex_);
  // When the first that is ready may leave, but for the pacer. Precondition: one is.
  [[nodiscard]] Instant ReleaseTime() const FRESHET_REQUIRES(mutex_);
  void Plan(Instant now, Actions* actions) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Instant NextWake(Instant now) const FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Instant TickAfter(size_t ticks, Instant now) const FRESHET_REQUIRES(mutex_);
  // Of what is ready, what no tick that has passed will use.
  [[nodiscard]] size_t Ahead(Instant now) const FRESHET_REQUIRES(mutex_);
  [[nodiscard]] bool CanPlan(Instant now) const FRESHET_REQUIRES(mutex_);
  // The next that takes pages of all these classes.
  [[nodiscard]] std::optional<WorkerId> NextInTurn(ClassSet classes) FRESHET_REQUIRES(mutex_);
  // Whether a worker whose turn it is takes another one; if so, that is counted.
  [[nodiscard]] bool TakesMore(WorkerId id) FRESHET_REQUIRES(mutex_);
  static void CountInRow(bool newcomer, int& proven);
  [[nodiscard]] std::optional<WorkerId> NextOf(TurnQueue& queue, ClassSet classes)
      FRESHET_REQUIRES(mutex_);
  // Whether a worker whose turn it is takes a page; one that holds all that it may waits for room.
  [[nodiscard]] bool KeepsTurn(WorkerId id) FRESHET_REQUIRES(mutex_);
  // What those in turn take.
  [[nodiscard]] ClassSet TakenInTurn() FRESHET_REQUIRES(mutex_);
  // The two ways to ask for pages, for so many terms or fewer: for workers that are chosen before,
  // each of which takes any page; or for whoever takes the page, where some take only some.
  void AskInTurn(Refill* refill) FRESHET_REQUIRES(mutex_);
  void AskForAnybody(Refill* refill) FRESHET_REQUIRES(mutex_);
  // A page that is being asked for may still be for the worker, whose time is over.
  [[nodiscard]] bool MayYetBeServed(const Worker& worker) const FRESHET_REQUIRES(mutex_);
  [[nodiscard]] bool AnyInTurn() const FRESHET_REQUIRES(mutex_) {
    return !in_turn_.empty() || !newcomers_in_turn_.empty();
  }
  void PutInTurn(WorkerId id, const Worker& worker) FRESHET_REQUIRES(mutex_);
  void Queue(WorkerId id, Worker& worker) FRESHET_REQUIRES(mutex_);
  void Unreserve(WorkerId id, Actions* actions) FRESHET_REQUIRES(mutex_);
  // Workers of this key that held all they might may hold more, if there is room.
  void LetIn(const WorkerKey& key) FRESHET_REQUIRES(mutex_);
  // One of those that held all they might takes its turn again.
  void Readmit(WorkerId id) FRESHET_REQUIRES(mutex_);
  // A result of this worker has come: no newcomer keeps it out.
  void LetInProven(const WorkerKey& key) FRESHET_REQUIRES(mutex_);
  // Newcomers hold less than `before`: some that wait may hold more.
  void LetInNewcomers(uint64_t before) FRESHET_REQUIRES(mutex_);
  // Says in the log that an allowance was reduced, or is whole again: names are what clients make
  // up.
  void LogAllowance(const WorkerKey& key, bool reduced) FRESHET_REQUIRES(mutex_);
  // The worker gets nothing more.
  void Dismiss(WorkerId id) FRESHET_REQUIRES(mutex_);
  void EndWait(WorkerId id, const Worker& worker) FRESHET_REQUIRES(mutex_);
  void SetWait(WorkerId id, Worker& worker, Instant until) FRESHET_REQUIRES(mutex_);
  // Not OK: there is no place for this one.
  [[nodiscard]] Status CheckPlace(const WorkerTerms& terms, size_t max_workers) const
      FRESHET_REQUIRES(mutex_);
  void DropReady(size_t keep, Actions* actions) FRESHET_REQUIRES(mutex_);
  void Perform(Actions& actions);

  void Send(const std::shared_ptr<Refill>& refill) FRESHET_EXCLUDES(groups_mutex_);
  void SettleBids(const std::shared_ptr<Refill>& refill) FRESHET_EXCLUDES(groups_mutex_);
  [[nodiscard]] RankedBids Rank(Refill& refill) FRESHET_EXCLUDES(groups_mutex_)
      FRESHET_EXCLUDES(mutex_);
  void Finish(const std::shared_ptr<Refill>& refill) FRESHET_EXCLUDES(mutex_);

  Router& router_;
  Clock& clock_;
  BidRanking ranking_;  // for the refill under way
  WorkerRoster roster_;
  std::thread thread_;
  // Of groups of hosts alone; never taken with mutex_ held.
  Mutex groups_mutex_;
  GroupLedger groups_ FRESHET_GUARDED_BY(groups_mutex_);
  mutable Mutex mutex_;
  Condition condition_;
  Condition refilled_;
  Pacer pacer_ FRESHET_GUARDED_BY(mutex_);
  TickShares shares_ FRESHET_GUARDED_BY(mutex_);
  ForcedShare forced_share_ FRESHET_GUARDED_BY(mutex_);
  bool stopping_ FRESHET_GUARDED_BY(mutex_) = false;
  bool paused_ FRESHET_GUARDED_BY(mutex_) = false;
  std::string pause_reason_ FRESHET_GUARDED_BY(mutex_);
  Status stalled_ FRESHET_GUARDED_BY(mutex_);
  Turn ask_turn_;  // unset: it is always the same one
  // The last answer: the turn of all that is ready.
  std::optional<uint64_t> turn_ FRESHET_GUARDED_BY(mutex_);
  WorkerId next_worker_ FRESHET_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<WorkerId, Worker> workers_ FRESHET_GUARDED_BY(mutex_);
  // In turn; may hold some that are not.
  TurnQueue in_turn_ FRESHET_GUARDED_BY(mutex_);
  TurnQueue newcomers_in_turn_ FRESHET_GUARDED_BY(mutex_);
  size_t restricted_ FRESHET_GUARDED_BY(mutex_) = 0;  // workers that do not take all pages
  // The classes that the last refill was for.
  ClassSet asked_for_ FRESHET_GUARDED_BY(mutex_) = kAllClasses;
  uint64_t refills_ FRESHET_GUARDED_BY(mutex_) = 0;      // that were open
  uint64_t open_refill_ FRESHET_GUARDED_BY(mutex_) = 0;  // the one under way; 0: none
  int proven_in_row_ FRESHET_GUARDED_BY(mutex_) = 0;     // were served since the last newcomer
  int planned_in_row_ FRESHET_GUARDED_BY(mutex_) = 0;    // or will be if every term gets a page
  std::multimap<Instant, WorkerId> waiters_ FRESHET_GUARDED_BY(mutex_);  // and who lingers
  size_t waiting_ FRESHET_GUARDED_BY(mutex_) = 0;                        // waiters among workers_
  // How many of workers_ one client has.
  struct Places {
    size_t waiters = 0;
    size_t others = 0;
  };
  absl::flat_hash_map<std::string, Places> places_ FRESHET_GUARDED_BY(mutex_);  // none are empty
  const uint64_t max_credit_;
  WorkerAllowances allowances_ FRESHET_GUARDED_BY(mutex_);
  LogLimit log_reduced_ FRESHET_GUARDED_BY(mutex_);
  LogLimit log_restored_ FRESHET_GUARDED_BY(mutex_);
  // Workers with credit that hold all they may.
  absl::flat_hash_map<WorkerKey, std::vector<WorkerId>> full_ FRESHET_GUARDED_BY(mutex_);
  // Newcomers with credit for whom newcomers hold too much, in turn.
  std::deque<WorkerId> crowded_ FRESHET_GUARDED_BY(mutex_);
  std::deque<Ready> ready_ FRESHET_GUARDED_BY(mutex_);  // by tick
  Instant next_release_ FRESHET_GUARDED_BY(mutex_);     // to streams
  Departures departures_ FRESHET_GUARDED_BY(mutex_);
  Instant wake_ FRESHET_GUARDED_BY(mutex_);  // until when the thread sleeps, unless notified
  size_t in_refill_ FRESHET_GUARDED_BY(mutex_) = 0;  // terms of the refill under way
  Instant last_at_ FRESHET_GUARDED_BY(mutex_);       // latest tick asked of the shards
  // After a refill that found too few pages, none is sent before this instant unless poked.
  Instant barren_until_ FRESHET_GUARDED_BY(mutex_);
  Duration barren_wait_ FRESHET_GUARDED_BY(mutex_);
  bool barren_ FRESHET_GUARDED_BY(mutex_) = false;
  Duration lookahead_ FRESHET_GUARDED_BY(mutex_);
  DispatchStats stats_ FRESHET_GUARDED_BY(mutex_);
  std::deque<RecentAssignment> recent_ FRESHET_GUARDED_BY(mutex_);  // newest first
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_DISPATCHER_H_
