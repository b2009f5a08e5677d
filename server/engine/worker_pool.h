// The workers that ask for pages: their credit, turns and open leases, and the end of waits for
// which nothing came.
//
// Clients take turns, and the workers of a client within its own (turn_queue.h). While proven
// workers want pages, newcomers, which have no result so far, get every fourth.
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
  uint64_t open_leases = limits::kMaxOpenLeasesPerWorker;  // open leases of one name of a client
  uint64_t newcomer_leases = limits::kNewcomerLeases;      // open, of all newcomers
  uint64_t credit = limits::kMaxCreditPerWorker;
};

// The pool. Thread-compatible.
class WorkerPool {
 public:
  // No worker has this id.
  static constexpr WorkerId kNobody = 0;

  struct Worker {
    WorkerTerms terms;
    WorkerKey key;  // made from the terms
    std::shared_ptr<AssignmentSink> sink;
    uint64_t credit = 0;              // assignments that may still be delivered
    uint64_t reserved = 0;            // of these, set aside for pages that are being leased or are
                                      // ready
    bool served = false;              // a waiter has been served
    bool queued = false;              // whether it is in a queue of turns, or full
    bool full = false;                // whether it is in full_ or crowded_
    uint64_t crowded = 0;             // place in crowded_; 0 = not there
    TurnQueue* queue = nullptr;       // the queue with its turn; nullptr = none
    TurnQueue::Turn turn;             // its turn in that queue
    uint64_t held_for = 0;            // the open request that put off the end of its wait
    std::optional<Duration> lingers;  // its patience; unset = does not linger
    [[nodiscard]] uint64_t free_credit() const { return sink->behind() ? 0 : credit - reserved; }
    [[nodiscard]] bool has_credit() const { return free_credit() > 0 && !(terms.waiter && served); }
  };

  explicit WorkerPool(const WorkerLimits& limits);

  // --- Who is there

  // Adds a worker without credit; at most `max_workers` are there (WorkerPlaces).
  // ResourceExhausted: no place is left.
  [[nodiscard]] StatusOr<WorkerId> Join(WorkerTerms terms, std::shared_ptr<AssignmentSink> sink,
                                        size_t max_workers);
  // Precondition: it is there.
  void Remove(WorkerId id);
  // nullptr = it is gone. Valid until the next non-const call.
  [[nodiscard]] const Worker* Find(WorkerId id) const;
  [[nodiscard]] std::vector<std::shared_ptr<AssignmentSink>> sinks() const;
  // Adds credit, up to WorkerLimits::credit in total. Returns as Find.
  const Worker* Grant(WorkerId id, uint64_t assignments);
  // Takes up to `most` of its free credit. Returns how much.
  uint64_t TakeCredit(WorkerId id, uint64_t most);
  // Whether a worker could be given a page at once.
  [[nodiscard]] bool AnyWithCredit() const;

  // --- Who waits

  // See Dispatcher::Linger.
  [[nodiscard]] bool Linger(WorkerId id, Duration patience, Instant now);
  // When the next wait is over; infinite = no worker waits.
  [[nodiscard]] Instant next_end() const;
  // Ends waits that are over, except those whose page may be under way.
  void EndWaits(Instant now, Deliveries* deliveries);
  // Ends the waits of all waiters, whatever is under way.
  void EndAllWaits(Deliveries* deliveries);

  // --- Whose turn it is

  // The outcome of Ask. If some workers take only some pages, the request is open: TakeFor chooses
  // the workers once the pages are known.
  struct Asked {
    bool open = false;
    ClassSet takers = kAllClasses;  // classes that workers in turn take
  };
  // Asks for pages for `terms`: drops terms that no worker takes, and fills in the `workers` of the
  // others, kNobody while the request is open. Up to `run` in a row go to one worker. Settle must
  // follow unless no terms are left.
  Asked Ask(size_t run, std::vector<LeaseTerms>* terms, std::vector<WorkerId>* workers);
  // Sets a page of an open request, of all these classes, aside for the worker whose turn it is.
  // Fills in `terms`. kNobody = no worker in turn takes it.
  [[nodiscard]] WorkerId TakeFor(ClassSet classes, LeaseTerms* terms);
  // Takes, by term, whether there is a `page`. Returns, by term, whether its worker is still there
  // to have it.
  [[nodiscard]] std::vector<bool> Settle(const std::vector<WorkerId>& workers,
                                         const std::vector<LeaseTerms>& terms,
                                         const std::vector<bool>& page, Instant now,
                                         Deliveries* deliveries);
  // A page set aside for the worker after Settle did not reach it. Does nothing if the worker is
  // gone.
  void Unreserve(WorkerId id, Instant now, Deliveries* deliveries);
  // The name of the served worker, and whether it waits. Serve hands it the page set aside.
  // Precondition: it is there.
  struct Served {
    std::string worker;
    bool waiter = false;
  };
  Served Serve(WorkerId id, Assignment assignment, Instant now, Deliveries* deliveries);
  // The number of workers in turn, with some that have no credit any more.
  [[nodiscard]] size_t in_turn() const { return in_turn_.size() + newcomers_in_turn_.size(); }
  // Classes that workers take who came in turn since the last Ask, and that it did not ask for.
  [[nodiscard]] ClassSet unasked() const { return unasked_; }

