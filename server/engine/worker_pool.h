// The workers that ask for pages: their credit, turns and open leases, and the ends of their waits.
//
// Clients take turns, and the workers of one client share its turns (turn_queue.h). Newcomers are
// workers that have reported no result so far. While proven workers want pages, newcomers get every
// fourth page.
#ifndef FRESHET_SERVER_ENGINE_WORKER_POOL_H_
#define FRESHET_SERVER_ENGINE_WORKER_POOL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/event.h"
#include "server/base/limits.h"
#include "server/base/log_limit.h"
#include "server/engine/assignment_sink.h"
#include "server/engine/dispatch_stats.h"
#include "server/engine/lease_tally.h"
#include "server/engine/turn_queue.h"
#include "server/engine/worker_allowance.h"
#include "server/engine/worker_places.h"
#include "server/engine/worker_roster.h"

namespace freshet {

// The limits of workers. Value type, thread-compatible.
struct WorkerLimits {
  // Open leases of one worker: a client and a name.
  uint64_t open_leases = limits::kMaxOpenLeasesPerWorker;
  uint64_t newcomer_leases = limits::kNewcomerLeases;  // open leases of all newcomers
  uint64_t credit = limits::kMaxCreditPerWorker;
};

// The pool. Thread-compatible.
class WorkerPool {
 public:
  // The id that means "no worker".
  static constexpr WorkerId kNobody = 0;

  struct Worker {
    WorkerTerms terms;
    WorkerKey key;  // made from the terms
    std::shared_ptr<AssignmentSink> sink;
    uint64_t credit = 0;    // assignments that may still be delivered
    uint64_t reserved = 0;  // part of `credit` that is set aside for pages being leased or ready
    bool served = false;    // the worker has got an assignment
    bool queued = false;    // is in a queue of turns, or waits for room for a lease
    bool full = false;      // is in full_ or crowded_
    uint64_t crowded = 0;   // key in crowded_; 0 = not there
    TurnQueue* queue = nullptr;       // the queue with its turn; nullptr = none
    TurnQueue::Turn turn;             // the worker's turn in `queue`
    uint64_t held_for = 0;            // number of the open request that extended its wait; 0 = none
    std::optional<Duration> lingers;  // patience of Linger; unset = does not linger
    [[nodiscard]] uint64_t free_credit() const { return sink->behind() ? 0 : credit - reserved; }
    [[nodiscard]] bool has_credit() const { return free_credit() > 0 && !(terms.waiter && served); }
  };

  explicit WorkerPool(const WorkerLimits& limits);

  // --- Who is there

  // Adds a worker, which has no credit yet. There are `max_workers` places (WorkerPlaces).
  // ResourceExhausted: no place is left for this client.
  [[nodiscard]] StatusOr<WorkerId> Join(WorkerTerms terms, std::shared_ptr<AssignmentSink> sink,
                                        size_t max_workers);
  // Removes a worker. Precondition: the worker is in the pool.
  void Remove(WorkerId id);
  // nullptr = the worker has left. Valid until the next non-const call.
  [[nodiscard]] const Worker* Find(WorkerId id) const;
  [[nodiscard]] std::vector<std::shared_ptr<AssignmentSink>> sinks() const;
  // Adds credit, up to WorkerLimits::credit in total. Returns the same as Find.
  const Worker* Grant(WorkerId id, uint64_t assignments);
  // Takes up to `most` of the worker's free credit. Returns the amount taken.
  uint64_t TakeCredit(WorkerId id, uint64_t most);
  // Returns true if a page could be given to some worker at once.
  [[nodiscard]] bool AnyWithCredit() const;

  // --- Who waits

  // See Dispatcher::Linger.
  [[nodiscard]] bool Linger(WorkerId id, Duration patience, Instant now);
  // The end of the next wait; infinite = no worker waits.
  [[nodiscard]] Instant next_end() const;
  // Ends all waits that are due, except those of workers that might still get a page that is being
  // leased.
  void EndWaits(Instant now, Deliveries* deliveries);
  // Ends the waits of all waiters, even if pages are under way.
  void EndAllWaits(Deliveries* deliveries);

  // --- Whose turn it is

  // The outcome of Ask. If some workers take only some pages, the request is open: the caller must
  // call TakeFor to choose the workers once the pages are known.
  struct Asked {
    bool open = false;
    ClassSet takers = kAllClasses;  // classes that workers in a queue of turns take
  };
  // Begins a request for pages. Drops those `terms` for which there is no worker with credit, and
  // fills in the other terms and their `workers`. In an open request, all workers are still
  // kNobody. Up to `run` terms in a row go to one worker. The caller must call Settle later, unless
  // no terms are left.
  Asked Ask(size_t run, std::vector<LeaseTerms>* terms, std::vector<WorkerId>* workers);
  // For an open request: chooses the next worker in the queues of turns that takes pages of all
  // these classes, and sets aside credit for a page. Fills in `terms`. kNobody = no worker in the
  // queues takes the page.
  [[nodiscard]] WorkerId TakeFor(ClassSet classes, LeaseTerms* terms);
  // Ends a request. `page`, by term: whether the term got a page. Returns, by term, whether the
  // term got a page and its worker is still here.
  [[nodiscard]] std::vector<bool> Settle(const std::vector<WorkerId>& workers,
                                         const std::vector<LeaseTerms>& terms,
                                         const std::vector<bool>& page, Instant now,
                                         Deliveries* deliveries);
  // Frees the credit that was set aside for a page that will not be delivered. Does nothing if the
  // worker has left.
  void Unreserve(WorkerId id, Instant now, Deliveries* deliveries);
  // Serve delivers a page that was set aside for the worker, and returns the worker's name and
  // whether it is a waiter. Precondition: the worker is in the pool.
  struct Served {
    std::string worker;
    bool waiter = false;
  };
  Served Serve(WorkerId id, Assignment assignment, Instant now, Deliveries* deliveries);
  // The number of workers in the queues of turns, including some that have no credit any more.
  [[nodiscard]] size_t in_turn() const { return in_turn_.size() + newcomers_in_turn_.size(); }
  // The classes that the last Ask did not ask for, although workers that were queued since then
  // take them.
  [[nodiscard]] ClassSet unasked() const { return unasked_; }

