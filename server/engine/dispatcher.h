// Hands out assignments at the constant crawl rate. Pages are picked and leased a little ahead of
// their tick, so that the commit has ended when the tick comes. Each page is sent at its tick to a
// worker whose credit was set aside for it. Ticks without an assignment are lost, and are counted.
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

// The dispatcher. Thread-safe. Call Start once, and Stop before the shards are stopped.
class Dispatcher {
 public:
  // A tick may be used up to `max_lateness` after its time (Pacer).
  Dispatcher(Router& router, Clock& clock, Rate rate, const WorkerLimits& workers = {},
             Duration max_lateness = Pacer::kUsualLateness,
             double forced_share = ForcedShare::kUsual);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // In a cluster, a server may hand out pages only while it has the turn of its division
  // (server/cluster.h). Returns the number of the turn; nullopt = this server may not hand out
  // pages now. The number changes if another server might have handed out pages since the last
  // call.
  using Turn = std::function<std::optional<uint64_t>()>;

  // Starts handing out pages. No page is handed out without a turn. Pages that were requested in an
  // earlier turn are returned to their shards. `ask_turn` is called just before pages are handed
  // out, under this object's lock; unset = the turn never changes.
  void Start(Turn ask_turn = nullptr);
  // Stops handing out pages, and returns pages that were leased ahead to their shards. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

  // Adds a worker, which has no credit yet. Clients share `max_workers` places (WorkerPlaces).
  // ResourceExhausted: no place is left for this client.
  [[nodiscard]] StatusOr<WorkerId> Join(WorkerTerms terms, std::shared_ptr<AssignmentSink> sink,
                                        size_t max_workers) FRESHET_EXCLUDES(mutex_);
  // Adds credit, up to WorkerLimits::credit in total, and resumes sending to a worker that was
  // behind.
  void Grant(WorkerId worker, uint64_t assignments) FRESHET_EXCLUDES(mutex_);
  // The worker's credit that is not set aside; 0 if the worker has left or is behind.
  [[nodiscard]] uint64_t FreeCredit(WorkerId worker) const FRESHET_EXCLUDES(mutex_);
  // Takes up to `most` of the worker's free credit. Returns the amount taken.
  [[nodiscard]] uint64_t TakeCredit(WorkerId worker, uint64_t most) FRESHET_EXCLUDES(mutex_);
  // Removes the worker, and returns the pages that are ready for it to their shards. Does nothing
  // if the worker has left.
  void Leave(WorkerId worker) FRESHET_EXCLUDES(mutex_);
  // Lets a worker that has closed its side of the stream receive assignments for the rest of its
  // credit. The worker is removed, and its sink notified, when the credit is used up or no
  // assignment has come for `patience`. Returns false, and changes nothing, if the worker has no
  // credit or has left.
  [[nodiscard]] bool Linger(WorkerId worker, Duration patience) FRESHET_EXCLUDES(mutex_);
  // Sets the crawl rate. Returns the previous rate.
  Rate SetRate(Rate rate) FRESHET_EXCLUDES(mutex_);
  // Sets the terms of classes. They hold for all ticks planned from now on.
  void SetShares(const std::vector<ClassTerms>& terms) FRESHET_EXCLUDES(mutex_);
  // Pauses or resumes. Returns true if the dispatcher was paused before.
  bool SetPaused(bool paused, std::string reason) FRESHET_EXCLUDES(mutex_);
  // Tells all workers why no page can be leased; OK = pages can be leased again. During a stall,
  // the shards are asked for pages once a second, to notice its end.
  void SetStalled(const Status& why) FRESHET_EXCLUDES(mutex_);
  // Takes the counts of leases that were opened or have ended.
  void OnLeases(const LeaseTallies& tallies) FRESHET_EXCLUDES(mutex_);
  // Asks for pages again at once, because some may have become due.
  void Poke() FRESHET_EXCLUDES(mutex_);

  [[nodiscard]] Bidding& bidding() { return bidding_; }
  // The reason for the pause; empty = no reason was given, nullopt = not paused.
  [[nodiscard]] std::optional<std::string> pause() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] Status stalled() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] Rate rate() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] DispatchStats stats() const FRESHET_EXCLUDES(mutex_);
  // The limit that keeps the worker from getting another lease; unset = none.
  [[nodiscard]] std::optional<WorkerAllowances::Full> FullBy(const WorkerKey& worker) const
      FRESHET_EXCLUDES(mutex_);
  // Present and recent workers, the most recently seen first.
  [[nodiscard]] std::vector<WorkerRecord> workers() const FRESHET_EXCLUDES(mutex_);
  // The latest assignments, newest first.
  [[nodiscard]] std::vector<RecentAssignment> recent() const FRESHET_EXCLUDES(mutex_);

 private:
  struct Ready {
    Assignment assignment;
    WorkerId worker = 0;
    Spacing spacing;
  };
  // Actions to perform after the lock is released.
  struct Actions;
  // Ticks that are closer together than this are used at the same time. The value is far below
  // Pacer::kUsualLateness, and long enough that messages to workers are not the largest cost.
  static constexpr Duration kTogether = Duration::Micros(250);

  void Run();
  void LookAtTurn(Instant now, Actions* actions) FRESHET_REQUIRES(mutex_);
  void CountMissed(Instant now) FRESHET_REQUIRES(mutex_);
  void Release(Instant now, Actions* actions) FRESHET_REQUIRES(mutex_);
  // Returns true if the page may be sent to its worker. Returns false if less than half of its
  // lease is left, or if a page of the same host or group was sent late, and too recently
  // (Departures).
  [[nodiscard]] bool MayLeave(const Ready& ready, Instant now) FRESHET_REQUIRES(mutex_);
  void TakeBack(const Assignment& assignment, Actions* actions) FRESHET_REQUIRES(mutex_);
  // Returns all ready pages after the first `keep` to their shards.
  void DropReady(size_t keep, Instant now, Actions* actions) FRESHET_REQUIRES(mutex_);
  // The earliest time at which the first ready page may be sent, not considering the pacer.
  // Precondition: a page is ready.
  [[nodiscard]] Instant ReleaseTime() const FRESHET_REQUIRES(mutex_);
  void Plan(Instant now, Actions* actions) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] bool CanPlan(Instant now) const FRESHET_REQUIRES(mutex_);
  // No pages are requested until this time, because the last request found too few; none = no wait.
  [[nodiscard]] Instant BarrenUntil() const FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Instant NextWake(Instant now) const FRESHET_REQUIRES(mutex_);
  // The number of ready pages beyond those that overdue ticks will use.
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
  // The last answer of ask_turn_. All ready pages were requested in this turn.
  std::optional<uint64_t> turn_ FRESHET_GUARDED_BY(mutex_);
  std::deque<Ready> ready_ FRESHET_GUARDED_BY(mutex_);  // ordered by tick
  Instant next_release_ FRESHET_GUARDED_BY(mutex_);     // the next time for messages to streams
  Departures departures_ FRESHET_GUARDED_BY(mutex_);
  Instant wake_ FRESHET_GUARDED_BY(mutex_);  // when the thread wakes up if it is not notified
  size_t in_refill_ FRESHET_GUARDED_BY(mutex_) = 0;  // terms of the refill under way
  Instant last_at_ FRESHET_GUARDED_BY(mutex_);       // the latest tick requested from the shards
  Lookahead lookahead_ FRESHET_GUARDED_BY(mutex_);
  DispatchStats stats_ FRESHET_GUARDED_BY(mutex_);
  std::deque<RecentAssignment> recent_ FRESHET_GUARDED_BY(mutex_);  // newest first
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_DISPATCHER_H_