  // --- How many leases they may have

  // A worker to be told of its allowance.
  struct Told {
    std::shared_ptr<AssignmentSink> sink;
    uint64_t leases = 0;
    bool whole = false;
  };
  struct LeaseNews {
    std::vector<Told> told;
    bool let_in = false;  // full workers are in turn again
  };
  // Leases were opened or have ended.
  [[nodiscard]] LeaseNews OnLeases(const LeaseTallies& tallies, Instant now);
  // The limit that keeps a worker from another lease; unset = none.
  [[nodiscard]] std::optional<WorkerAllowances::Full> FullBy(const WorkerKey& worker) const {
    return allowances_.FullBy(worker);
  }

  // --- Figures
  void AddTo(DispatchStats* stats) const;
  // Adds the streams and credit of each worker.
  void AddTo(std::vector<WorkerRecord>* records) const;

 private:
  void SetAside(WorkerId id, LeaseTerms* terms);
  void AskInTurn(size_t run, std::vector<LeaseTerms>* terms, std::vector<WorkerId>* workers);
  ClassSet AskForAnybody(std::vector<LeaseTerms>* terms, std::vector<WorkerId>* workers);
  // The next worker that takes pages of all these classes.
  [[nodiscard]] std::optional<WorkerId> NextInTurn(ClassSet classes);
  [[nodiscard]] std::optional<WorkerId> NextOf(TurnQueue& queue, ClassSet classes);
  // Whether a worker whose turn it is takes a page; a full one then waits for room.
  [[nodiscard]] bool KeepsTurn(WorkerId id);
  // Whether a worker whose turn it is takes another page; counts it then.
  [[nodiscard]] bool TakesMore(WorkerId id);
  // The classes that workers in turn take.
  [[nodiscard]] ClassSet TakenInTurn();
  // Whether a page under way may still be for the worker, whose time is over.
  [[nodiscard]] bool MayYetBeServed(const Worker& worker) const;
  void PutInTurn(WorkerId id, Worker& worker);
  void Queue(WorkerId id, Worker& worker);
  // Readmits at most `most` full workers of this key if there is room, and later one more for each
  // worker of the key that leaves the queues of turns. Returns whether any are.
  bool LetIn(const WorkerKey& key, size_t most);
  void LetInAfter();
  // Gives a full worker its turn again.
  void Readmit(WorkerId id);
  // A result of this worker has come: newcomers' limits no longer keep it out.
  void LetInProven(const WorkerKey& key);
  // Newcomers hold less than `before`: readmits some. Returns whether any are.
  bool LetInNewcomers(uint64_t before);
  void EndWait(WorkerId id, const Worker& worker);
  void SetWait(WorkerId id, Worker& worker, Instant until);

  const uint64_t max_credit_;
  WorkerId next_worker_ = kNobody + 1;
  absl::flat_hash_map<WorkerId, Worker> workers_;
  absl::flat_hash_map<WorkerKey, absl::btree_set<WorkerId>> by_key_;  // never empty ones
  WorkerPlaces places_;
  size_t restricted_ = 0;                  // workers that do not take all pages
  std::multimap<Instant, WorkerId> ends_;  // ends of the waits of waiters and lingering workers
  TurnQueue in_turn_;                      // may hold some that have left
  TurnQueue newcomers_in_turn_;            // may hold some that have left
  ClassSet asked_for_ = kAllClasses;       // classes asked for by the last Ask
  ClassSet unasked_ = 0;
  uint64_t open_requests_ = 0;  // so far
  uint64_t open_request_ = 0;   // under way; 0 = none
  int proven_in_row_ = 0;       // served since the last newcomer
  int planned_in_row_ = 0;      // served, if every term gets a page
  WorkerAllowances allowances_;
  LogLimit log_reduced_;  // clients make up the names
  LogLimit log_restored_;
  // Workers with credit that are full.
  absl::flat_hash_map<WorkerKey, std::deque<WorkerId>> full_;
  // The keys of workers that have left the queues of turns since LetInAfter.
  std::vector<WorkerKey> left_turns_;
  // Newcomers with credit that wait because newcomers hold too much, by place.
  std::map<uint64_t, WorkerId> crowded_;
  uint64_t next_crowded_ = 1;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_WORKER_POOL_H_
