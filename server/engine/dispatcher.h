// Hands out assignments at the constant crawl rate. Pages are picked and leased a little ahead of
// their tick, so that the commit is over when the tick comes. They leave at their tick, each to a
// worker whose credit was set aside for it. Ticks without an assignment are lost, and counted.
#ifndef FRESHET_SERVER_ENGINE_DISPATCHER_H_
#define FRESHET_SERVER_ENGINE_DISPATCHER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/schedule/event.h"
#include "core/schedule/forced_share.h"
#include "core/schedule/pacer.h"
#include "server/base/system_clock.h"
#include "server/engine/assignment_sink.h"
#include "server/engine/bidding.h"
#include "server/engine/departures.h"
#include "server/engine/dispatch_stats.h"
#include "server/engine/lease_tally.h"
#include "server/engine/lookahead.h"
#include "server/engine/router.h"
#include "server/engine/tick_shares.h"
#include "server/engine/worker_pool.h"
#include "server/engine/worker_roster.h"
#include "sync/mutex.h"

namespace freshet {

// The dispatcher. Thread-safe. Start once, Stop before the shards are stopped.
class Dispatcher {
 public:
  // A tick may be used up to `max_lateness` after its time (Pacer).
  Dispatcher(Router& router, Clock& clock, Rate rate, const WorkerLimits& workers = {},
             Duration max_lateness = Pacer::kUsualLateness,
             double forced_share = ForcedShare::kUsual);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // The number of the turn in which this server may hand out pages; nullopt = it may not now. The
  // number changes if another server may have handed out pages in between.
  using Turn = std::function<std::optional<uint64_t>()>;

  // Nothing leaves without a turn; pages asked for in another turn are given back. `ask_turn` is
  // called at the last moment, under this object's lock; unset = the turn never changes.
  void Start(Turn ask_turn = nullptr);
  // Ends handing out, and gives back pages leased ahead. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

  // Adds a worker without credit; at most `max_workers` are there, which clients share
  // (WorkerPlaces). ResourceExhausted: no place is left.
  [[nodiscard]] StatusOr<WorkerId> Join(WorkerTerms terms, std::shared_ptr<AssignmentSink> sink,
                                        size_t max_workers) FRESHET_EXCLUDES(mutex_);
  // Adds credit, up to WorkerLimits::credit in total, and resumes with it.
  void Grant(WorkerId worker, uint64_t assignments) FRESHET_EXCLUDES(mutex_);
  // The worker's credit that is not set aside; 0 if the worker is gone or behind.
  [[nodiscard]] uint64_t FreeCredit(WorkerId worker) const FRESHET_EXCLUDES(mutex_);
  // Takes up to `most` of the free credit. Returns how much.
  [[nodiscard]] uint64_t TakeCredit(WorkerId worker, uint64_t most) FRESHET_EXCLUDES(mutex_);
  // Removes the worker, and gives back pages set aside for it. Does nothing if the worker is gone.
  void Leave(WorkerId worker) FRESHET_EXCLUDES(mutex_);
  // Lets a worker that has ended its side get the rest of its credit, while no two assignments are
  // further apart than `patience`. Then it leaves by itself, and its sink is notified. False = it
  // has no credit or is gone, and nothing changes.
  [[nodiscard]] bool Linger(WorkerId worker, Duration patience) FRESHET_EXCLUDES(mutex_);
  // Returns the rate before.
  Rate SetRate(Rate rate) FRESHET_EXCLUDES(mutex_);
  // Sets the terms of crawl ids' classes from the next ticks on.
  void SetShares(const std::vector<ClassTerms>& terms) FRESHET_EXCLUDES(mutex_);
  // Returns whether it was paused before.
  bool SetPaused(bool paused, std::string reason) FRESHET_EXCLUDES(mutex_);
  // Tells all that ask for pages why nothing can be leased; OK = it can again. Meanwhile the shards
  // are asked once a second, to notice when they can.
  void SetStalled(const Status& why) FRESHET_EXCLUDES(mutex_);
  // Leases were opened or have ended.
  void OnLeases(const LeaseTallies& tallies) FRESHET_EXCLUDES(mutex_);
  // Pages may have become due: tries again at once.
  void Poke() FRESHET_EXCLUDES(mutex_);

