// One shard: the only thread that changes the pages of its slots. It works in turns. In a turn, it
// takes requests from its mailbox, reads all their records at once, steps the state machine, and
// commits with one sync. Only then does it install the changes in memory and answer.
// docs/architecture.md follows one crawl along this path.
#ifndef FRESHET_SERVER_ENGINE_SHARD_H_
#define FRESHET_SERVER_ENGINE_SHARD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/event.h"
#include "core/schedule/host_groups.h"
#include "core/schedule/pick.h"
#include "core/schedule/shard_options.h"
#include "core/schedule/shard_state.h"
#include "core/schedule/transaction.h"
#include "server/base/mailbox.h"
#include "server/base/reaper.h"
#include "server/base/system_clock.h"
#include "server/base/turn_size.h"
#include "server/engine/answerer.h"
#include "server/engine/assignment_sink.h"
#include "server/engine/batch_trace.h"
#include "server/engine/bids.h"
#include "server/engine/committer.h"
#include "server/engine/epochs.h"
#include "server/engine/lease_tally.h"
#include "server/engine/shard_board.h"
#include "server/engine/shard_reads.h"
#include "server/engine/tick_shares.h"
#include "storage/store.h"

namespace freshet {

struct QuarantineNews;

// Some events of one client, answered together and in order.
struct EventBatch {
  std::vector<Event> events;
  std::function<void(std::vector<Reply>)> done;  // called once, on the thread of Answerer
  std::shared_ptr<BatchTrace> trace;             // nullptr = not traced
  uint64_t client = 0;                           // Claim::client of the sender
  // True = `done` is called on the shard's thread, so that reads that `done` requests from the
  // shard are served before the next turn.
  bool at_once = false;
};

// Asks for the shard's best pages for these ticks. The pages are taken out of the index but not
// leased, so that the best ones of all shards can be chosen. Answered before the next commit. The
// bid has fewer pages than `at` has ticks if there are too few pages, and can have more because
// bids can fail (BidChoice). Only one bid at a time is under way.
struct BidRequest {
  std::vector<Instant> at;
  TickOwners owners;
  std::vector<GroupNews> groups;  // changes of groups at other shards
  bool others = false;            // there are other shards
  std::function<void(ShardBid)> done;
};

// Leases some pages of a bid and puts the others back into the index.
struct SettleRequest {
  struct Lease {
    Pick pick;
    LeaseTerms terms;
  };
  std::vector<Lease> leases;
  std::vector<PageNumber> put_back;
  std::function<void(std::vector<std::optional<Assignment>>)> done;
};

// Receives notifications from the shards. One observer serves all shards. Thread-safe.
class ShardObserver {
 public:
  virtual ~ShardObserver() = default;
  virtual void OnCommit(Duration /*took*/, size_t /*events*/) {}
  // The store can no longer be written. From now on no event is acknowledged.
  virtual void OnFailure(uint16_t shard, const Status& status) = 0;
  // The last bid found too few pages, and more may have become eligible since.
  virtual void OnPagesMayBeDue() = 0;
  // Called before the replies to the events that opened or ended the leases.
  virtual void OnLeases(const LeaseTallies& /*tallies*/) {}
  // The shard's counts for some groups of hosts have changed. Called after commits and before bids.
  virtual void OnGroups(uint16_t /*shard*/, const std::vector<GroupStanding>& /*standings*/) {}
  virtual void OnQuarantine(const QuarantineNews& /*news*/) {}
  // The shard has no page left of a crawl id that is being deleted.
  virtual void OnCrawlEmptied(uint16_t /*shard*/, const std::string& /*crawl_id*/) {}
  // A crawl id has lost its class, and the shard has no page left of that class.
  virtual void OnCrawlDeclassed(uint16_t /*shard*/, const std::string& /*crawl_id*/) {}
};

struct ShardSettings {
  ShardOptions state;
  EpochOptions epochs;
  MailboxLimits mailbox;
  std::function<Duration()> processor_time = ThreadCpuTime;
};

// The shard. Thread-safe except as noted. Construct it, load it through state(), then call Start,
// and at the end Stop.
class Shard {
 public:
  // `store`, `clock` and `observer` must outlive the shard. The fingerprinter is taken from the
  // store, not from `settings`.
  Shard(const ShardSettings& settings, Store& store, Clock& clock, ShardObserver& observer);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // Before Start only.
  [[nodiscard]] ShardState& state() { return state_; }
  void Start();
  // Serves and answers all waiting requests, refuses new ones, and ends the threads. Idempotent.
  void Stop();