  // --- How many leases they may have

  // A worker whose sink must learn the worker's allowance.
  struct Told {
    std::shared_ptr<AssignmentSink> sink;
    uint64_t leases = 0;
    bool whole = false;
  };
  struct LeaseNews {
    std::vector<Told> told;
    bool let_in = false;  // some full workers were requeued
  };
  // Takes the counts of leases that were opened or have ended.
  [[nodiscard]] LeaseNews OnLeases(const LeaseTallies& tallies, Instant now);
  // The limit that keeps the worker from getting another lease; unset = none.
  [[nodiscard]] std::optional<WorkerAllowances::Full> FullBy(const WorkerKey& worker) const {
    return allowances_.FullBy(worker);
  }

  // --- Figures
  void AddTo(DispatchStats* stats) const;
  // Adds the open streams and the credit of each worker to its record.
  void AddTo(std::vector<WorkerRecord>* records) const;

 private:
  void SetAside(WorkerId id, LeaseTerms* terms);
  void AskInTurn(size_t run, std::vector<LeaseTerms>* terms, std::vector<WorkerId>* workers);
  ClassSet AskForAnybody(std::vector<LeaseTerms>* terms, std::vector<WorkerId>* workers);
  // Removes the next worker that takes pages of all these classes from its queue of turns, and
  // reserves a lease for it. Unset = there is none.
  [[nodiscard]] std::optional<WorkerId> NextInTurn(ClassSet classes);
  [[nodiscard]] std::optional<WorkerId> NextOf(TurnQueue& queue, ClassSet classes);
  // Returns true if a worker in a queue of turns can take a page. If not, the worker leaves the
  // queue. If only the limits of leases prevent it, the worker waits in full_ or crowded_.
  [[nodiscard]] bool KeepsTurn(WorkerId id);
  // Returns true if a worker that has got a page in this turn can take another. If so, reserves the
  // lease.
  [[nodiscard]] bool TakesMore(WorkerId id);
  // The classes that workers in the queues of turns take.
  [[nodiscard]] ClassSet TakenInTurn();
  // Returns true if the worker, whose waiting time has ended, might still get a page that is being
  // leased.
  [[nodiscard]] bool MayYetBeServed(const Worker& worker) const;
  void PutInTurn(WorkerId id, Worker& worker);
  void Queue(WorkerId id, Worker& worker);
  // Requeues at most `most` full workers of this key, if the key has room for leases. Returns true
  // if any was requeued. Later, LetInAfter requeues one more for each worker of the key that leaves
  // the queues of turns.
  bool LetIn(const WorkerKey& key, size_t most);
  void LetInAfter();
  // Requeues a full worker.
  void Readmit(WorkerId id);
  // Called when this worker has reported its first result: the limit of newcomers no longer applies
  // to it.
  void LetInProven(const WorkerKey& key);
  // If newcomers hold fewer leases than `before`, requeues some crowded workers. Returns true if it
  // did.
  bool LetInNewcomers(uint64_t before);
  void EndWait(WorkerId id, const Worker& worker);
  void SetWait(WorkerId id, Worker& worker, Instant until);

  const uint64_t max_credit_;
  WorkerId next_worker_ = kNobody + 1;
  absl::flat_hash_map<WorkerId, Worker> workers_;
  absl::flat_hash_map<WorkerKey, absl::btree_set<WorkerId>> by_key_;  // no set is empty
  WorkerPlaces places_;
  size_t restricted_ = 0;                  // number of workers that take only some classes
  std::multimap<Instant, WorkerId> ends_;  // ends of waits, of waiters and lingering workers
  TurnQueue in_turn_;                      // proven workers; some may have no credit any more
  TurnQueue newcomers_in_turn_;            // like in_turn_, for newcomers
  ClassSet asked_for_ = kAllClasses;       // classes that the last Ask asked for
  ClassSet unasked_ = 0;
  uint64_t open_requests_ = 0;  // number of open requests so far
  uint64_t open_request_ = 0;   // number of the open request under way; 0 = none
  int proven_in_row_ = 0;       // proven workers served since the last newcomer
  int planned_in_row_ = 0;      // like proven_in_row_, but counts every term as served
  WorkerAllowances allowances_;
  LogLimit log_reduced_;  // clients choose names, so lines are limited
  LogLimit log_restored_;
  // Workers with credit that have no room for another lease.
  absl::flat_hash_map<WorkerKey, std::deque<WorkerId>> full_;
  // The keys of workers that have left the queues of turns since the last LetInAfter.
  std::vector<WorkerKey> left_turns_;
  // Newcomers with credit that wait because newcomers hold too many leases, in the order of
  // waiting.
  std::map<uint64_t, WorkerId> crowded_;
  uint64_t next_crowded_ = 1;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_WORKER_POOL_H_