  [[nodiscard]] Bidding& bidding() { return bidding_; }
  // The reason for the pause, empty = none given; nullopt = not paused.
  [[nodiscard]] std::optional<std::string> pause() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] Status stalled() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] Rate rate() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] DispatchStats stats() const FRESHET_EXCLUDES(mutex_);
  // The limit that keeps a worker from another lease; unset = none.
  [[nodiscard]] std::optional<WorkerAllowances::Full> FullBy(const WorkerKey& worker) const
      FRESHET_EXCLUDES(mutex_);
  // Present and recent workers, the last seen first.
  [[nodiscard]] std::vector<WorkerRecord> workers() const FRESHET_EXCLUDES(mutex_);
  // The latest assignments, newest first.
  [[nodiscard]] std::vector<RecentAssignment> recent() const FRESHET_EXCLUDES(mutex_);

 private:
  struct Ready {
    Assignment assignment;
    WorkerId worker = 0;
    Spacing spacing;
  };
  // Actions to be done once the lock is free.
  struct Actions;
  // Ticks closer together than this are used together: far below Pacer::kUsualLateness, and long
  // enough that messages to workers are not the largest cost.
  static constexpr Duration kTogether = Duration::Micros(250);

  void Run();
  void LookAtTurn(Instant now, Actions* actions) FRESHET_REQUIRES(mutex_);
  void CountMissed(Instant now) FRESHET_REQUIRES(mutex_);
  void Release(Instant now, Actions* actions) FRESHET_REQUIRES(mutex_);
  // False if the worker would have less than half of its lease left, or the host has not been left
  // alone long enough since a late page.
  [[nodiscard]] bool MayLeave(const Ready& ready, Instant now) FRESHET_REQUIRES(mutex_);
  void TakeBack(const Assignment& assignment, Actions* actions) FRESHET_REQUIRES(mutex_);
  // Gives back ready pages behind the first `keep`.
  void DropReady(size_t keep, Instant now, Actions* actions) FRESHET_REQUIRES(mutex_);
  // When the first ready page may leave, apart from the pacer. Precondition: there is one.
  [[nodiscard]] Instant ReleaseTime() const FRESHET_REQUIRES(mutex_);
  void Plan(Instant now, Actions* actions) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] bool CanPlan(Instant now) const FRESHET_REQUIRES(mutex_);
  // The end of the pause after too few pages were found; none = no pause.
  [[nodiscard]] Instant BarrenUntil() const FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Instant NextWake(Instant now) const FRESHET_REQUIRES(mutex_);
  // The number of ready pages that no past tick will use.
  [[nodiscard]] size_t Ahead(Instant now) const FRESHET_REQUIRES(mutex_);

  [[nodiscard]] bool FindWorker(Refill& refill, size_t term, const Pick& pick)
      FRESHET_EXCLUDES(mutex_);
  void Finish(Refill& refill) FRESHET_EXCLUDES(mutex_);

  Router& router_;
  Clock& clock_;
  Bidding bidding_;
  WorkerRoster roster_;
  std::thread thread_;
  mutable Mutex mutex_;
  Condition condition_;
  Condition refilled_;
  WorkerPool workers_ FRESHET_GUARDED_BY(mutex_);
  Pacer pacer_ FRESHET_GUARDED_BY(mutex_);
  TickShares shares_ FRESHET_GUARDED_BY(mutex_);
  ForcedShare forced_share_ FRESHET_GUARDED_BY(mutex_);
  bool stopping_ FRESHET_GUARDED_BY(mutex_) = false;
  bool paused_ FRESHET_GUARDED_BY(mutex_) = false;
  std::string pause_reason_ FRESHET_GUARDED_BY(mutex_);
  Status stalled_ FRESHET_GUARDED_BY(mutex_);
  Turn ask_turn_;  // unset = the turn never changes
  // The last answer: the turn of all ready pages.
  std::optional<uint64_t> turn_ FRESHET_GUARDED_BY(mutex_);
  std::deque<Ready> ready_ FRESHET_GUARDED_BY(mutex_);  // by tick
  Instant next_release_ FRESHET_GUARDED_BY(mutex_);     // to streams
  Departures departures_ FRESHET_GUARDED_BY(mutex_);
  Instant wake_ FRESHET_GUARDED_BY(mutex_);          // end of the thread's sleep, unless notified
  size_t in_refill_ FRESHET_GUARDED_BY(mutex_) = 0;  // terms of the refill under way
  Instant last_at_ FRESHET_GUARDED_BY(mutex_);       // latest tick asked of the shards
  Lookahead lookahead_ FRESHET_GUARDED_BY(mutex_);
  DispatchStats stats_ FRESHET_GUARDED_BY(mutex_);
  std::deque<RecentAssignment> recent_ FRESHET_GUARDED_BY(mutex_);  // newest first
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_DISPATCHER_H_