  // Takes all parts of a client's events, or none. Different turns may step different parts. On
  // kFull and kClosed no part is taken and no `done` is called. Precondition: there is at least one
  // part.
  PushOutcome Submit(std::vector<EventBatch> parts);
  // The next three functions take requests of the server itself, regardless of the limits of the
  // mailbox. After Stop, a bid or settle request is answered at once with no pages, and events are
  // dropped.
  void SubmitAlways(EventBatch&& batch);
  void Submit(BidRequest&& request);
  void Submit(SettleRequest&& request);
  // Calls `query` on the shard's thread after a turn. Returns false, without calling `query`, if
  // the shard is stopped.
  bool Query(ShardQuery query);
  // Announces an epoch of all shards (EpochExchange).
  void ExpectEpoch() { epochs_.Expect(); }
  // Calls `query` after a turn or while a commit is under way. Only a few queries are served at a
  // time (server/engine/shard_reads.h). The store may have changes by then that the shard has not
  // yet installed. `client`: the number of the client that asks; 0 = the server itself.
  PushOutcome Read(ShardQuery query, uint64_t client) {
    const PushOutcome outcome = reads_.Push(std::move(query), client);
    mailbox_.Wake();
    return outcome;
  }
  // Calls `query` after a turn. One query is served after each turn, and waiting clients are served
  // alternately. Returns false, without calling `query`, if the shard is stopped.
  bool ReadMany(ShardQuery query, uint64_t client) {
    const PushOutcome outcome = reads_.PushMany(std::move(query), client);
    mailbox_.Wake();
    return outcome == PushOutcome::kTaken;
  }

  [[nodiscard]] ShardSnapshot snapshot() const;
  [[nodiscard]] const ShardBoard& board() const { return board_; }

 private:
  using Request = std::variant<EventBatch, BidRequest, SettleRequest, ShardQuery>;

  // The state of one turn, from the drained requests or the shard's own events to the replies.
  struct Turn;

  void Run();
  // One round of the loop: a turn for own events whose commit was refused, a turn for waiting
  // requests, and a slice of an epoch.
  void RunOnce(Instant now);
  // How many more events the turn may take; 0 = no room for one more part of a message.
  [[nodiscard]] size_t RoomIn(const Turn& turn) const;
  // Takes waiting requests while the turn has room.
  void AcceptWaiting(Turn& turn);
  void RunTurn(std::unique_ptr<Turn> owned);
  // Adds the events of timers that are due.
  void TakeOwnEvents(Turn& turn);
  // Runs one slice of an epoch, or of filing, as a separate turn, so that clients' requests wait
  // for one slice at most.
  void RunSlice(Instant now);
  // Keeps the shard's own events of a turn whose commit was refused, to try them again in a later
  // turn.
  void KeepOwnEvents(const Turn& turn);
  [[nodiscard]] Duration IdleTime(Instant now) const;
  void Accept(Request& request, Turn& turn);
  void AcceptBid(BidRequest& request);
  // Tells the observer of changes of groups of hosts.
  void PublishGroups();
  void AcceptSettle(SettleRequest& request, Turn& turn);
  // Reads the pages that the turn's events from `first` on still need. Leaves out pages that
  // `under_way` is writing; nullptr = no commit is under way.
  [[nodiscard]] Status ReadPages(Turn& turn, size_t first, const Transaction* under_way);
  // Steps the turn's events. If this takes far longer than expected, puts the clients' remaining
  // events back into the mailbox.
  void StepAll(Turn& turn);
  void PutBack(size_t run, Turn& turn);
  // Commits and installs the turn's changes. If the commit fails, changes the replies to refusals.
  void CommitAndInstall(Turn& turn);
  [[nodiscard]] Status Commit(const Changes& changes, const Turn& turn);
  // Handles a failed commit: logs it, refuses the turn, and keeps the own events that can be tried
  // again.
  void HandleRefusal(Turn& turn, const Status& status);
  // Works while a commit is under way: takes requests, answers bids and reads of single pages, and
  // reads the pages of the next turn. Steps no event, because a step must see the committed state.
  void LookAhead(const Transaction& under_way);
  void Refuse(Turn& turn, const Status& status);
  // Hands the replies to the answerer, and runs the queries of the turn.
  void Answer(std::unique_ptr<Turn> owned);
  void Fail(const Status& status);

  const uint16_t index_;
  Store& store_;
  Clock& clock_;
  ShardObserver& observer_;
  const uint32_t generation_;  // the store's generation in this run
  const std::function<Duration()> processor_time_;
  Mailbox<Request> mailbox_;
  ShardReads reads_;
  ShardState state_;
  EpochRunner epochs_;
  Status failure_;           // owner thread
  bool came_short_ = false;  // owner thread: the last bid had too few pages
  // Owner thread: own events whose commit was refused, and when to try them again. Until then no
  // other own events are taken.
  std::vector<Event> again_;
  Instant again_at_;
  Reaper reaper_;  // owner thread: destroys objects that a change of policy has replaced
  std::unique_ptr<Turn> ahead_;  // owner thread: next turn, filled during a commit; nullptr = none
  Committer committer_;
  Answerer answerer_{clock_};
  TurnSize turn_size_{limits::kEventsTogether, limits::kMaxEventsPerCommit,
                      limits::kEventTurnTime};  // owner thread
  Duration commit_takes_;                       // owner thread: duration of the last commit
  // Owner thread: how many more commits count as slow, because a recent one was.
  int after_slow_ = 0;
  Duration look_ahead_took_;  // owner thread: processor time of the last LookAhead
  ShardBoard board_;
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_SHARD_H_
